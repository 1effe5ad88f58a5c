// bench_choose: what stretto chooses against the MPI's own collective and, for allreduce, against every combination worth a look, over
// sizes. Started under mpirun, on one host or several (run_choose.py). Calls have check = 0. The machine is measured first, as
// `stretto tune` would, unless STRETTO_PROFILE names a profile. Contestants of a size take turns; times are medians of the slowest
// rank's.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "apps/mpi_main.hpp"
#include "bench/mpi.hpp"
#include "bench/rows.hpp"
#include "model/profile.hpp"
#include "stretto/stretto_mpi.h"

namespace {

using namespace stretto;
using schedule::Collective;

struct Options {
  std::string json, place = "1 host", profile = "choose_profile.json";
  double seconds_a_size = 1.0;  // for all contestants together
  std::uint64_t least = 8, most = std::uint64_t{64} << 20U;
  int factor = 8;
  double bound = 1e-4;
};

// Round trip of a flag between two threads, in microseconds: 0.1 to 0.2 near, 0.4 to 0.5 far.
double flag_round_trip() {
  constexpr int trips = 2000;
  std::vector<double> samples;
  for (int k = 0; k < 7; ++k) {
    std::atomic<int> flag{0};
    std::thread other([&] {
      for (int i = 0; i < trips; ++i) {
        for (int spins = 0; flag.load(std::memory_order_acquire) != 2 * i + 1;)
          if (++spins > 100000) std::this_thread::yield();
        flag.store(2 * i + 2, std::memory_order_release);
      }
    });
    const double begun = MPI_Wtime();
    for (int i = 0; i < trips; ++i) {
      flag.store(2 * i + 1, std::memory_order_release);
      for (int spins = 0; flag.load(std::memory_order_acquire) != 2 * i + 2;)
        if (++spins > 100000) std::this_thread::yield();
    }
    samples.push_back((MPI_Wtime() - begun) / trips * 1e6);
    other.join();
  }
  return *std::min_element(samples.begin(), samples.end());
}

constexpr int most_ping = 4 << 20;  // bytes
constexpr int trial_calls = 12;

struct Kind {
  Collective collective;
  const char* name;
  bool bounded;  // measured with a bound, too
};
constexpr Kind kinds[] = {
    {Collective::allreduce, "allreduce", true},
    {Collective::broadcast, "bcast", true},
    {Collective::reduce, "reduce", false},
    {Collective::allgather, "allgather", true},
    {Collective::reduce_scatter, "reduce_scatter", false},
    {Collective::alltoall, "alltoall", false},
};

class Bench {
 public:
  Bench(const Options& o, bench::Writer* rows) : o_(o), rows_(rows) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    for (std::uint64_t n = o.least; n <= o.most; n *= static_cast<std::uint64_t>(o.factor)) sizes_.push_back(n);
    const std::size_t count =
        std::max<std::size_t>(o.most, most_ping) / sizeof(float) + static_cast<std::size_t>(ranks_);
    x_.resize(count);
    y_.resize(count);
    master_.resize(count);
    std::uint32_t state = 12345U + static_cast<std::uint32_t>(rank_);
    for (std::size_t i = 0; i < count; ++i) {
      state = state * 1664525U + 1013904223U;
      master_[i] =
          static_cast<float>(std::sin(1e-3 * static_cast<double>(i) + rank_) + 1e-4 * (state >> 8U) / 16777216.0);
    }
    const char* named = std::getenv("STRETTO_PROFILE");
    if (named == nullptr || *named == '\0') tune();
    if (stretto_comm_create(MPI_COMM_WORLD, &comm_) != STRETTO_OK) throw std::runtime_error(stretto_message());
  }
  ~Bench() { static_cast<void>(stretto_comm_free(comm_)); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void run() {
    for (const Kind& kind : kinds)
      for (const std::uint64_t bytes : sizes_) {
        // Blocks of equal size, a rank's at least one value.
        cell(kind,
             std::max<std::uint64_t>(bytes, by_rank(kind) ? sizeof(float) * static_cast<std::uint64_t>(ranks_) : 4));
      }
  }

 private:
  struct Contestant {
    std::string name;
    bool bounded = false;
    std::function<void()> call;
    std::vector<double> ms;
    stretto_report report = STRETTO_REPORT_INIT;
  };

  static bool by_rank(const Kind& k) {
    return k.collective == Collective::allgather || k.collective == Collective::reduce_scatter ||
           k.collective == Collective::alltoall;
  }

  void mpi(const Kind& k, std::size_t count) {
    const int n = static_cast<int>(count), block = n / ranks_;
    float *x = x_.data(), *y = y_.data();
    switch (k.collective) {
      case Collective::allreduce: MPI_Allreduce(x, y, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;
      case Collective::broadcast: MPI_Bcast(x, n, MPI_FLOAT, 0, MPI_COMM_WORLD); break;
      case Collective::reduce: MPI_Reduce(x, y, n, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD); break;
      case Collective::allgather: MPI_Allgather(x, block, MPI_FLOAT, y, block, MPI_FLOAT, MPI_COMM_WORLD); break;
      case Collective::reduce_scatter: MPI_Reduce_scatter_block(x, y, block, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;
      case Collective::alltoall: MPI_Alltoall(x, block, MPI_FLOAT, y, block, MPI_FLOAT, MPI_COMM_WORLD); break;
      case Collective::gather:
      case Collective::scatter:
      case Collective::barrier: throw std::logic_error("not measured");
    }
  }

  void ours(const Kind& k, std::size_t count, const stretto_options& o) {
    const std::size_t block = count / static_cast<std::size_t>(ranks_);
    float *x = x_.data(), *y = y_.data();
    stretto_status s = STRETTO_INTERNAL;
    switch (k.collective) {
      case Collective::allreduce: s = stretto_allreduce(x, y, count, STRETTO_F32, STRETTO_SUM, comm_, &o); break;
      case Collective::broadcast: s = stretto_bcast(x, count, STRETTO_F32, 0, comm_, &o); break;
      case Collective::reduce: s = stretto_reduce(x, y, count, STRETTO_F32, STRETTO_SUM, 0, comm_, &o); break;
      case Collective::allgather: s = stretto_allgather(x, y, block, STRETTO_F32, comm_, &o); break;
      case Collective::reduce_scatter:
        s = stretto_reduce_scatter_block(x, y, block, STRETTO_F32, STRETTO_SUM, comm_, &o);
        break;
      case Collective::alltoall: s = stretto_alltoall(x, y, block, STRETTO_F32, comm_, &o); break;
      case Collective::gather:
      case Collective::scatter:
      case Collective::barrier: break;
    }
    if (s != STRETTO_OK) throw std::runtime_error(fmt::format("{}: {}", k.name, stretto_message()));
  }

  // Milliseconds of one call: of several in a row where one is too short to time.
  double sample(const std::function<void()>& call, int calls, std::size_t count) {
    // Inputs are written anew, as a program's are.
    std::memcpy(x_.data(), master_.data(), count * sizeof(float));
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    for (int i = 0; i < calls; ++i) call();
    return bench::largest(MPI_COMM_WORLD, (MPI_Wtime() - begun) / calls * 1e3);
  }

  static int calls_for(double ms) { return std::clamp(static_cast<int>(0.5 / std::max(ms, 1e-6)), 1, 500); }

  void cell(const Kind& kind, std::uint64_t bytes) {
    const std::size_t count = bytes / sizeof(float);
    std::vector<Contestant> all;
    all.push_back({"MPI", false, [&, this] { mpi(kind, count); }, {}});
    const auto add = [&](const std::string& name, bool bounded, const std::string& schedule, stretto_payload payload) {
      all.push_back({name, bounded, {}, {}});
      all.back().call = [this, &kind, count, bounded, schedule, payload, index = all.size() - 1, &all] {
        stretto_options o = STRETTO_OPTIONS_INIT;
        o.check = 0;
        o.schedule = schedule.empty() ? nullptr : schedule.c_str();
        o.payload = payload;
        if (bounded) {
          o.bound_kind = STRETTO_BOUND_ABSOLUTE;
          o.bound = o_.bound;
        }
        if (telling_) o.report = &all[index].report;
        ours(kind, count, o);
      };
    };
    add("chosen", false, "", STRETTO_PAYLOAD_AUTO);
    if (kind.bounded) add("chosen within a bound", true, "", STRETTO_PAYLOAD_AUTO);
    if (kind.collective == Collective::allreduce) {
      std::vector<std::string> schedules{"ring", "recursive_doubling", "rabenseifner"};
      if (hosts_ > 1 && hosts_ < ranks_) schedules.insert(schedules.end(), {"hierarchical_ring", "leader"});
      for (const auto& s : schedules) {
        add(s + " raw", false, s, STRETTO_PAYLOAD_RAW);
        add(s + " fused", true, s, STRETTO_PAYLOAD_FUSED);
      }
      if (schedules.size() > 3) add("hierarchical_ring mixed", true, "hierarchical_ring", STRETTO_PAYLOAD_MIXED);
    }
    const double before = regime();
    std::vector<int> calls;
    double round_ms = 0;
    for (Contestant& c : all) {
      // What is chosen is known after the trials (stretto.h), which are not what lasts.
      for (int k = 0; k < trial_calls && c.name.starts_with("chosen"); ++k) static_cast<void>(sample(c.call, 1, count));
      telling_ = true;
      c.call();
      telling_ = false;
      const double ms = sample(c.call, 1, count);
      calls.push_back(calls_for(ms));
      round_ms += ms * calls.back();
    }
    const int rounds = std::clamp(static_cast<int>(o_.seconds_a_size * 1e3 / round_ms), 3, 41);
    for (int r = 0; r < rounds; ++r)
      for (std::size_t i = 0; i < all.size(); ++i) all[i].ms.push_back(sample(all[i].call, calls[i], count));
    tell(kind, bytes, all, before, regime());
  }

  double regime() {
    double microseconds = rank_ == 0 ? flag_round_trip() : 0;
    MPI_Bcast(&microseconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return microseconds;
  }

  void tell(const Kind& kind, std::uint64_t bytes, const std::vector<Contestant>& all, double before, double after) {
    if (rank_ != 0) return;
    nlohmann::ordered_json times = nlohmann::ordered_json::object();
    for (const Contestant& c : all) times[c.name] = bench::median(c.ms);
    const double own = bench::median(all[0].ms);
    for (const Contestant& c : all) {
      if (!c.name.starts_with("chosen")) continue;
      // An exact call competes with exact ones, one with a bound with all.
      double best = 1e300;
      std::string best_name;
      for (const Contestant& other : all) {
        const double ms = bench::median(other.ms);
        if ((other.bounded && !c.bounded) || other.name.starts_with("chosen") || ms >= best) continue;
        best = ms;
        best_name = other.name;
      }
      const double ms = bench::median(c.ms);
      const std::string subject =
          fmt::format("{} {} B p={} {}{}", kind.name, bytes, ranks_, o_.place, c.bounded ? " bound" : "");
      bench::Row r{.bench = "choose",
                   .subject = subject,
                   .metric = "ms",
                   .value = ms,
                   .unit = "ms",
                   .better = bench::Better::smaller,
                   .peer = bench::Peer{"MPI " + bench::mpi_version(), own}};
      r.fields["schedule"] = c.report.algorithm;
      r.fields["payload"] = c.report.payload;
      r.fields["predicted_ms"] = c.report.predicted_seconds * 1e3;
      r.fields["expected_ratio"] = c.report.expected_ratio;
      r.fields["flag_us"] = {before, after};
      r.fields["times_ms"] = times;
      rows_->write(r);
      bench::Row regret{
          .bench = "choose", .subject = subject, .metric = "regret", .value = ms / best - 1, .unit = "fraction"};
      regret.better = bench::Better::smaller;
      regret.fields["best"] = best_name;
      regret.fields["best_ms"] = best;
      rows_->write(regret);
    }
  }

  // Links by ping-pong between rank 0 and the first rank on its host and on another, and the MPI's own collectives; the rest is
  // the built-in profile's.
  void tune() {
    model::Profile p = model::built_in();
    p.name = "bench-choose";
    p.source = "measured by bench_choose";
    p.mpi = bench::mpi_version();
    p.ranks = ranks_;
    std::vector<char> names(static_cast<std::size_t>(ranks_) * 64, 0);
    char own[64] = "";
    gethostname(own, sizeof own - 1);
    MPI_Allgather(own, 64, MPI_CHAR, names.data(), 64, MPI_CHAR, MPI_COMM_WORLD);
    std::map<std::string, int> hosts;
    int near = -1, far = -1;
    for (int r = 0; r < ranks_; ++r) {
      const char* name = &names[static_cast<std::size_t>(r) * 64];
      hosts[name]++;
      if (r == 0) continue;
      int& slot = std::strcmp(name, names.data()) == 0 ? near : far;
      if (slot < 0) slot = r;
    }
    hosts_ = p.hosts = static_cast<int>(hosts.size());
    if (near > 0) {
      const model::Link link = ping_pong(near);
      for (const auto d : {topology::Distance::cache, topology::Distance::socket, topology::Distance::node})
        p.links[static_cast<std::size_t>(d)] = link;
    }
    if (far > 0) p.links[static_cast<std::size_t>(topology::Distance::network)] = ping_pong(far);
    p.natives.clear();
    for (const Kind& kind : kinds) {
      model::Native native{kind.collective, ranks_, hosts_, {}};
      for (std::uint64_t bytes : sizes_) {
        if (by_rank(kind)) bytes = std::max<std::uint64_t>(bytes, sizeof(float) * static_cast<std::uint64_t>(ranks_));
        if (!native.points.empty() && static_cast<double>(bytes) <= native.points.back().first) continue;
        const std::size_t count = bytes / sizeof(float);
        const auto call = [&] { mpi(kind, count); };
        call();
        const double first = sample(call, 1, count);
        std::vector<double> ms;
        for (int k = 0; k < (first > 50 ? 3 : 9); ++k) ms.push_back(sample(call, calls_for(first), count));
        native.points.emplace_back(static_cast<double>(bytes), bench::median(ms) * 1e-3);
      }
      p.natives.push_back(std::move(native));
    }
    if (rank_ != 0) return;
    std::FILE* file = std::fopen(o_.profile.c_str(), "w");
    if (file == nullptr) throw std::runtime_error("cannot write " + o_.profile);
    fmt::print(file, "{}\n", model::to_json(p));
    std::fclose(file);
    setenv("STRETTO_PROFILE", o_.profile.c_str(), 1);
  }

  // Lines through the medians of half round trips.
  model::Link ping_pong(int peer) {
    constexpr int lengths[] = {0, 1024, 8192, 65536, 1 << 20, most_ping};
    std::vector<double> seconds;
    for (const int n : lengths) {
      std::vector<double> samples;
      for (int k = 0; k < (n > 100000 ? 7 : 51); ++k) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begun = MPI_Wtime();
        if (rank_ == 0) {
          MPI_Send(x_.data(), n, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
          MPI_Recv(y_.data(), n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank_ == peer) {
          MPI_Recv(y_.data(), n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          MPI_Send(x_.data(), n, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
        samples.push_back((MPI_Wtime() - begun) / 2);
      }
      seconds.push_back(bench::median(samples));
    }
    MPI_Bcast(seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, 0, MPI_COMM_WORLD);
    model::Link link;
    for (std::size_t i = 0; i + 1 < seconds.size(); ++i) {
      const double beta = std::max(0.0, (seconds[i + 1] - seconds[i]) / (lengths[i + 1] - lengths[i]));
      link.push_back({static_cast<double>(lengths[i]), std::max(0.0, seconds[i] - beta * lengths[i]), beta});
    }
    return link;
  }

  const Options& o_;
  bench::Writer* rows_;  // on rank 0
  int rank_ = 0, ranks_ = 1, hosts_ = 1;
  bool telling_ = false;
  stretto_comm comm_ = nullptr;
  std::vector<std::uint64_t> sizes_;
  std::vector<float> x_, y_, master_;
};

int run(int argc, char** argv, int rank) {
  Options o;
  bool quick = false;
  CLI::App app{"What stretto chooses, against the MPI; run it under mpirun, or see run_choose.py"};
  app.option_defaults()->always_capture_default();
  app.add_option("--json", o.json, "append rows to this file");
  app.add_option("--place", o.place, "where it runs, in the case");
  app.add_option("--profile", o.profile, "where the profile that is measured first is written");
  app.add_option("--seconds", o.seconds_a_size, "for all contestants of a size");
  app.add_option("--most", o.most, "largest vector")->transform(CLI::AsSizeValue(false));
  app.add_option("--factor", o.factor, "between sizes")->check(CLI::Range(2, 1024));
  app.add_option("--bound", o.bound, "absolute, of values within 1");
  app.add_flag("--quick", quick, "few sizes, up to 1 MiB");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return rank == 0 ? app.exit(e) : e.get_exit_code();
  }
  if (quick) {
    o.most = std::min<std::uint64_t>(o.most, std::uint64_t{1} << 20U);
    o.factor = 32;
    o.seconds_a_size = 0.2;
  }
  std::unique_ptr<bench::Writer> rows;
  if (rank == 0) rows = std::make_unique<bench::Writer>(o.json);
  Bench(o, rows.get()).run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return stretto::mpi_main(argc, argv, "bench_choose", run); }
