#include "mpi/settings.hpp"

#include <fmt/core.h>

#include <charconv>
#include <fstream>
#include <iterator>

namespace stretto::mpi {
namespace {

template <class... Args>
void complain(Settings& s, fmt::format_string<Args...> f, Args&&... args) {
  s.complaints.push_back(fmt::format(f, std::forward<Args>(args)...));
}

void read_rules(const char* file, Settings& s) {
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in)
    complain(s, "STRETTO_RULES: '{}' cannot be read", file);
  else if (s.rules.parse(text) != Status::ok)
    complain(s, "STRETTO_RULES: '{}', {}", file, message());
}

}  // namespace

Settings read_settings(const Environment& environment) {
  Settings s;
  const auto given = [&](const char* name) {
    const char* value = environment(name);
    return std::string_view(value ? value : "");
  };
  const std::string_view on = given("STRETTO");
  s.on = on != "0";
  if (!on.empty() && on != "0" && on != "1") complain(s, "STRETTO: '{}' is neither 0 nor 1", on);
  if (const std::string_view text = given("STRETTO_BOUND"); !text.empty()) {
    Bound bound;
    if (parse_bound(text, &bound) == Status::ok)
      s.bound = bound;
    else
      complain(s, "STRETTO_BOUND: {}", message());
  }
  if (const std::string_view file = given("STRETTO_RULES"); !file.empty()) read_rules(file.data(), s);
  const std::string_view report = given("STRETTO_REPORT");
  s.report = !report.empty() && report != "0";
  if (s.report && report != "1") s.report_file = report;
  if (const std::string_view text = given("STRETTO_TIMEOUT"); !text.empty()) {
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error == std::errc() && end == text.data() + text.size() && seconds > 0)
      s.timeout = seconds;
    else
      complain(s, "STRETTO_TIMEOUT: '{}' is no positive number of seconds", text);
  }
  return s;
}

}  // namespace stretto::mpi
