#include "work.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "schedule/names.hpp"
#include "write.hpp"

namespace stretto::app {
namespace {

using schedule::Collective;

constexpr std::string_view kGrammar =
    "'compute TIME', 'repeat COUNT', or 'COLLECTIVE BYTES' with reduce, bcast, allreduce, gather or scatter, or one of "
    "them as ireduce, ...";

bool runs_on_trees(Collective c) noexcept {
  return c == Collective::reduce || c == Collective::bcast || c == Collective::allreduce || c == Collective::gather ||
         c == Collective::scatter;
}

// Parses a collective's name; empty unless it runs on trees. Accepts reduce_start, a report's name of a persistent
// start.
std::optional<TreeCall> call_of(std::string_view name) {
  TreeCall call;
  constexpr std::string_view start = "_start";
  if (name.ends_with(start)) {
    call.started = true;
    name.remove_suffix(start.size());
  } else if (name.starts_with('i')) {
    call.started = true;
    name.remove_prefix(1);
  }
  const auto collective = schedule::find_collective(name);
  if (!collective || !runs_on_trees(*collective)) return {};
  call.collective = *collective;
  return call;
}

int parse_count(const std::string& text) {
  int count = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || count < 1)
    throw Problem(fmt::format("repeat '{}' is no number of iterations, 1 or more", text));
  return count;
}

// The parts between separators.
std::vector<std::string> split(const std::string& text, std::string_view separators) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words = split(text, " \t\n");
  std::erase(words, "");
  return words;
}

// A number in a report, finite and not negative.
double number_of(const std::string& path, const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number() || !std::isfinite(found->get<double>()) || found->get<double>() < 0)
    throw Problem(fmt::format("report {}: '{}' of a row is no number, 0 or more", path, key));
  return found->get<double>();
}

Json load_report(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Problem(fmt::format("report {}: no such file can be read", path));
  Json report = Json::parse(file, nullptr, false);
  if (!report.is_object() || !report.contains("ranks") || !report.contains("calls") ||
      !report["ranks"].is_number_integer() || !report["calls"].is_array())
    throw Problem(fmt::format("report {}: it is not what 'stretto run --report-to' writes", path));
  if (report["ranks"] < 1 || report["ranks"] > 1 << 24)
    throw Problem(fmt::format("report {}: {} ranks", path, report["ranks"].dump()));
  return report;
}

}  // namespace

double parse_time(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, double>, 5> units{
      {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"µs", 1e-6}, {"ns", 1e-9}}};
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const auto unit = std::find_if(units.begin(), units.end(), [&](const auto& u) { return u.first == end; });
  constexpr double most = 1e9;
  if (end == text.c_str() || unit == units.end() || !(number > 0) || number * unit->second > most)
    throw Problem(fmt::format("'{}' is no time; write a number above 0 with its unit: 1.5s, 20ms, 300us", text));
  return number * unit->second;
}

std::string name_of(const TreeCall& call) {
  return (call.started ? "i" : "") + std::string(schedule::name(call.collective));
}

Work parse_work(const std::string& text) {
  Work work;
  bool repeats = false;
  for (const std::string& part : split(text, ",")) {
    const std::vector<std::string> words = words_of(part);
    if (words.size() != 2) {
      const std::string trimmed = words.empty() ? "" : part.substr(part.find(words[0]));
      throw Problem(fmt::format("work '{}': '{}' is none of {}", text, trimmed, kGrammar));
    }
    const std::string &what = words[0], &value = words[1];
    if (what == "compute") {
      if (work.compute > 0) throw Problem(fmt::format("work '{}': compute stands twice", text));
      work.compute = parse_time(value);
    } else if (what == "repeat") {
      if (std::exchange(repeats, true)) throw Problem(fmt::format("work '{}': repeat stands twice", text));
      work.repeat = parse_count(value);
    } else if (auto call = call_of(what); call && !what.ends_with("_start")) {
      call->bytes = static_cast<double>(parse_size(value));
      work.calls.push_back(*call);
    } else {
      throw Problem(fmt::format("work '{}': '{}' is none of {}", text, what, kGrammar));
    }
  }
  if (work.compute <= 0) throw Problem(fmt::format("work '{}' has no compute", text));
  if (work.calls.empty()) throw Problem(fmt::format("work '{}' has no collective", text));
  return work;
}

Work read_report(const std::string& path, double seconds, int cores) {
  const Json report = load_report(path);
  if (!std::isfinite(seconds) || seconds <= 0)
    throw Problem(
        fmt::format("{} seconds of the run of {}: --seconds says how long the whole run took, above 0", seconds, path));
  const int ranks = report["ranks"];
  Work work;
  double inside = 0;
  for (const Json& row : report["calls"]) {
    if (!row.is_object() || !row.contains("operation") || !row["operation"].is_string())
      throw Problem(fmt::format("report {}: a row has no operation", path));
    const double calls = number_of(path, row, "calls"), bytes = number_of(path, row, "bytes");
    const double spent = number_of(path, row, "seconds");
    inside += spent;
    auto call = call_of(row["operation"].get<std::string>());
    if (!call || calls == 0) {
      work.other += spent;
      continue;
    }
    const bool blocks = call->collective == Collective::gather || call->collective == Collective::scatter;
    call->bytes = bytes / calls * (blocks ? ranks : 1);  // a report counts one rank's block
    call->calls = calls / ranks;
    const auto alike = std::find_if(work.calls.begin(), work.calls.end(), [&](const TreeCall& other) {
      return other.collective == call->collective && other.started == call->started && other.bytes == call->bytes;
    });
    if (alike != work.calls.end())
      alike->calls += call->calls;
    else
      work.calls.push_back(*call);
  }
  if (work.calls.empty())
    throw Problem(fmt::format("report {} has no reduce, bcast, allreduce, gather or scatter to plan for", path));
  if (inside >= seconds)
    throw Problem(fmt::format("{} s of the whole run are no more than the {:.4g} s inside collectives of {}", seconds,
                              inside, path));
  work.compute = (seconds - inside) * std::min(ranks, cores) / cores;
  work.assumed = {fmt::format("the run's {} ranks were on one node, and did {} of work outside of collectives", ranks,
                              time_text(seconds - inside)),
                  "work is shared evenly by any number of ranks", "calls of a row are alike, and all ranks make them"};
  if (work.other > 0)
    work.assumed.push_back(fmt::format("other collectives take what they took: {}", time_text(work.other)));
  return work;
}

}  // namespace stretto::app
