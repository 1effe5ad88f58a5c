// bench_overlap: gain of a program that computes while a collective progresses. All contestants have the same cores and
// equal work per rank, alternating in one run: the MPI's blocking and nonblocking calls and stretto's, with the ranks
// on all cores; and stretto with communication cores and the ranks on the other cores. With --progress-threads the
// MPI's own threads also run on the communication cores. With the profiling library loaded, also an unchanged MPI
// program. With --bound, also allreduce within that bound. With --splits, also stretto's binomial trees with that many
// levels run by the callers (STRETTO_SPLIT), in the host's memory and, with --multiple, in messages. Started under
// mpirun by run_overlap.py.
//
// pure: start and wait; compute: the work alone; total: start, work, wait. Each lasts from the first rank's start to
// the last rank's end, on the machine's clock, as medians over the turns. The work of a rank takes --ratios times
// as long as the MPI's blocking call with every rank computing on all cores, and at least 10 ms. Two definitions of
// overlap are printed:
//   OSU (osu_iallreduce): 100 (1 - (total - compute) / pure)
//   IMB-NBC:              100 (pure + compute - total) / min(pure, compute)
#include <dlfcn.h>
#include <sched.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "apps/command_line.hpp"
#include "apps/mpi_main.hpp"
#include "stretto/stretto_mpi.h"
#include "stretto/stretto_nonblocking.h"
#include "timing/mpi.hpp"
#include "timing/rows.hpp"

namespace {

using namespace stretto;

struct Options {
  std::string json, place = "1 host";
  std::vector<std::string> collectives{"ibcast", "ireduce", "iallreduce", "iallgather", "ialltoall"};
  std::vector<std::string> work{"registers", "triad"};
  std::vector<std::size_t> sizes{16 << 20, 64 << 20};
  std::vector<double> ratios{0.5, 2};
  std::vector<int> all_cores, cores, splits;  // all_cores: of all ranks together; cores: those reserved among them
  double bound = 0;                           // relative to the range; 0: exact calls only
  bool multiple = false, progress_threads = false;
  int turns = 7;
};

void checked(stretto_status s) {
  if (s != STRETTO_OK) throw std::runtime_error(stretto_message());
}

// True if the profiling library precedes the MPI.
bool is_preloaded() {
  Dl_info place{};
  return dladdr(reinterpret_cast<void*>(&MPI_Iallreduce), &place) != 0 &&
         std::string(place.dli_fname).find("libstretto_mpi") != std::string::npos;
}

// Computation of a program, in pieces of some microseconds.
class Work {
 public:
  Work() : a_(kLength, 1), b_(kLength, 2), c_(kLength, 3) {}

  void run(const std::string& kind, std::size_t pieces) {
    if (kind == "registers")
      for (std::size_t i = 0; i < pieces; ++i) registers();
    else if (kind == "triad")
      for (std::size_t i = 0; i < pieces; ++i) triad();
    else if (kind == "stencil")
      for (std::size_t i = 0; i < pieces; ++i) stencil();
    else
      throw std::runtime_error(fmt::format("no work '{}': it takes registers, triad or stencil", kind));
  }

 private:
  void registers() {
    double x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < 2000; ++i)
      for (double& v : x) v = v * 0.999999 + 1e-6;
    sink_ = x[0] + x[7];
  }
  // Over arrays larger than the caches, a part per piece.
  void triad() {
    const std::size_t from = next();
    for (std::size_t i = from; i < from + kPart; ++i) a_[i] = b_[i] + 0.5 * c_[i];
  }
  void stencil() {
    const std::size_t from = std::max<std::size_t>(next(), kRow), to = std::min(from + kPart, kLength - kRow);
    for (std::size_t i = from; i < to; ++i) a_[i] = 0.2 * (b_[i] + b_[i - 1] + b_[i + 1] + b_[i - kRow] + b_[i + kRow]);
  }
  std::size_t next() {
    const std::size_t from = at_;
    at_ = at_ + 2 * kPart > kLength ? 0 : at_ + kPart;
    return from;
  }

