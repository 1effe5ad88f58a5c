#include "bench/choose/first_calls.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include <fmt/core.h>

#include "bench/choose/verdict.hpp"
#include "stretto/stretto_mpi.h"
#include "stretto/stretto_store.h"
#include "timing/mpi.hpp"

namespace stretto::bench {
namespace {

constexpr std::array<int, 4> kCallCounts = {1, 10, 100, 1000};  // numbers of calls whose total time is reported
constexpr double kHopeless = 3;  // forced paths that take this many times the least are dropped
constexpr int kProbes = 3;       // calls that decide this
constexpr int kLooks = 5;        // turns that find the fastest forced path
constexpr int kLongTurns = 5, kLeastTurns = 5, kMostTurns = 41;

struct Contestant {
  std::string name;
  stretto_options options = STRETTO_OPTIONS_INIT;
  // Milliseconds of the first calls, by number of calls (marks, or the length of the sequence), a value a turn.
  std::map<int, std::vector<double>> totals{};

  // Totals of so many first calls, or of the longest sequence if none was as long.
  const std::vector<double>& of(int first) const {
    const auto found = totals.find(first);
    return found != totals.end() ? found->second : totals.rbegin()->second;
  }
};

void checked(stretto_status s) {
  if (s != STRETTO_OK) throw std::runtime_error(stretto_message());
}

// Makes communicators, over the MPI or over UCX.
class Maker {
 public:
  explicit Maker(bool ucx) : ucx_(ucx) {
    if (!ucx_) return;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::array<char, 64> name{};
    if (rank == 0) fmt::format_to_n(name.data(), name.size() - 1, "/tmp/stretto-first-calls-{}", getpid());
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    directory_ = name.data();
    std::filesystem::create_directories(directory_);
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    setenv("STRETTO_STORE", ("file://" + directory_).c_str(), 1);
    setenv("STRETTO_RANK", std::to_string(rank).c_str(), 1);
    setenv("STRETTO_SIZE", std::to_string(ranks).c_str(), 1);
  }
  ~Maker() {
    std::error_code ignored;
    if (ucx_) std::filesystem::remove_all(directory_, ignored);
  }
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;

  stretto_comm make() {
    stretto_comm comm = nullptr;
    if (!ucx_) {
      checked(stretto_comm_create(MPI_COMM_WORLD, &comm));
      return comm;
    }
    stretto_store_options o = STRETTO_STORE_OPTIONS_INIT;
    const std::string name = fmt::format("first-{}", made_++);
    o.name = name.c_str();
    checked(stretto_comm_create_environment(&o, &comm));
    return comm;
  }

 private:
  bool ucx_;
  int made_ = 0;
  std::string directory_;
};

std::vector<Contestant> contestants(const Kind& kind, bool bounded, const FirstCallsOptions& o, int hosts, int ranks) {
  std::vector<Contestant> all;
  const auto add = [&](std::string name, const char* schedule, stretto_payload payload, bool bound) {
    Contestant c{.name = std::move(name)};
    c.options.schedule = schedule;
    c.options.payload = payload;
    if (bound) {
      c.options.bound_kind = STRETTO_BOUND_ABSOLUTE;
      c.options.scope = STRETTO_SCOPE_CONTRIBUTION;
      c.options.bound = o.bound;
    }
    all.push_back(std::move(c));
  };
  add("default", nullptr, STRETTO_PAYLOAD_AUTO, bounded);
  if (!o.ucx) add("native", "native", STRETTO_PAYLOAD_RAW, false);
  std::vector<const char*> schedules = kind.schedules;
  if (hosts == 1) schedules.push_back("node");
  if (kind.collective == schedule::Collective::allreduce && hosts > 1 && hosts < ranks)
    schedules.insert(schedules.end(), {"hierarchical_ring", "leader"});
  for (const char* s : schedules) {
    add(fmt::format("{} raw", s), s, STRETTO_PAYLOAD_RAW, false);
    if (bounded) add(fmt::format("{} fused", s), s, STRETTO_PAYLOAD_FUSED, true);
  }
  return all;
}

class FirstCalls {
 public:
  FirstCalls(Calls& calls, const FirstCallsOptions& o, timing::Writer* rows)
      : calls_(calls), o_(o), rows_(rows), maker_(o.ucx), hosts_(calls.hosts()) {}

