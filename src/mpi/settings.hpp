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

// One that all ranks must have alike, since it decides which messages they exchange.
struct Decisive {
  std::string variable;
  std::string given;    // as told to people; empty: not set
  std::string meaning;  // what is compared
};

struct Settings {
  bool on = true;              // STRETTO
  std::optional<Bound> bound;  // STRETTO_BOUND
  Rules rules;                 // STRETTO_RULES
  bool reproducible = false;   // STRETTO_REPRODUCIBLE
  bool report = false;         // STRETTO_REPORT
  std::string report_file;     // empty: standard error
  double timeout = -1;         // STRETTO_TIMEOUT; negative: never, as MPI has it
  std::vector<std::string> complaints;
  std::vector<Decisive> decisive;  // the same variables in the same order on every rank
};

using Environment = std::function<const char*(const char* name)>;

Settings read_settings(const Environment& environment, const IsSchedule& is_schedule = nullptr);

// What ranks were set to, by rank: names each variable that differs, with the lowest rank where it is not as on rank 0. Empty: nothing differs.
std::string difference(const std::vector<std::vector<Decisive>>& ranks);

}  // namespace stretto::mpi
