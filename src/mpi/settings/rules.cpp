#include "mpi/settings/rules.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

#include <fmt/core.h>

#include "call/enums.hpp"

namespace stretto::mpi {
namespace {

constexpr std::string_view kSiteKey = "site=", kCommKey = "comm=", kScheduleKey = "schedule:", kPayloadKey = "payload:",
                           kCodingKey = "coding:", kRawBelowKey = "raw_below:";

template <class Number>
bool read(std::string_view text, Number* number) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

Status parse_operation(std::string_view text, std::optional<Function>* operation) {
  if (text == "*") return Status::ok;
  if (text == "broadcast") text = "bcast";
  for (std::size_t i = 0; i < operation_names.size(); ++i) {
    if (text != operation_names[i]) continue;
    *operation = static_cast<Function>(i);
    return Status::ok;
  }
  return fail(Status::invalid_argument, "'{}' is no collective of MPI, and not *", text);
}

Status parse_range(std::string_view text, Rule* rule) {
  const std::size_t dots = text.find("..");
  const std::string_view from = text.substr(0, dots), to = text.substr(dots + 2);
  Status s = from.empty() ? Status::ok : parse_bytes(from, &rule->from);
  if (s == Status::ok && !to.empty()) s = parse_bytes(to, &rule->to);
  if (s == Status::ok && rule->from > rule->to)
    return fail(Status::invalid_argument, "'{}' holds no size: the first is above the second", text);
  return s;
}

Status parse_payload(std::string_view text, stretto_payload* payload) {
  if (call::find_payload(text, payload)) return Status::ok;
  return fail(Status::invalid_argument, "'{}' is no payload: {}", text, call::payload_names());
}

Status parse_coding(std::string_view text, stretto_coding* coding) {
  constexpr std::array<std::pair<std::string_view, stretto_coding>, 3> all = {
      {{"auto", STRETTO_CODING_AUTO}, {"fixed", STRETTO_CODING_FIXED}, {"dense", STRETTO_CODING_DENSE}}};
  for (const auto& [name, value] : all) {
    if (text != name) continue;
    *coding = value;
    return Status::ok;
  }
  return fail(Status::invalid_argument, "'{}' is no coding: auto, fixed or dense", text);
}

Status parse_pattern(std::string_view text, std::string_view key, std::string* pattern) {
  *pattern = text.substr(key.size());
  if (!pattern->empty()) return Status::ok;
  return fail(Status::invalid_argument, "'{}' names nothing; for all, leave it out", text);
}

Status decide(Action::Kind kind, const std::string& word, Action* action, std::string* decided) {
  if (!decided->empty()) return fail(Status::invalid_argument, "'{}' and '{}' contradict each other", *decided, word);
  *decided = word;
  action->kind = kind;
  return kind == Action::Kind::bounded ? parse_bound(word, &action->bound) : Status::ok;
}

Status parse_word(const std::string& word, Rule* rule, bool* acts, std::string* decided) {
  Action& action = rule->action;
  const std::string_view text = word;
  if (text.starts_with(kSiteKey)) return parse_pattern(text, kSiteKey, &rule->site);
  if (text.starts_with(kCommKey)) return parse_pattern(text, kCommKey, &rule->comm);
  if (text.find("..") != std::string_view::npos) return parse_range(text, rule);
  *acts = true;
  if (text == "off") return decide(Action::Kind::off, word, &action, decided);
  if (text == "native") return decide(Action::Kind::native, word, &action, decided);
  if (text == "exact") return decide(Action::Kind::exact, word, &action, decided);
  if (text.starts_with("rel:") || text.starts_with("abs:"))
    return decide(Action::Kind::bounded, word, &action, decided);
  if (text.starts_with(kPayloadKey)) return parse_payload(text.substr(kPayloadKey.size()), &action.payload);
  if (text.starts_with(kCodingKey)) return parse_coding(text.substr(kCodingKey.size()), &action.coding);
  if (text.starts_with(kRawBelowKey)) {
    std::int64_t bytes = 0;
    if (const Status s = parse_bytes(text.substr(kRawBelowKey.size()), &bytes); s != Status::ok) return s;
    action.raw_below = static_cast<std::uint64_t>(bytes);
    return Status::ok;
  }
  if (text.starts_with(kScheduleKey) && text.size() > kScheduleKey.size()) {
    action.schedule = text.substr(kScheduleKey.size());
    return Status::ok;
  }
  return fail(Status::invalid_argument,
              "'{}' is none of FROM..TO, site=, comm=, rel:, abs:, schedule:, payload:, coding:, "
              "raw_below:, exact, native, off",
              text);
}

bool sums(Function operation) noexcept {
  return operation == Function::allreduce || operation == Function::reduce || operation == Function::reduce_scatter ||
         operation == Function::reduce_scatter_block;
}

bool moves(Function operation) noexcept {
  return operation == Function::bcast || operation == Function::allgather || operation == Function::allgatherv ||
         operation == Function::gather || operation == Function::scatter || operation == Function::alltoall;
}

bool asks_for_streams(const Action& a) noexcept { return call::is_compressed(a.payload); }

std::string listed(const ScheduleNames& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

Status check(const Rule& rule, const std::vector<std::string>& words, const std::string& decided, bool acts,
             const ScheduleNames* schedules) {
  const Action& a = rule.action;
  const bool streams = asks_for_streams(a);
  const bool leaves = a.kind == Action::Kind::off || a.kind == Action::Kind::native;
  if (!acts) return fail(Status::invalid_argument, "'{}' with nothing to do", words.front());
  if (leaves && (!a.schedule.empty() || streams))
    return fail(Status::invalid_argument, "'{}' leaves the call to the MPI: no schedule or payload holds there",
                decided);
  if (a.kind == Action::Kind::exact && streams)
    return fail(Status::invalid_argument, "'exact' and a payload of streams contradict each other");
  if (a.coding != STRETTO_CODING_AUTO && a.kind != Action::Kind::usual && a.kind != Action::Kind::bounded)
    return fail(Status::invalid_argument, "'coding:' is of streams, and '{}' has none", decided);
  if (streams && !call::keeps_bound(a.payload) && a.bound.kind != STRETTO_BOUND_NONE)
    return fail(Status::invalid_argument, "'payload:{}' keeps no bound, and the line has '{}'",
                call::payload_name(a.payload), decided);
  if (a.coding != STRETTO_CODING_AUTO && a.payload != STRETTO_PAYLOAD_AUTO && !call::keeps_bound(a.payload))
    return fail(Status::invalid_argument, "'coding:' is of streams, and 'payload:{}' has none",
                call::payload_name(a.payload));
  if (a.raw_below > 0 && a.kind != Action::Kind::usual && a.kind != Action::Kind::bounded)
    return fail(Status::invalid_argument, "'raw_below:' is beside streams, and '{}' has none", decided);
  if (a.raw_below > 0 && a.payload != STRETTO_PAYLOAD_AUTO && !call::adds_codes(a.payload))
    return fail(Status::invalid_argument, "'raw_below:' goes with the payloads fused and homomorphic alone");
  if (rule.operation && !sums(*rule.operation) && a.raw_below > 0)
    return fail(Status::invalid_argument, "'raw_below:' is of sums, and '{}' is none", words.front());
  const bool may_stream = !rule.operation || sums(*rule.operation) || moves(*rule.operation);
  if (!may_stream && (a.kind == Action::Kind::bounded || streams || a.coding != STRETTO_CODING_AUTO))
    return fail(Status::invalid_argument, "bounds, payloads of streams and codings do not act on '{}'", words.front());
  if (!a.schedule.empty() && schedules &&
      std::find(schedules->begin(), schedules->end(), a.schedule) == schedules->end())
    return fail(Status::invalid_argument, "'{}' is no schedule; there are {}", a.schedule, listed(*schedules));
  return Status::ok;
}

Status parse_rule(const std::vector<std::string>& words, const ScheduleNames* schedules, Rule* rule) {
  bool acts = false;
  std::string decided;
  Status s = parse_operation(words.front(), &rule->operation);
  for (std::size_t i = 1; i < words.size() && s == Status::ok; ++i) s = parse_word(words[i], rule, &acts, &decided);
  Action& a = rule->action;
  // Streams without a bound: sums and moved data of the payload's types alone (calls/decide.cpp).
  if (asks_for_streams(a) && !call::keeps_bound(a.payload) && a.kind == Action::Kind::usual)
    a.kind = Action::Kind::bounded;
  a.moves = rule->operation && moves(*rule->operation) &&
            (a.kind == Action::Kind::bounded || a.payload > STRETTO_PAYLOAD_RAW);
  return s == Status::ok ? check(*rule, words, decided, acts, schedules) : s;
}

bool fits(const std::string& pattern, const std::string& name) noexcept {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

Status parse_bytes(std::string_view text, std::int64_t* bytes) {
  std::string_view digits = text;
  int shift = 0;
  if (!digits.empty()) switch (digits.back()) {
      case 'K': shift = 10; break;
      case 'M': shift = 20; break;
      case 'G': shift = 30; break;
    }
  if (shift > 0) digits.remove_suffix(1);
  if (!read(digits, bytes) || *bytes < 0 || *bytes > std::numeric_limits<std::int64_t>::max() >> shift)
    return fail(Status::invalid_argument, "'{}' is no number of bytes (such as 4096, 64K, 1M, 2G)", text);
  *bytes <<= shift;
  return Status::ok;
}

Status parse_bound(std::string_view text, Bound* bound) {
  Bound found;
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  std::string_view number = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1), scope;
  if (const std::size_t next = number.find(':'); next != std::string_view::npos) {
    scope = number.substr(next + 1);
    number = number.substr(0, next);
  }
  if (kind == "rel")
    found.kind = STRETTO_BOUND_RELATIVE;
  else if (kind == "abs")
    found.kind = STRETTO_BOUND_ABSOLUTE;
  else
    return fail(
        Status::invalid_bound,
        "'{}' is no bound: rel:NUMBER (of the range of the values) or abs:NUMBER, of the sum; with :contribution "
        "after it, of each contribution",
        text);
  if (!read(number, &found.value))
    return fail(Status::invalid_bound, "'{}' is no bound: '{}' is no number", text, number);
  if (!std::isfinite(found.value) || found.value <= 0)
    return fail(Status::invalid_bound, "'{}' is no bound: '{}' is not finite and positive", text, number);
  if (scope == "contribution")
    found.scope = STRETTO_SCOPE_CONTRIBUTION;
  else if (!scope.empty() && scope != "result")
    return fail(Status::invalid_bound, "'{}' is no bound: '{}' is neither result nor contribution", text, scope);
  *bound = found;
  return Status::ok;
}

std::string remark_on(const Bound& bound) {
  if (bound.kind != STRETTO_BOUND_RELATIVE || bound.value < 1) return {};
  return fmt::format("rel:{0} allows errors of {0} times the whole range of the values; rel:1e-4 is usual",
                     bound.value);
}

Status Rules::parse(std::string_view text, const ScheduleNames* schedules) {
  *this = Rules();
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream in(line.substr(0, line.find('#')));
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    if (words.empty()) continue;
    Rule rule;
    if (const Status s = parse_rule(words, schedules, &rule); s != Status::ok) {
      const std::string why = message();
      *this = Rules();
      return fail(s, "line {}: {}", number, why);
    }
    rule.action.line = number;
    looks_at_names_ = looks_at_names_ || !rule.site.empty() || !rule.comm.empty();
    rules_.push_back(std::move(rule));
  }
  return Status::ok;
}

std::vector<std::string> Rules::remarks() const {
  std::vector<std::string> all;
  for (const Rule& r : rules_)
    if (const std::string remark = remark_on(r.action.bound); !remark.empty())
      all.push_back(fmt::format("line {}: {}", r.action.line, remark));
  return all;
}

int Rules::line_without_bound() const noexcept {
  for (const Rule& r : rules_)
    if (r.action.kind == Action::Kind::usual && asks_for_streams(r.action)) return r.action.line;
  return 0;
}

const Action* Rules::find(Function operation, std::int64_t bytes, const std::function<std::string()>& site,
                          const std::function<std::string()>& comm) const {
  for (const Rule& r : rules_) {
    if (r.operation && *r.operation != operation) continue;
    if (bytes < r.from || bytes > r.to) continue;
    if (!r.site.empty() && !fits(r.site, site())) continue;
    if (!r.comm.empty() && !fits(r.comm, comm())) continue;
    return &r.action;
  }
  return nullptr;
}

}  // namespace stretto::mpi
