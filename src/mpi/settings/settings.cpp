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

// Variables are read in the order of complaints and of Settings::common.
class Reader {
 public:
  Reader(const Environment& environment, const ScheduleNames* schedules, Settings* settings)
      : environment_(environment), schedules_(schedules), s_(*settings) {}

  void read_switch() {
    const std::string_view on = given("STRETTO");
    s_.on = on != "0";
    if (!on.empty() && on != "0" && on != "1")
      complain(s_, "STRETTO: '{}' is neither 0, which leaves all to the MPI, nor 1", on);
    add_common("STRETTO", s_.on ? "1" : "0");
  }

  // Unreadable rules might have kept calls exact: then there is no bound.
  void read_bound_and_rules() {
    read_bound();
    read_ignored();
    const std::string_view file = given("STRETTO_RULES");
    const std::size_t before = s_.complaints.size();
    add_common("STRETTO_RULES", file.empty() ? "" : read_rules(file.data()));
    if (s_.bound && s_.complaints.size() > before) {
      s_.bound.reset();
      complain(s_, "STRETTO_BOUND: a call that the unreadable rules keep exact would be bounded");
    }
    for (const std::string& remark : s_.rules.remarks())
      s_.complaints.push_back(fmt::format("STRETTO_RULES: '{}', {}", file, remark));
    add_common("STRETTO_BOUND",
               s_.bound ? fmt::format("{} {} {}", int(s_.bound->kind), s_.bound->value, int(s_.bound->scope)) : "");
  }

  void read_flags() {
    s_.bounds_moves = flag("STRETTO_BOUND_MOVES");
    add_common("STRETTO_BOUND_MOVES", s_.bounds_moves ? "1" : "0");
    s_.reproducible = flag("STRETTO_REPRODUCIBLE");
    add_common("STRETTO_REPRODUCIBLE", s_.reproducible ? "1" : "0");
    static_cast<void>(flag("STRETTO_NODE"));  // read where a communicator is made
  }

  void read_report_and_cores() {
    const std::string_view report = given("STRETTO_REPORT");
    s_.report = !report.empty() && report != "0";
    if (s_.report && report != "1" && report != "yes" && report != "on" && report != "true") s_.report_file = report;
    add_common("STRETTO_REPORT", s_.report ? "1" : "0");  // the lowest rank's file is written
    s_.cores = !given("STRETTO_COMM_CORES").empty();
    s_.free_cores = given("STRETTO_COMM_CORES") == "auto";
    add_common("STRETTO_COMM_CORES", s_.free_cores ? "auto" : s_.cores ? "1" : "");  // each rank names its own cores
  }

  void read_timeout() {
    const std::string_view text = given("STRETTO_TIMEOUT");
    if (text.empty()) return;
    double seconds = 0;
    if (read_positive(text, &seconds))
      s_.timeout = seconds;
    else
      complain(s_, "STRETTO_TIMEOUT: '{}' is no positive number of seconds", text);
  }

 private:
  std::string_view given(const char* name) const {
    const char* value = environment_(name);
    return value ? value : "";
  }

  void add_common(const char* name, std::string meaning) {
    s_.common.push_back({name, std::string(given(name)), std::move(meaning)});
  }

  bool flag(const char* name) {
    const std::string_view text = given(name);
    if (!text.empty() && text != "0" && text != "1") complain(s_, "{}: '{}' is neither 0 nor 1", name, text);
    return text == "1";
  }

  void read_bound() {
    const std::string_view text = given("STRETTO_BOUND");
    if (text.empty()) return;
    Bound bound;
    if (parse_bound(text, &bound) != Status::ok) {
      complain(s_, "STRETTO_BOUND: {}", message());
      return;
    }
    s_.bound = bound;
    if (const std::string remark = remark_on(bound); !remark.empty())
      s_.complaints.push_back("STRETTO_BOUND: " + remark);
  }

  void read_ignored() {
    const std::string_view text = given("STRETTO_IGNORE_ABOVE");
    if (!text.empty() && !read_positive(text, &s_.ignore_above)) {
      s_.ignore_above = 0;
      complain(s_, "STRETTO_IGNORE_ABOVE: '{}' is neither a positive number nor inf", text);
    }
    add_common("STRETTO_IGNORE_ABOVE", s_.ignore_above > 0 ? fmt::format("{}", s_.ignore_above) : "");
  }

  std::string read_rules(const char* file) {
    std::string text;
    if (read_file(file, &text) != Status::ok) {
      complain(s_, "STRETTO_RULES: {}", message());
      return {};
    }
    if (s_.rules.parse(text, schedules_) == Status::ok) return text;
    complain(s_, "STRETTO_RULES: '{}', {}", file, message());
    return {};
  }

  const Environment& environment_;
  const ScheduleNames* schedules_;
  Settings& s_;
};

std::string shown(std::string_view given) { return given.empty() ? "not set" : fmt::format("'{}'", given); }

}  // namespace

Settings read_settings(const Environment& environment, const ScheduleNames* schedules) {
  Settings s;
  Reader reader(environment, schedules, &s);
  reader.read_switch();
  reader.read_bound_and_rules();
  reader.read_flags();
  reader.read_report_and_cores();
  reader.read_timeout();
  return s;
}

void add_difference(const Difference& d, std::string* all) {
  const bool within = d.there == d.first;
  *all += fmt::format("{}{} is {}{} on rank {} and {} on rank 0", all->empty() ? "" : "; ", d.variable, shown(d.there),
                      within ? ", of other content," : "", d.rank, shown(d.first));
}

}  // namespace stretto::mpi
