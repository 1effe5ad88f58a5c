#include "mpi/report/report.hpp"

#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "base/text/file.hpp"
#include "base/text/printable.hpp"
#include "mpi/report/texts.hpp"

namespace stretto::mpi {
namespace {

using nlohmann::json;

json to_json(const Ignored& i) {
  if (i.calls == 0) return nullptr;
  return {{"calls", i.calls}, {"values", i.values}, {"range", {i.lo, i.hi}}, {"range_with_them", {i.all_lo, i.all_hi}}};
}

template <typename Counts>
json until_last(const Timeline& t, const Counts& counts) {
  const auto last = std::find_if(t.calls().rbegin(), t.calls().rend(), [](std::uint64_t n) { return n > 0; });
  return std::vector(counts.begin(), counts.begin() + (t.calls().rend() - last));
}

json finite(double x) { return std::isinf(x) ? json(nullptr) : json(x); }

json to_json(const Row& r) {
  const auto& [w, t, timeline] = r;
  const auto sent = [&t = t](double bytes) { return t.known > 0 ? json(bytes) : json(nullptr); };
  return {{"operation", w.operation},
          {"path", w.path},
          {"why", w.why},
          {"up_to_bytes", std::isinf(kLargestOfSize[w.size]) ? json(nullptr) : json(kLargestOfSize[w.size])},
          {"calls", t.calls},
          {"bytes", t.bytes},
          {"seconds", t.seconds},
          {"raw_bytes", sent(t.raw_bytes)},
          {"sent_bytes", sent(t.sent_bytes)},
          {"promised_error", finite(t.promised_error)},
          {"error_with_rounding", finite(t.error_with_rounding)},
          {"saved_seconds", t.saved},
          {"saved_between", {t.saved_least, t.saved_most}},
          {"predicted_seconds", t.predicted},
          {"predicted_mpi_seconds", t.predicted_mpi},
          {"in_flight_seconds", t.in_flight},
          {"hidden_seconds", t.hidden},
          {"attended_seconds", t.attended},
          {"split", t.split},
          {"calls_over_time", until_last(timeline, timeline.calls())},
          {"seconds_over_time", until_last(timeline, timeline.seconds())},
          {"ignored", to_json(t.ignored)}};
}

// Destroying a json may allocate, and a rank may have no memory.
constexpr char kBetween = '\t';

std::string host_name() {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  PMPI_Get_processor_name(name, &length);
  return {name, static_cast<std::size_t>(length)};
}

// A stretch's length, then place, calls and seconds of non-empty ones.
std::string to_text(const Timeline& t) {
  std::string text = fmt::format("{}{}", kBetween, t.stretch());
  for (std::size_t i = 0; i < Timeline::kMost; ++i)
    if (t.calls()[i] > 0 || t.seconds()[i] > 0)
      text += fmt::format("{0}{1}{0}{2}{0}{3}", kBetween, i, t.calls()[i], t.seconds()[i]);
  return text;
}

std::string to_text(const Statistics& own) {
  std::string all = printable(host_name()) + '\n';
  for (const auto& [w, record] : own.all()) {
    const Tally& t = record.tally;
    all += fmt::format(
        "{1}{0}{2}{0}{3}{0}{4}{0}{5}{0}{6}{0}{7}{0}{8}{0}{9}{0}{10}{0}{11}{0}{12}{0}{13}{0}{14}{0}{15}{0}{16}{0}{17}{"
        "0}{18}{0}{19}{0}{20}{0}{21}{0}",
        kBetween, printable(w.operation), printable(w.path), printable(w.why), w.size, t.calls, t.bytes, t.seconds,
        t.raw_bytes, t.sent_bytes, t.promised_error, t.error_with_rounding, t.saved, t.saved_least, t.saved_most,
        t.predicted, t.predicted_mpi, t.known, t.in_flight, t.hidden, t.attended, t.split);
    const Ignored& i = t.ignored;
    all +=
        fmt::format("{1}{0}{2}{0}{3}{0}{4}{0}{5}{0}{6}", kBetween, i.calls, i.values, i.lo, i.hi, i.all_lo, i.all_hi);
    all += to_text(record.timeline) + '\n';
  }
  return all;
}

Row from_text(std::string_view line) {
  const auto next = [&line] {
    const std::string_view field = line.substr(0, line.find(kBetween));
    line.remove_prefix(std::min(line.size(), field.size() + 1));
    return field;
  };
  const auto number = [&next](auto* to) {
    const std::string_view field = next();
    std::from_chars(field.data(), field.data() + field.size(), *to);
  };
  Row r;
  for (std::string* s : {&r.key.operation, &r.key.path, &r.key.why}) *s = next();
  number(&r.key.size);
  r.key.size = std::min(r.key.size, kLargestOfSize.size() - 1);
  Tally& t = r.tally;
  number(&t.calls);
  for (double* x :
       {&t.bytes, &t.seconds, &t.raw_bytes, &t.sent_bytes, &t.promised_error, &t.error_with_rounding, &t.saved,
        &t.saved_least, &t.saved_most, &t.predicted, &t.predicted_mpi, &t.known, &t.in_flight, &t.hidden, &t.attended})
    number(x);
  number(&t.split);
  number(&t.ignored.calls);
  number(&t.ignored.values);
  for (double* x : {&t.ignored.lo, &t.ignored.hi, &t.ignored.all_lo, &t.ignored.all_hi}) number(x);
  double stretch = 0;
  number(&stretch);
  r.timeline = Timeline::empty(stretch);
  while (!line.empty()) {
    std::size_t place = 0;
    std::uint64_t calls = 0;
    double seconds = 0;
    number(&place);
    number(&calls);
    number(&seconds);
    r.timeline.put(place, calls, seconds);
  }
  return r;
}

// Ranks without memory send none.
std::vector<Row> merge(const std::vector<std::string>& texts, Hosts* hosts) {
  std::map<RowKey, Record> all;
  double stretch = 0;
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    if (std::string host; std::getline(lines, host)) ++(*hosts)[host];
    for (std::string line; std::getline(lines, line);) {
      const Row r = from_text(line);
      auto& [t, timeline] = all[r.key];
      const double slowest = std::max(t.seconds, r.tally.seconds);
      t.add(r.tally);
      t.seconds = slowest;
      timeline.add(r.timeline);
      stretch = std::max(stretch, timeline.stretch());
    }
  }
  std::vector<Row> rows;
  for (auto& [key, record] : all) {
    auto& [tally, timeline] = record;
    for (double* mean : {&tally.saved, &tally.saved_least, &tally.saved_most})
      *mean /= static_cast<double>(texts.size());
    timeline.lengthen(stretch);
    rows.push_back({key, tally, timeline});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::pair(-a.tally.seconds, a.key) < std::pair(-b.tally.seconds, b.key);
  });
  return rows;
}

