// Environment variables. A malformed value is listed in `complaints` and counts as not set.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "mpi/settings/rules.hpp"

namespace stretto::mpi {

// Equal on all ranks, which exchange messages by it.
struct CommonSetting {
  std::string variable;
  std::string given;
  std::string meaning;
};

struct Settings {
  bool on = true;
  std::optional<Bound> bound;
  bool bounds_moves = false;  // besides sums: moved data, minima and maxima
  double ignore_above = 0;
  Rules rules;
  bool reproducible = false;
  bool report = false;
  std::string report_file;  // empty: standard error
  double timeout = -1;      // negative: none, as in MPI
  bool cores = false;
  bool free_cores = false;  // "auto": cores that no rank is bound to
  std::vector<std::string> complaints;
  std::vector<CommonSetting> common;  // equal variables and order on all ranks
};

using Environment = std::function<const char*(const char* name)>;

Settings read_settings(const Environment& environment, const ScheduleNames* schedules = nullptr);

struct Difference {
  std::string_view variable, there, first;
  int rank;
};

void add_difference(const Difference& d, std::string* all);

}  // namespace stretto::mpi
