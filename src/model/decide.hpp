// The library's choice for a question: the model's cheapest candidate, or the native collective where predictions do
// not justify another. The library, `stretto choose` and `stretto explain` ask this one function.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "model/choose.hpp"

namespace stretto::model {

// Bytes of a vector. Up to this length a native collective goes wherever one can serve.
inline constexpr std::uint64_t longest_short = 1024;

struct Decided {
  Candidate taken;
  Candidate own;           // the cheapest native collective of raw values; `native` is false where none can serve
  double mpi_seconds = 0;  // of the MPI's own; 0: not predicted
};

// unsupported where forced options contradict each other. A native collective that serves without a prediction has 0
// seconds, unless `predicts` asks for them, at the cost of more walks. The choice does not depend on `predicts`.
Status decide(Chooser& chooser, const Question& question, Decided* decided, bool predicts = false);

}  // namespace stretto::model
