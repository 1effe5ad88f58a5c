// The user's settings in the environment (docs/mpi.md). A malformed value is listed in `complaints` and counts as not
// set: the program goes on, exact.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "mpi/settings/rules.hpp"

namespace stretto::mpi {

// A setting that must be equal on all ranks, since it decides which messages they exchange.
struct Decisive {
  std::string variable;
  std::string given;    // value for messages; empty: not set
  std::string meaning;  // normalised value, for comparison
};

struct Settings {
  bool on = true;              // STRETTO
  std::optional<Bound> bound;  // STRETTO_BOUND
  double ignore_above = 0;     // STRETTO_IGNORE_ABOVE; 0: not set
  Rules rules;                 // STRETTO_RULES
  bool reproducible = false;   // STRETTO_REPRODUCIBLE
  bool report = false;         // STRETTO_REPORT
  std::string report_file;     // empty: standard error
  double timeout = -1;         // STRETTO_TIMEOUT; negative: none, as in MPI
  bool cores = false;          // STRETTO_COMM_CORES is set,
  bool free_cores = false;     // STRETTO_COMM_CORES is "auto": a core that no rank is bound to
  std::vector<std::string> complaints;
  std::vector<Decisive> decisive;  // equal variables in equal order on every rank
};

using Environment = std::function<const char*(const char* name)>;

Settings read_settings(const Environment& environment, const IsSchedule& is_schedule = nullptr);

// A variable whose meaning on `rank` differs from rank 0, with both values; empty: not set.
struct Difference {
  std::string_view variable, there, first;
  int rank;
};

// Appends its description to *all.
void add_difference(const Difference& d, std::string* all);

}  // namespace stretto::mpi
