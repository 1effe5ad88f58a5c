#include "rules.hpp"

#include <stdexcept>

#include <fmt/core.h>

#include "base/file.hpp"
#include "call/schedule_names.hpp"
#include "mpi/settings/rules.hpp"

namespace stretto::app {

std::string rules_text(const std::string& file) {
  std::string text;
  if (read_file(file, &text) != Status::ok) throw std::runtime_error(message());
  mpi::Rules rules;
  const auto is_schedule = [](const std::string& name) { return call::schedule_index(name.c_str()) >= 0; };
  if (rules.parse(text, is_schedule) != Status::ok) throw std::runtime_error(fmt::format("{}, {}", file, message()));
  return fmt::format("{} {}\n", rules.size(), rules.size() == 1 ? "rule" : "rules");
}

}  // namespace stretto::app
