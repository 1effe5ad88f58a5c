#include "mpi/settings/settings.hpp"

#include <fmt/core.h>

#include "base/text/file.hpp"
#include "base/text/positive.hpp"

namespace stretto::mpi {
namespace {

template <class... Args>
void complain(Settings& s, fmt::format_string<Args...> f, Args&&... args) {
  s.complaints.push_back(fmt::format(f, std::forward<Args>(args)...) + "; it counts as not set");
}

std::string read_rules(const char* file, const ScheduleNames* schedules, Settings& s) {
  std::string text;
  if (read_file(file, &text) != Status::ok) {
    complain(s, "STRETTO_RULES: {}", message());
    return {};
  }
  if (s.rules.parse(text, schedules) == Status::ok) return text;
  complain(s, "STRETTO_RULES: '{}', {}", file, message());
  return {};
}

std::string shown(std::string_view given) { return given.empty() ? "not set" : fmt::format("'{}'", given); }

}  // namespace

Settings read_settings(const Environment& environment, const ScheduleNames* schedules) {
  Settings s;
  const auto given = [&](const char* name) {
    const char* value = environment(name);
    return std::string_view(value ? value : "");
  };
  const std::string_view on = given("STRETTO");
  s.on = on != "0";
  if (!on.empty() && on != "0" && on != "1")
    complain(s, "STRETTO: '{}' is neither 0, which leaves all to the MPI, nor 1", on);
  const auto add_common = [&](const char* name, std::string meaning) {
    s.common.push_back({name, std::string(given(name)), std::move(meaning)});
  };
  add_common("STRETTO", s.on ? "1" : "0");
  if (const std::string_view text = given("STRETTO_BOUND"); !text.empty()) {
    Bound bound;
    if (parse_bound(text, &bound) != Status::ok) {
      complain(s, "STRETTO_BOUND: {}", message());
    } else {
      s.bound = bound;
      if (const std::string remark = remark_on(bound); !remark.empty())
        s.complaints.push_back("STRETTO_BOUND: " + remark);
    }
  }
  if (const std::string_view text = given("STRETTO_IGNORE_ABOVE");
      !text.empty() && !read_positive(text, &s.ignore_above)) {
    s.ignore_above = 0;
    complain(s, "STRETTO_IGNORE_ABOVE: '{}' is neither a positive number nor inf", text);
  }
  add_common("STRETTO_IGNORE_ABOVE", s.ignore_above > 0 ? fmt::format("{}", s.ignore_above) : "");
  const std::string_view file = given("STRETTO_RULES");
  const std::size_t before = s.complaints.size();
  add_common("STRETTO_RULES", file.empty() ? "" : read_rules(file.data(), schedules, s));
  if (s.bound && s.complaints.size() > before) {
    s.bound.reset();
    complain(s, "STRETTO_BOUND: a call that the unreadable rules keep exact would be bounded");
  }
  for (const std::string& remark : s.rules.remarks())
    s.complaints.push_back(fmt::format("STRETTO_RULES: '{}', {}", file, remark));
  add_common("STRETTO_BOUND",
             s.bound ? fmt::format("{} {} {}", int(s.bound->kind), s.bound->value, int(s.bound->scope)) : "");
  const std::string_view moves = given("STRETTO_BOUND_MOVES");
  s.bounds_moves = moves == "1";
  if (!moves.empty() && moves != "0" && moves != "1")
    complain(s, "STRETTO_BOUND_MOVES: '{}' is neither 0 nor 1", moves);
  add_common("STRETTO_BOUND_MOVES", s.bounds_moves ? "1" : "0");
  const std::string_view reproducible = given("STRETTO_REPRODUCIBLE");
  s.reproducible = reproducible == "1";
  if (!reproducible.empty() && reproducible != "0" && reproducible != "1")
    complain(s, "STRETTO_REPRODUCIBLE: '{}' is neither 0 nor 1", reproducible);
  add_common("STRETTO_REPRODUCIBLE", s.reproducible ? "1" : "0");
  if (const std::string_view node = given("STRETTO_NODE"); !node.empty() && node != "0" && node != "1")
    complain(s, "STRETTO_NODE: '{}' is neither 0 nor 1", node);
  const std::string_view report = given("STRETTO_REPORT");
  s.report = !report.empty() && report != "0";
  if (s.report && report != "1" && report != "yes" && report != "on" && report != "true") s.report_file = report;
  add_common("STRETTO_REPORT", s.report ? "1" : "0");  // the lowest rank's file is written
  s.cores = !given("STRETTO_COMM_CORES").empty();
  s.free_cores = given("STRETTO_COMM_CORES") == "auto";
  add_common("STRETTO_COMM_CORES", s.free_cores ? "auto" : s.cores ? "1" : "");  // each rank names its own cores
  if (const std::string_view text = given("STRETTO_TIMEOUT"); !text.empty()) {
    double seconds = 0;
    if (read_positive(text, &seconds))
      s.timeout = seconds;
    else
      complain(s, "STRETTO_TIMEOUT: '{}' is no positive number of seconds", text);
  }
  return s;
}

void add_difference(const Difference& d, std::string* all) {
  const bool within = d.there == d.first;
  *all += fmt::format("{}{} is {}{} on rank {} and {} on rank 0", all->empty() ? "" : "; ", d.variable, shown(d.there),
                      within ? ", of other content," : "", d.rank, shown(d.first));
}

}  // namespace stretto::mpi