std::string with_unit(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit < 5; ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
}

std::string size_text(std::size_t size) {
  constexpr std::array texts = {"<=1KiB", "<=64KiB", "<=1MiB", "<=16MiB", ">16MiB"};
  static_assert(texts.size() == kLargestOfSize.size());
  return texts[size];
}

std::string told(const Ignored& i, std::uint64_t calls) {
  if (i.calls == 0) return {};
  return fmt::format(
      "ignored: in {} of {} calls values were left out of the range of the bound, at most {} in a call: the range is "
      "{:.6g} to {:.6g}, with them {:.6g} to {:.6g} (STRETTO_IGNORE_ABOVE)\n",
      i.calls, calls, i.values, i.lo, i.hi, i.all_lo, i.all_hi);
}

std::string overlapped(const Row& r) {
  const Tally& t = r.tally;
  if (t.in_flight <= 0) return {};
  const std::string split = t.split > 0 ? fmt::format(", S={}", t.split) : "";
  return fmt::format(
      "overlap: {} calls of {} were {:.3f} s under way, {:.0f} % of it beside the program's own work; "
      "their starts and waits took {:.3f} s{}\n",
      t.calls, r.key.operation, t.in_flight, 100 * t.hidden / t.in_flight, t.attended, split);
}

std::string path_and_why(const Row& r) {
  std::string text = r.key.path + (r.key.why.empty() ? "" : ": ") + r.key.why;
  const Tally& t = r.tally;
  const bool assumed = r.key.why.ends_with(kAssumedReason);
  if (!(assumed || r.key.why.ends_with(kPredictedReason)) || r.key.path == "native") return text;
  if (t.predicted > 0 && t.predicted_mpi > 0)
    text += fmt::format(" to take {:.2g} of the MPI's time", t.predicted / t.predicted_mpi);
  if (assumed) text += " (not measured: stretto tune)";
  return text;
}

bool is_known(double least, double most) { return least > 0 || most < 0; }

std::string savings(const std::vector<Row>& rows) {
  double least = 0, most = 0;
  std::uint64_t calls = 0, compared = 0;
  for (const Row& r : rows) {
    least += r.tally.saved_least;
    most += r.tally.saved_most;
    calls += r.tally.calls;
    compared += r.tally.saved != 0 ? r.tally.calls : 0;
  }
  if (compared == 0) return {};
  if (!is_known(least, most))
    return fmt::format("saved: not known, for times scatter more than {} of {} calls gain over the MPI's\n", compared,
                       calls);
  return fmt::format(
      "saved: {:.3f} to {:.3f} s in {} of {} calls, an estimate: their quartiles against those of the MPI's calls of "
      "the same operation and length\n",
      least, most, compared, calls);
}

// Why a row stayed exact despite a bound, after "the reductions of most bytes (N calls)".
std::string why_exact(const Row& r) {
  const std::string& why = r.key.why;
  if (r.key.size == 0 && why.find("rule") == std::string::npos) return "have up to 1 KiB, and stay exact";
  if (why.find(kBriefReason) != std::string::npos) return "are short for their bound, and stay exact";
  if (r.key.path == "node") return "used the host's shared memory, which adds exact values";
  return "have the reason '" + path_and_why(r) + "'";
}

