#include "rules.hpp"

#include <stdexcept>

#include <fmt/core.h>

#include "base/text/file.hpp"
#include "call/schedule_names.hpp"
#include "mpi/settings/rules.hpp"

namespace stretto::app {

std::string rules_text(const std::string& file, bool bounded) {
  std::string text;
  if (read_file(file, &text) != Status::ok) throw std::runtime_error(message());
  mpi::Rules rules;
  const mpi::ScheduleNames schedules = call::schedule_names();
  if (rules.parse(text, &schedules) != Status::ok) throw std::runtime_error(fmt::format("{}, {}", file, message()));
  std::string counted = fmt::format("{} {}\n", rules.size(), rules.size() == 1 ? "rule" : "rules");
  if (const int line = bounded ? 0 : rules.line_without_bound(); line > 0)
    counted += fmt::format(
        "line {}: streams travel within a bound alone, and neither the line nor STRETTO_BOUND has one\n", line);
  return counted;
}

}  // namespace stretto::app
