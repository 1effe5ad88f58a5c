#include "bench/choose/first_calls.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <vector>

#include <fmt/core.h>

#include "bench/choose/profile.hpp"
#include "bench/mpi.hpp"
#include "stretto/stretto_mpi.h"
#include "stretto/stretto_store.h"

namespace stretto::bench {
namespace {

constexpr std::array<int, 4> marks = {1, 10, 100, 1000};  // numbers of calls whose total time is reported
constexpr double hopeless = 3;                            // schedules that take this many times the least are dropped
constexpr int probes = 3;                                 // calls that decide this

struct Contestant {
  std::string name;
  stretto_options options = STRETTO_OPTIONS_INIT;
  std::vector<std::vector<double>> totals{};  // milliseconds of the first marks[i] calls, one entry per repeat
  std::string ran{};                          // algorithm and payload of its last call
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

std::vector<Contestant> contestants(const Kind& kind, bool bounded, const FirstCallsOptions& o, int hosts) {
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
  if (hosts == 1) add("node", "node", STRETTO_PAYLOAD_RAW, false);
  for (const char* s : kind.schedules) {
    add(fmt::format("{} raw", s), s, STRETTO_PAYLOAD_RAW, false);
    if (bounded) add(fmt::format("{} fused", s), s, STRETTO_PAYLOAD_FUSED, true);
  }
  return all;
}

class FirstCalls {
 public:
  FirstCalls(Calls& calls, const FirstCallsOptions& o, Writer* rows)
      : calls_(calls), o_(o), rows_(rows), maker_(o.ucx), hosts_(count_hosts()) {}

  void cell(const Kind& kind, std::uint64_t bytes, bool bounded) {
    std::vector<Contestant> all = contestants(kind, bounded, o_, hosts_);
    std::vector<double> each;
    for (Contestant& c : all) each.push_back(sequence(kind, bytes, &c, probes));
    const double least = *std::min_element(each.begin() + 1, each.end());
    const int most = std::clamp(static_cast<int>(o_.seconds * 1e3 / least), marks[1], marks.back());
    std::vector<Contestant> kept;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i == 0 || each[i] < hopeless * least) kept.push_back(std::move(all[i]));
    for (Contestant& c : kept) c.totals.clear();
    for (int k = 0; k < o_.repeats; ++k)
      for (Contestant& c : kept) sequence(kind, bytes, &c, most);
    if (calls_.rank() == 0) tell(kind, bytes, bounded, most, kept);
  }

 private:
  // Makes `n` calls on a new communicator. Returns the milliseconds of the last call.
  double sequence(const Kind& kind, std::uint64_t bytes, Contestant* c, int n) {
    stretto_comm comm = maker_.make();
    stretto_report report = STRETTO_REPORT_INIT;
    // excludes a field that reads the whole result of bounded calls
    report.size = offsetof(stretto_report, error_with_rounding);
    std::vector<double> took;
    for (int k = 0; k < n; ++k) {
      c->options.report = k + 1 < n ? nullptr : &report;  // requesting a report makes a prediction
      MPI_Barrier(MPI_COMM_WORLD);
      const double begun = MPI_Wtime();
      const stretto_status s = calls_.ours(kind, bytes, comm, c->options);
      took.push_back((MPI_Wtime() - begun) * 1e3);
      if (s != STRETTO_OK) throw std::runtime_error(fmt::format("{} {}: {}", kind.name, c->name, stretto_message()));
      calls_.x()[0] += 1;  // changes the values, and the caches, like a program
    }
    checked(stretto_comm_free(comm));
    std::vector<double> slowest(took.size());
    MPI_Allreduce(took.data(), slowest.data(), n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    c->ran = fmt::format("{} {}", report.algorithm, report.payload);
    std::vector<double> totals;
    double total = 0;
    for (int k = 0; k < n; ++k) {
      total += slowest[static_cast<std::size_t>(k)];
      if (std::find(marks.begin(), marks.end(), k + 1) != marks.end() || k + 1 == n) totals.push_back(total);
    }
    c->totals.push_back(std::move(totals));
    return slowest.back();
  }

  static double total(const Contestant& c, std::size_t mark) {
    std::vector<double> of;
    for (const auto& t : c.totals) of.push_back(t[mark]);
    return median(of);
  }

  void tell(const Kind& kind, std::uint64_t bytes, bool bounded, int most, const std::vector<Contestant>& all) {
    for (std::size_t mark = 0; mark < all.front().totals.front().size(); ++mark) {
      const int first = std::min(mark < marks.size() ? marks[mark] : most, most);
      const Contestant* best = &all[1];
      for (std::size_t i = 2; i < all.size(); ++i)
        if (total(all[i], mark) < total(*best, mark)) best = &all[i];
      Row r{.bench = "first_calls",
            .subject = fmt::format("first {} of {} {} B p={} {}{}{}", first, kind.name, bytes, calls_.ranks(), o_.place,
                                   o_.ucx ? " ucx" : "", bounded ? " bound" : ""),
            .metric = "ms",
            .value = total(all[0], mark),
            .unit = "ms",
            .better = Better::smaller,
            .peer = Peer{best->name, total(*best, mark)}};
      r.fields["first"] = first;
      r.fields["place"] = o_.place;
      r.fields["mpi"] = o_.ucx ? "UCX" : mpi_version();
      r.fields["ranks"] = calls_.ranks();
      r.fields["bytes"] = bytes;
      r.fields["bounded"] = bounded;
      r.fields["over_best"] = total(all[0], mark) / total(*best, mark);
      r.fields["ran"] = all[0].ran;
      rows_->write(r);
    }
  }

  Calls& calls_;
  const FirstCallsOptions& o_;
  Writer* rows_;
  Maker maker_;
  int hosts_;
};

}  // namespace

void measure_first_calls(Calls& calls, const FirstCallsOptions& options, Writer* rows) {
  FirstCalls first(calls, options, rows);
  const Kind& allreduce = kinds().front();
  for (const bool bounded : {false, true})
    for (std::uint64_t n = options.least; n <= options.most; n *= static_cast<std::uint64_t>(options.factor))
      first.cell(allreduce, calls.fit(allreduce, n), bounded);
}

}  // namespace stretto::bench