  void cell(const Kind& kind, std::uint64_t bytes, bool bounded) {
    const Cell c{kind, bytes, bounded};
    std::vector<Contestant> forced = contestants(kind, bounded, o_, hosts_, calls_.ranks());
    std::vector<double> each;
    const double begun = MPI_Wtime();
    for (const Contestant& f : forced) each.push_back(probe(c, f));
    // of a sequence, without its calls
    const double whole = timing::largest(MPI_COMM_WORLD, (MPI_Wtime() - begun) * 1e3);
    const double setup = std::max(0.0, whole - kProbes * std::accumulate(each.begin(), each.end(), 0.0)) /
                         static_cast<double>(each.size());
    const double call = *std::min_element(each.begin() + 1, each.end());
    const Contestant ours = std::move(forced.front());
    std::vector<Contestant> kept;
    for (std::size_t i = 1; i < forced.size(); ++i)
      if (each[i] < kHopeless * call) kept.push_back(std::move(forced[i]));

    // Half of the time finds the fastest path. The other half measures it in new turns: the least of several noisy
    // medians is too low for the path that has it.
    const double half = o_.seconds * 1e3 / 2;
    const auto calls_in = [&](double sequences) {
      return static_cast<int>(std::min(1e6, (half / sequences - setup) / call));
    };
    const int looked = std::clamp(calls_in(kLooks * static_cast<double>(kept.size())), kProbes, kCallCounts[2]);
    turns(c, kLooks, looked, pointers(kept));

    const int most = std::clamp(calls_in(2.0 * 3 * kLongTurns), kCallCounts[1], kCallCounts.back());
    const int short_turns = static_cast<int>(half / (2.0 * 3 * (setup + kCallCounts[1] * call)));
    std::vector<int> told;
    for (const int mark : kCallCounts)
      if (mark < most) told.push_back(mark);
    told.push_back(most);  // each with its fastest path: the first call's may be another than that of many
    std::map<std::string, Compared> compared;
    for (const int first : told) {
      const Contestant& best = fastest(kept, first);
      if (compared.count(best.name) == 0) compared.emplace(best.name, compare(c, ours, best, most, short_turns));
      if (calls_.rank() == 0) tell(c, first, compared.at(best.name));
    }
  }

 private:
  struct Cell {
    const Kind& kind;
    std::uint64_t bytes;
    bool bounded;
  };
  struct Compared {
    Contestant ours, best, again;
    std::string ran;  // algorithm and payload of the default
  };

  static std::vector<Contestant*> pointers(std::vector<Contestant>& all) {
    std::vector<Contestant*> to;
    for (Contestant& c : all) to.push_back(&c);
    return to;
  }

  static const Contestant& fastest(const std::vector<Contestant>& all, int first) {
    return *std::min_element(all.begin(), all.end(), [first](const Contestant& a, const Contestant& b) {
      return timing::median(a.of(first)) < timing::median(b.of(first));
    });
  }

  Compared compare(const Cell& c, const Contestant& ours, const Contestant& best, int most, int short_turns) {
    Compared three{ours, best, best, ran(c, ours)};
    for (Contestant* of : {&three.ours, &three.best, &three.again}) of->totals.clear();
    const std::vector<Contestant*> all{&three.ours, &three.best, &three.again};
    turns(c, std::clamp(short_turns, kLeastTurns, kMostTurns), kCallCounts[1], all);
    if (most > kCallCounts[1]) turns(c, kLongTurns, most, all);
    return three;
  }

  // So many turns of all contestants, each in another order, equal on all ranks, since each affects caches and network
  // buffers for the next.
  void turns(const Cell& c, int times, int n, std::vector<Contestant*> all) {
    for (int k = 0; k < times; ++k) {
      std::shuffle(all.begin(), all.end(), order_);
      for (Contestant* of : all) {
        const std::vector<double> took = sequence(c, of->options, n);
        double total = 0;
        for (int i = 1; i <= n; ++i) {
          total += took[static_cast<std::size_t>(i - 1)];
          if (i == n || std::find(kCallCounts.begin(), kCallCounts.end(), i) != kCallCounts.end())
            of->totals[i].push_back(total);
        }
      }
    }
  }