  static constexpr std::size_t kLength = std::size_t{16} << 20, kPart = 4096, kRow = 4096;
  std::vector<double> a_, b_, c_;
  std::size_t at_ = 0;
  volatile double sink_ = 0;
};

// Cores of the ranks: all, or those that are not reserved for communication.
enum class Layout { all_cores, cores_left };

struct Contestant {
  std::string name;
  Layout layout = Layout::all_cores;
  bool cores = false;  // communication cores are on
  std::function<void()> start, wait;
  std::vector<double> pure{}, compute{}, total{};
};

class Bench {
 public:
  explicit Bench(const Options& o) : o_(o) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    const std::size_t most = *std::max_element(o.sizes.begin(), o.sizes.end()) / sizeof(float) + std::size_t(ranks_);
    x_.resize(most);
    for (std::size_t i = 0; i < most; ++i) x_[i] = static_cast<float>(std::sin(1e-3 * static_cast<double>(i) + rank_));
    y_.assign(most, 0);
    bind(Layout::all_cores);
    checked(stretto_comm_create(MPI_COMM_WORLD, &on_all_));
    if (o.cores.empty()) return;
    bind(Layout::cores_left);
    checked(stretto_comm_create(MPI_COMM_WORLD, &beside_));
    for (const int split : o.splits) {
      setenv("STRETTO_SPLIT", std::to_string(split).c_str(), 1);
      checked(stretto_comm_create(MPI_COMM_WORLD, &split_comms_[{split, "memory"}]));
      if (!o.multiple) continue;
      setenv("STRETTO_NODE", "0", 1);
      checked(stretto_comm_create(MPI_COMM_WORLD, &split_comms_[{split, "messages"}]));
      unsetenv("STRETTO_NODE");
    }
    unsetenv("STRETTO_SPLIT");
  }
  ~Bench() {
    static_cast<void>(stretto_comm_cores(nullptr, 0));
    static_cast<void>(stretto_comm_free(on_all_));
    if (beside_ != nullptr) static_cast<void>(stretto_comm_free(beside_));
    for (const auto& [way, comm] : split_comms_) static_cast<void>(stretto_comm_free(comm));
    if (within_ != MPI_COMM_NULL) MPI_Comm_free(&within_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void run(timing::Writer* rows) {
    for (const std::string& collective : o_.collectives)
      for (const std::size_t bytes : o_.sizes)
        for (const std::string& work : o_.work)
          for (const double ratio : o_.ratios) measure(collective, bytes, work, ratio, rows);
  }

 private:
  std::vector<Contestant> contestants(const std::string& what, std::size_t n) {
    const std::size_t block = std::max<std::size_t>(n / std::size_t(ranks_), 1);
    const auto end_of_mpi = [this] { PMPI_Wait(&of_mpi_, MPI_STATUS_IGNORE); };
    const auto end_of_ours = [this] { end(); };
    const std::string mpi = timing::mpi_version();
    const int count = static_cast<int>(n), part = static_cast<int>(block);
    std::vector<Contestant> all{
        {mpi + ", blocking", Layout::all_cores, false, blocking_mpi(what, count, part), [] {}},
        {mpi + ", nonblocking", Layout::all_cores, false, by_mpi(what, count, part), end_of_mpi},
        {"stretto, blocking", Layout::all_cores, false, blocking_ours(what, n, block), [] {}},
        {"stretto, nonblocking", Layout::all_cores, false, ours(what, n, block, on_all_, nullptr), end_of_ours}};
    if (o_.progress_threads)
      all.push_back({mpi + ", nonblocking, progress threads on cores set aside", Layout::cores_left, false,
                     by_mpi(what, count, part), end_of_mpi});
    if (!o_.cores.empty())
      all.push_back({"stretto, communication cores", Layout::cores_left, true, ours(what, n, block, beside_, nullptr),
                     end_of_ours});
    const bool tree = what == "ibcast" || what == "ireduce" || what == "igather" || what == "iscatter";
    for (const auto& [way, comm] : split_comms_)
      if (tree || (what == "iallreduce" && way.second == "messages"))
        all.push_back({fmt::format("stretto's binomial tree in {}, communication cores, S={}", way.second, way.first),
                       Layout::cores_left, true, ours(what, n, block, comm, "binomial"), end_of_ours});
    if (!o_.cores.empty() && is_preloaded())
      all.push_back({"an unchanged program, communication cores", Layout::cores_left, true,
                     unchanged(what, count, part), [this] { MPI_Wait(&of_mpi_, MPI_STATUS_IGNORE); }});
    if (o_.bound > 0 && what == "iallreduce") {
      const std::string within = fmt::format(" within rel:{:g}", o_.bound);
      all.push_back({"stretto" + within + ", blocking", Layout::all_cores, false, bounded_blocking(n), [] {}});
      all.push_back({"stretto" + within + ", nonblocking", Layout::all_cores, false, bounded(n, on_all_), end_of_ours});
      if (!o_.cores.empty())
        all.push_back(
            {"stretto" + within + ", communication cores", Layout::cores_left, true, bounded(n, beside_), end_of_ours});
      if (!o_.cores.empty() && is_preloaded())
        all.push_back({"an unchanged program" + within + ", communication cores", Layout::cores_left, true,
                       unchanged_bounded(count), [this] { MPI_Wait(&of_mpi_, MPI_STATUS_IGNORE); }});
    }
    return all;
  }
  void end() {
    checked(stretto_wait(of_ours_));
    checked(stretto_request_free(&of_ours_));
  }

  // Binds only the calling thread: threads of the MPI or the library stay on their cores. Ranks share the cores in
  // turn.
  void bind(Layout layout) {
    std::vector<int> on;
    for (const int core : o_.all_cores)
      if (layout == Layout::all_cores || std::find(o_.cores.begin(), o_.cores.end(), core) == o_.cores.end())
        on.push_back(core);
    if (on.empty()) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(on[std::size_t(rank_) % on.size()], &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
      throw std::runtime_error(fmt::format("this process may not run on core {}", on[std::size_t(rank_) % on.size()]));
  }

  std::function<void()> blocking_mpi(const std::string& what, int n, int block) {
    float *x = x_.data(), *y = y_.data();
    MPI_Comm world = MPI_COMM_WORLD;
    if (what == "ibcast") return [=] { PMPI_Bcast(x, n, MPI_FLOAT, 0, world); };
    if (what == "ireduce") return [=] { PMPI_Reduce(x, y, n, MPI_FLOAT, MPI_SUM, 0, world); };
    if (what == "iallreduce") return [=] { PMPI_Allreduce(x, y, n, MPI_FLOAT, MPI_SUM, world); };
    if (what == "iallgather") return [=] { PMPI_Allgather(x, block, MPI_FLOAT, y, block, MPI_FLOAT, world); };
    if (what == "igather") return [=] { PMPI_Gather(x, block, MPI_FLOAT, y, block, MPI_FLOAT, 0, world); };
    if (what == "iscatter") return [=] { PMPI_Scatter(x, block, MPI_FLOAT, y, block, MPI_FLOAT, 0, world); };
    if (what == "ialltoall") return [=] { PMPI_Alltoall(x, block, MPI_FLOAT, y, block, MPI_FLOAT, world); };
    throw std::runtime_error(fmt::format("no collective '{}'", what));
  }
  std::function<void()> by_mpi(const std::string& what, int n, int block) {
    float *x = x_.data(), *y = y_.data();
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request* r = &of_mpi_;
    if (what == "ibcast") return [=] { PMPI_Ibcast(x, n, MPI_FLOAT, 0, world, r); };
    if (what == "ireduce") return [=] { PMPI_Ireduce(x, y, n, MPI_FLOAT, MPI_SUM, 0, world, r); };
    if (what == "iallreduce") return [=] { PMPI_Iallreduce(x, y, n, MPI_FLOAT, MPI_SUM, world, r); };
    if (what == "iallgather") return [=] { PMPI_Iallgather(x, block, MPI_FLOAT, y, block, MPI_FLOAT, world, r); };
    if (what == "igather") return [=] { PMPI_Igather(x, block, MPI_FLOAT, y, block, MPI_FLOAT, 0, world, r); };
    if (what == "iscatter") return [=] { PMPI_Iscatter(x, block, MPI_FLOAT, y, block, MPI_FLOAT, 0, world, r); };
    if (what == "ialltoall") return [=] { PMPI_Ialltoall(x, block, MPI_FLOAT, y, block, MPI_FLOAT, world, r); };
    throw std::runtime_error(fmt::format("no collective '{}'", what));
  }
  std::function<void()> unchanged(const std::string& what, int n, int block) {
    float *x = x_.data(), *y = y_.data();
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request* r = &of_mpi_;
    if (what == "ibcast") return [=] { MPI_Ibcast(x, n, MPI_FLOAT, 0, world, r); };
    if (what == "ireduce") return [=] { MPI_Ireduce(x, y, n, MPI_FLOAT, MPI_SUM, 0, world, r); };
    if (what == "iallreduce") return [=] { MPI_Iallreduce(x, y, n, MPI_FLOAT, MPI_SUM, world, r); };
    if (what == "iallgather") return [=] { MPI_Iallgather(x, block, MPI_FLOAT, y, block, MPI_FLOAT, world, r); };
    if (what == "igather") return [=] { MPI_Igather(x, block, MPI_FLOAT, y, block, MPI_FLOAT, 0, world, r); };
    if (what == "iscatter") return [=] { MPI_Iscatter(x, block, MPI_FLOAT, y, block, MPI_FLOAT, 0, world, r); };
    if (what == "ialltoall") return [=] { MPI_Ialltoall(x, block, MPI_FLOAT, y, block, MPI_FLOAT, world, r); };
    throw std::runtime_error(fmt::format("no collective '{}'", what));
  }
  std::function<void()> ours(const std::string& what, std::size_t n, std::size_t block, stretto_comm c,
                             const char* schedule) {
    float *x = x_.data(), *y = y_.data();
    stretto_request* r = &of_ours_;
    stretto_options o = STRETTO_OPTIONS_INIT;
    o.schedule = schedule;
    if (what == "ibcast") return [=] { checked(stretto_ibcast(x, n, STRETTO_F32, 0, c, &o, r)); };
    if (what == "ireduce") return [=] { checked(stretto_ireduce(x, y, n, STRETTO_F32, STRETTO_SUM, 0, c, &o, r)); };
    if (what == "iallreduce") return [=] { checked(stretto_iallreduce(x, y, n, STRETTO_F32, STRETTO_SUM, c, &o, r)); };
    if (what == "iallgather") return [=] { checked(stretto_iallgather(x, y, block, STRETTO_F32, c, &o, r)); };
    if (what == "igather") return [=] { checked(stretto_igather(x, y, block, STRETTO_F32, 0, c, &o, r)); };
    if (what == "iscatter") return [=] { checked(stretto_iscatter(x, y, block, STRETTO_F32, 0, c, &o, r)); };
    return [=] { checked(stretto_ialltoall(x, y, block, STRETTO_F32, c, &o, r)); };
  }

  std::function<void()> blocking_ours(const std::string& what, std::size_t n, std::size_t block) {
    float *x = x_.data(), *y = y_.data();
    stretto_comm c = on_all_;
    if (what == "ibcast") return [=] { checked(stretto_bcast(x, n, STRETTO_F32, 0, c, nullptr)); };
    if (what == "ireduce") return [=] { checked(stretto_reduce(x, y, n, STRETTO_F32, STRETTO_SUM, 0, c, nullptr)); };
    if (what == "iallreduce") return [=] { checked(stretto_allreduce(x, y, n, STRETTO_F32, STRETTO_SUM, c, nullptr)); };
    if (what == "iallgather") return [=] { checked(stretto_allgather(x, y, block, STRETTO_F32, c, nullptr)); };
    if (what == "igather") return [=] { checked(stretto_gather(x, y, block, STRETTO_F32, 0, c, nullptr)); };
    if (what == "iscatter") return [=] { checked(stretto_scatter(x, y, block, STRETTO_F32, 0, c, nullptr)); };
    return [=] { checked(stretto_alltoall(x, y, block, STRETTO_F32, c, nullptr)); };
  }

  stretto_options within_bound() const {
    stretto_options options = STRETTO_OPTIONS_INIT;
    options.bound = o_.bound;
    options.bound_kind = STRETTO_BOUND_RELATIVE;
    return options;
  }
  std::function<void()> bounded(std::size_t n, stretto_comm comm) {
    return [this, n, comm, options = within_bound()] {
      checked(stretto_iallreduce(x_.data(), y_.data(), n, STRETTO_F32, STRETTO_SUM, comm, &options, &of_ours_));
    };
  }
  // A bound by info key, on a separate communicator: other rows are exact.
  std::function<void()> unchanged_bounded(int n) {
    if (within_ == MPI_COMM_NULL) {
      MPI_Info info = MPI_INFO_NULL;
      MPI_Info_create(&info);
      MPI_Info_set(info, "stretto_bound", fmt::format("rel:{:g}", o_.bound).c_str());
      MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &within_);
      MPI_Info_free(&info);
    }
    return [this, n] { MPI_Iallreduce(x_.data(), y_.data(), n, MPI_FLOAT, MPI_SUM, within_, &of_mpi_); };
  }
  std::function<void()> bounded_blocking(std::size_t n) {
    return [this, n, options = within_bound()] {
      checked(stretto_allreduce(x_.data(), y_.data(), n, STRETTO_F32, STRETTO_SUM, on_all_, &options));
    };
  }

  void measure(const std::string& what, std::size_t bytes, const std::string& kind, double ratio,
               timing::Writer* rows) {
    std::vector<Contestant> all = contestants(what, std::max<std::size_t>(bytes / sizeof(float), 1));
    const auto switch_to = [&](const Contestant& c) {
      bind(c.layout);
      if (!o_.cores.empty())
        checked(stretto_comm_cores(o_.cores.data(), c.cores ? static_cast<int>(o_.cores.size()) : 0));
    };
    switch_to(all[0]);
    std::vector<double> alone;
    for (int k = 0; k < 5; ++k) {
      const double ms = timing::span_ms(MPI_COMM_WORLD, [&] { all[0].start(), all[0].wait(); });
      if (k > 0) alone.push_back(ms);
    }
    // Ranks that share a core get it in time slices of milliseconds: the work is long compared with those, and equal on
    // all ranks.
    const double wanted = std::max(ratio * timing::median(alone), 10.0);
    double best = 1e30;
    constexpr std::size_t sample = 2000;
    for (int k = 0; k < 5; ++k)
      best = std::min(best, timing::span_ms(MPI_COMM_WORLD, [&] { work_.run(kind, sample); }));
    const auto pieces = std::max<std::size_t>(1, static_cast<std::size_t>(wanted / best * sample));
    for (int k = -2; k < o_.turns; ++k) {
      for (Contestant& c : all) {
        switch_to(c);
        const double pure = timing::span_ms(MPI_COMM_WORLD, [&] { c.start(), c.wait(); });
        const double compute = timing::span_ms(MPI_COMM_WORLD, [&] { work_.run(kind, pieces); });
        const double total = timing::span_ms(MPI_COMM_WORLD, [&] { c.start(), work_.run(kind, pieces), c.wait(); });
        if (k < 0) continue;
        c.pure.push_back(pure);
        c.compute.push_back(compute);
        c.total.push_back(total);
      }
    }
    if (rank_ == 0) write(what, bytes, fmt::format("{} x {:g}", kind, ratio), all, rows);
  }

  void write(const std::string& what, std::size_t bytes, const std::string& kind, const std::vector<Contestant>& all,
             timing::Writer* rows) {
    for (const Contestant& c : all) {
      const double pure = timing::median(c.pure), compute = timing::median(c.compute), total = timing::median(c.total);
      const auto row = [&](const char* metric, double value, const char* unit, std::optional<timing::Peer> peer) {
        timing::Row r{
            .bench = "overlap",
            .subject = fmt::format("{} {} B, {}, {} ranks, {}, {}", what, bytes, kind, ranks_, o_.place, c.name),
            .metric = metric,
            .value = value,
            .unit = unit,
            .better = timing::Better::smaller,
            .peer = std::move(peer)};
        rows->write(r);
      };
      const bool own = &c == all.data();
      const auto against = [&](const std::vector<double>& v) {
        return own ? std::nullopt : std::optional(timing::Peer{all[0].name, timing::median(v)});
      };
      row("pure", pure, "ms", against(all[0].pure));
      row("compute", compute, "ms", std::nullopt);
      row("total", total, "ms", against(all[0].total));
      row("overlap_osu", std::max(0.0, 100 * (1 - (total - compute) / pure)), "%", std::nullopt);
      row("overlap_imb", std::clamp(100 * (pure + compute - total) / std::min(pure, compute), 0.0, 100.0), "%",
          std::nullopt);
    }
  }

  const Options& o_;
  int rank_ = 0, ranks_ = 1;
  stretto_comm on_all_ = nullptr, beside_ = nullptr;  // made with the ranks on all cores, and on the unreserved cores
  std::map<std::pair<int, std::string>, stretto_comm> split_comms_;
  MPI_Comm within_ = MPI_COMM_NULL;
  MPI_Request of_mpi_ = MPI_REQUEST_NULL;
  stretto_request of_ours_ = nullptr;
  std::vector<float> x_, y_;
  Work work_;
};

int run(int argc, char** argv, int rank) {
  Options o;
  CLI::App app{"how much of a nonblocking collective hides behind a program's work"};
  app.add_option("--json", o.json, "file to append rows to");
  app.add_option("--place", o.place, "where the ranks are, in words");
  app.add_option("--collectives", o.collectives,
                 "some of ibcast, ireduce, iallreduce, iallgather, igather, iscatter, ialltoall")
      ->delimiter(',');
  app.add_option("--work", o.work, "some of registers, triad, stencil")->delimiter(',');
  app.add_option("--ratios", o.ratios, "work of a rank, in times of the MPI's blocking call")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--sizes", o.sizes, "bytes of all ranks' data together")->delimiter(',');
  app.add_option("--all-cores", o.all_cores, "cores of the ranks and of communication together")
      ->delimiter(',')
      ->required();
  app.add_option("--cores", o.cores, "those of them that are set aside for communication")->delimiter(',');
  app.add_flag("--progress-threads", o.progress_threads, "the MPI has threads of its own on the cores set aside");
  app.add_option("--splits", o.splits, "levels of a tree that the callers do: measure each")->delimiter(',');
  app.add_option("--bound", o.bound, "of the values' range: measure allreduce within it, too")
      ->check(CLI::PositiveNumber);
  app.add_flag("--multiple", o.multiple, "MPI_THREAD_MULTIPLE, which messages on communication cores take");
  app.add_option("--turns", o.turns, "of each contestant")->check(CLI::PositiveNumber);
  if (int code = 0; !parsed(app, argc, argv, rank == 0, &code)) return code;
  timing::Writer rows(rank == 0 ? o.json : "/dev/null");
  Bench(o).run(&rows);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool multiple = std::find(argv, argv + argc, std::string("--multiple")) != argv + argc;
  return stretto::mpi_main(argc, argv, "bench_overlap", run, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
}
