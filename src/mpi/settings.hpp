// What the user asked for in the environment (docs/mpi.md). A value that cannot be read is told in `complaints` and counts as not given:
// the program goes on, exact.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "mpi/rules.hpp"

namespace stretto::mpi {

struct Settings {
  bool on = true;              // STRETTO
  std::optional<Bound> bound;  // STRETTO_BOUND
  Rules rules;                 // STRETTO_RULES
  bool report = false;         // STRETTO_REPORT
  std::string report_file;     // empty: standard error
  double timeout = -1;         // STRETTO_TIMEOUT; negative: never, as MPI has it
  std::vector<std::string> complaints;
};

using Environment = std::function<const char*(const char* name)>;

Settings read_settings(const Environment& environment);

}  // namespace stretto::mpi