  double probe(const Cell& c, const Contestant& of) {
    const std::vector<double> took = sequence(c, of.options, kProbes);
    return *std::min_element(took.begin(), took.end());
  }

  // Algorithm and payload of a first call. Such a call is not timed: a request for a report makes a prediction.
  std::string ran(const Cell& c, const Contestant& of) {
    stretto_report report = STRETTO_REPORT_INIT;
    // excludes a field that reads the whole result of bounded calls
    report.size = offsetof(stretto_report, error_with_rounding);
    stretto_options o = of.options;
    o.report = &report;
    sequence(c, o, 1);
    return fmt::format("{} {}", report.algorithm, report.payload);
  }

  // Makes `n` calls on a new communicator. Returns the milliseconds of each, the slowest rank's.
  std::vector<double> sequence(const Cell& c, const stretto_options& o, int n) {
    stretto_comm comm = maker_.make();
    std::vector<double> took;
    for (int k = 0; k < n; ++k) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begun = MPI_Wtime();
      const stretto_status s = calls_.ours(c.kind, c.bytes, comm, o);
      took.push_back((MPI_Wtime() - begun) * 1e3);
      if (s != STRETTO_OK)
        throw std::runtime_error(
            fmt::format("{} {}: {}", c.kind.name, o.schedule ? o.schedule : "default", stretto_message()));
      calls_.x()[0] += 1;  // changes the values, and the caches, like a program
    }
    checked(stretto_comm_free(comm));
    std::vector<double> slowest(took.size());
    MPI_Allreduce(took.data(), slowest.data(), n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
  }

  void tell(const Cell& c, int first, const Compared& three) {
    const std::vector<double>&ours = three.ours.of(first), &best = three.best.of(first);
    const Interval over = ratio(ours, best), again = ratio(three.again.of(first), best);
    const std::string cell = fmt::format("{} {} B p={} {}{}{} {}", c.kind.name, c.bytes, calls_.ranks(), o_.place,
                                         o_.ucx ? " ucx" : "", c.bounded ? " bound" : "", o_.profile);
    timing::Row r{.bench = "first_calls",
                  .subject = fmt::format("first {} of {}", first, cell),
                  .metric = "ms",
                  .value = timing::median(ours),
                  .unit = "ms",
                  .better = timing::Better::smaller,
                  .peer = timing::Peer{three.best.name, timing::median(best)}};
    r.fields["first"] = first;
    r.fields["cell"] = cell;
    r.fields["place"] = o_.place;
    r.fields["mpi"] = o_.ucx ? "UCX" : timing::mpi_version();
    r.fields["profile"] = o_.profile;
    r.fields["ranks"] = calls_.ranks();
    r.fields["collective"] = c.kind.name;
    r.fields["bytes"] = c.bytes;
    r.fields["bounded"] = c.bounded;
    r.fields["turns"] = ours.size();
    r.fields["over_best"] = {over.low, over.middle, over.high};
    r.fields["again_over_best"] = {again.low, again.middle, again.high};
    r.fields["ran"] = three.ran;
    rows_->write(r);
  }

  Calls& calls_;
  const FirstCallsOptions& o_;
  timing::Writer* rows_;
  Maker maker_;
  int hosts_;
  std::mt19937 order_{1};
};

}  // namespace

void measure_first_calls(Calls& calls, const FirstCallsOptions& options, timing::Writer* rows) {
  FirstCalls first(calls, options, rows);
  for (const Kind& kind : kinds()) {
    const auto& only = options.only;
    if (!only.empty() && std::find(only.begin(), only.end(), kind.name) == only.end()) continue;
    for (const std::uint64_t n : options.lengths) {
      first.cell(kind, calls.fit(kind, n), false);
      if (kind.bounded) first.cell(kind, calls.fit(kind, n), true);
    }
  }
}

}  // namespace stretto::bench