// Why nothing was compressed despite a bound, or "".
std::string uncompressed(const std::vector<Row>& rows) {
  struct Exact {
    std::uint64_t calls = 0;
    double bytes = 0;
  };
  std::map<std::string, Exact> reasons;
  for (const Row& r : rows) {
    if (r.key.path.find(',') != std::string::npos) return {};
    if (r.key.operation.find("reduce") == std::string::npos) continue;
    Exact& e = reasons[why_exact(r)];
    e.calls += r.tally.calls;
    e.bytes += r.tally.bytes;
  }
  if (reasons.empty()) return "bound: a bound was given, and no reduction was called\n";
  const auto most = std::max_element(reasons.begin(), reasons.end(),
                                     [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
  return fmt::format(
      "bound: a bound was given, and nothing travelled compressed: the reductions of most bytes ({} calls) {}\n",
      most->second.calls, most->first);
}

}  // namespace

std::string table(const std::vector<Row>& rows, int ranks, const Hosts& hosts, bool bounded) {
  if (rows.empty())
    return fmt::format("stretto: no collective was called by {} rank{}\n", ranks, ranks == 1 ? "" : "s");
  std::string out = fmt::format("stretto: collectives of {} rank{} on {} host{}\n", ranks, ranks == 1 ? "" : "s",
                                hosts.size(), hosts.size() == 1 ? "" : "s");
  out += fmt::format("{:<22} {:>8} {:>10} {:>11} {:>10} {:>10} {:>7} {:>9} {:>9}  {}\n", "operation", "size", "calls",
                     "bytes", "seconds", "saved (s)", "ratio", "error", "rounded", "path: why");
  std::uint64_t calls = 0;
  Ignored ignored;
  std::string overlap;
  for (const Row& r : rows) {
    const auto& [w, t, timeline] = r;
    calls += t.calls;
    ignored.add(t.ignored);
    overlap += overlapped(r);
    const std::string ratio = t.sent_bytes > 0 ? fmt::format("{:.1f}", t.raw_bytes / t.sent_bytes) : "";
    const std::string error = t.promised_error > 0 ? fmt::format("{:.2g}", t.promised_error) : "";
    const std::string rounded = !(t.error_with_rounding > 0)        ? ""
                                : std::isinf(t.error_with_rounding) ? "?"
                                                                    : fmt::format("{:.2g}", t.error_with_rounding);
    const std::string gain = t.saved == 0                            ? ""
                             : is_known(t.saved_least, t.saved_most) ? fmt::format("{:.3f}", t.saved)
                                                                     : "?";
    out += fmt::format("{:<22} {:>8} {:>10} {:>11} {:>10.3f} {:>10} {:>7} {:>9} {:>9}  {}\n", w.operation,
                       t.bytes > 0 ? size_text(w.size) : "-", t.calls, with_unit(t.bytes), t.seconds, gain, ratio,
                       error, rounded, path_and_why(r));
  }
  out += savings(rows);
  if (bounded) out += uncompressed(rows);
  return out + overlap + told(ignored, calls);
}

std::string to_json(const std::vector<Row>& rows, int ranks, const Hosts& hosts) {
  json all = {{"ranks", ranks}, {"hosts", hosts}, {"calls", json::array()}};
  if (!rows.empty()) all["stretch_seconds"] = rows.front().timeline.stretch();
  for (const Row& r : rows) all["calls"].push_back(to_json(r));
  return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

bool can_be_written(const std::string& file) {
  struct stat found {};
  if (stat(file.c_str(), &found) == 0) return !S_ISDIR(found.st_mode) && access(file.c_str(), W_OK) == 0;
  const std::size_t slash = file.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : file.substr(0, slash + 1);
  return access(directory.c_str(), W_OK | X_OK) == 0;
}

Status report(const Statistics& own, const Settings& settings) {
  const std::string& file = settings.report_file;
  const bool bounded = settings.bound.has_value();
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::string mine;
  if (!attempt([&] { mine = to_text(own); })) mine.clear();  // rank 0 goes on
  std::vector<std::string> all;
  if (const Status s = gather_texts(mine, &all); s != Status::ok || rank != 0) return s;
  Hosts hosts;
  const std::vector<Row> rows = merge(all, &hosts);
  if (file.empty()) {
    std::fputs(table(rows, ranks, hosts, bounded).c_str(), stderr);
    return Status::ok;
  }
  if (replace_file(file, to_json(rows, ranks, hosts)) == Status::ok) return Status::ok;
  std::fputs(table(rows, ranks, hosts, bounded).c_str(), stderr);
  return fail(Status::invalid_argument, "'{}' cannot be written; it is on standard error instead", file);
}

}  // namespace stretto::mpi
