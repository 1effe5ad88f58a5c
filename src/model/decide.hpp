// Chooses the cheapest candidate, but a native collective that can serve, unless predictions justify another.
#pragma once

#include "base/status.hpp"
#include "model/choose.hpp"

namespace stretto::model {

struct ModelChoice {
  Candidate taken;
  Candidate own;           // cheapest native of raw values; `native` false: none
  double mpi_seconds = 0;  // 0: not predicted
};

// unsupported: forced options contradict each other. Without `predicts` a native collective may have 0 seconds; the
// choice does not change.
Status decide(Chooser& chooser, const Question& question, ModelChoice* decided, bool predicts = false);

}  // namespace stretto::model
