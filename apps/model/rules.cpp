#include "rules.hpp"

#include <stdexcept>

#include <fmt/core.h>

#include "base/file.hpp"
#include "call/schedule_names.hpp"
#include "mpi/settings/rules.hpp"

namespace stretto::app {

std::string rules_text(const std::string& file, bool bounded) {
  std::string text;
  if (read_file(file, &text) != Status::ok) throw std::runtime_error(message());
  mpi::Rules rules;
  const auto is_schedule = [](const std::string& name) { return call::schedule_index(name.c_str()) >= 0; };
  if (rules.parse(text, is_schedule) != Status::ok) throw std::runtime_error(fmt::format("{}, {}", file, message()));
  if (const int line = bounded ? 0 : rules.line_without_bound(); line > 0)
    throw std::runtime_error(
        fmt::format("{}, line {}: streams need a bound, and neither the line nor STRETTO_BOUND has one", file, line));
  return fmt::format("{} {}\n", rules.size(), rules.size() == 1 ? "rule" : "rules");
}

}  // namespace stretto::app
