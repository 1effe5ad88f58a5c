// What the user asked for in the environment (docs/mpi.md). A value that cannot be read is told in `complaints` and counts as not given:
// the program goes on, exact.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "mpi/settings/rules.hpp"

namespace stretto::mpi {

// One that all ranks must have alike, since it decides which messages they exchange.
struct Decisive {
  std::string variable;
  std::string given;    // as told to people; empty: not set
  std::string meaning;  // what is compared
};

struct Settings {
  bool on = true;              // STRETTO
  std::optional<Bound> bound;  // STRETTO_BOUND
  double ignore_above = 0;     // STRETTO_IGNORE_ABOVE; 0: not set
  Rules rules;                 // STRETTO_RULES
  bool reproducible = false;   // STRETTO_REPRODUCIBLE
  bool report = false;         // STRETTO_REPORT
  std::string report_file;     // empty: standard error
  double timeout = -1;         // STRETTO_TIMEOUT; negative: never, as MPI has it
  bool cores = false;          // STRETTO_COMM_CORES is set,
  bool free_cores = false;     // to "auto": one that no rank is bound to
  std::vector<std::string> complaints;
  std::vector<Decisive> decisive;  // the same variables in the same order on every rank
};

using Environment = std::function<const char*(const char* name)>;

Settings read_settings(const Environment& environment, const IsSchedule& is_schedule = nullptr);

// A variable that means something else on `rank` than on rank 0, and what it was set to there and here; empty: not set.
struct Difference {
  std::string_view variable, there, first;
  int rank;
};

// Adds it to those that *all tells of.
void add_difference(const Difference& d, std::string* all);

}  // namespace stretto::mpi
