// bench_carriers, and bench_carriers_FLAVOUR for other MPIs: collectives by the MPI, by stretto over that MPI, and by
// stretto over UCX, alternating in one run. Started under mpirun by run_carriers.py, on one host and on several; the
// communicator over UCX meets in STRETTO_STORE. Times are medians of the slowest rank's; inputs are rewritten before
// each call. With --connections each number of connections between two ranks is a contestant. Lengths are of all ranks'
// data together (allreduce, broadcast: of the vector).
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "apps/command_line.hpp"
#include "apps/mpi_main.hpp"
#include "stretto/stretto_mpi.h"
#include "stretto/stretto_store.h"
#include "timing/mpi.hpp"
#include "timing/rows.hpp"

namespace {

using namespace stretto;

struct Options {
  std::string json, place = "1 host";
  std::vector<std::string> collectives{"allreduce", "reduce_scatter", "allgather", "broadcast"};
  std::vector<std::size_t> sizes{8, 64, 1024, 65536, 1 << 20, 16 << 20, 64 << 20};
  std::vector<int> connections;  // empty: the default number
  double seconds = 0.6;          // approximate, per contestant and length
};

void checked(stretto_status s) {
  if (s != STRETTO_OK) throw std::runtime_error(stretto_message());
}

struct Contestant {
  std::string name;
  std::function<void()> run;
  std::vector<double> us{};
};

class Bench {
 public:
  explicit Bench(const Options& o) : o_(o) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    const std::size_t most = *std::max_element(o.sizes.begin(), o.sizes.end()) / sizeof(float) + std::size_t(ranks_);
    x_.resize(most);
    y_.resize(most);
    checked(stretto_comm_create(MPI_COMM_WORLD, &over_mpi_));
    if (o.connections.empty()) add_ucx("stretto over UCX", "bench");
    for (const int n : o.connections) {
      setenv("STRETTO_CONNECTIONS", std::to_string(n).c_str(), 1);
      add_ucx(fmt::format("stretto over UCX, {} connections", n), fmt::format("bench-{}", n));
    }
  }
  ~Bench() {
    for (const Ucx& u : over_ucx_) static_cast<void>(stretto_comm_free(u.comm));
    static_cast<void>(stretto_comm_free(over_mpi_));
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void run(timing::Writer* rows) {
    for (const std::string& collective : o_.collectives)
      for (const std::size_t bytes : o_.sizes) measure(collective, bytes, rows);
  }

 private:
  struct Ucx {
    std::string name;
    stretto_comm comm = nullptr;
  };

  void add_ucx(const std::string& name, const std::string& in_store) {
    stretto_store_options o = STRETTO_STORE_OPTIONS_INIT;
    o.name = in_store.c_str();
    over_ucx_.push_back({name});
    checked(stretto_comm_create_environment(&o, &over_ucx_.back().comm));
  }

  void rewrite(std::size_t n, int turn) {
    for (std::size_t i = 0; i < n; ++i)
      x_[i] = std::sin(static_cast<float>(i % 8192) * 1e-3f) + static_cast<float>(turn + rank_);
  }

  std::function<void()> by_mpi(const std::string& what, std::size_t n, std::size_t block) {
    const int count = static_cast<int>(n), each = static_cast<int>(block);
    float *x = x_.data(), *y = y_.data();
    if (what == "allreduce") return [=] { MPI_Allreduce(x, y, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); };
    if (what == "reduce_scatter")
      return [=] { MPI_Reduce_scatter_block(x, y, each, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); };
    if (what == "allgather") return [=] { MPI_Allgather(x, each, MPI_FLOAT, y, each, MPI_FLOAT, MPI_COMM_WORLD); };
    if (what == "broadcast") return [=] { MPI_Bcast(x, count, MPI_FLOAT, 0, MPI_COMM_WORLD); };
    throw std::runtime_error(fmt::format("no collective '{}'", what));
  }

  std::function<void()> ours(const std::string& what, stretto_comm comm, std::size_t n, std::size_t block,
                             double bound) {
    stretto_options o = STRETTO_OPTIONS_INIT;
    if (bound > 0) {
      o.bound_kind = STRETTO_BOUND_RELATIVE;
      o.scope = STRETTO_SCOPE_CONTRIBUTION;
      o.bound = bound;
    }
    float *x = x_.data(), *y = y_.data();
    if (what == "allreduce") return [=] { checked(stretto_allreduce(x, y, n, STRETTO_F32, STRETTO_SUM, comm, &o)); };
    if (what == "reduce_scatter")
      return [=] { checked(stretto_reduce_scatter_block(x, y, block, STRETTO_F32, STRETTO_SUM, comm, &o)); };
    if (what == "allgather") return [=] { checked(stretto_allgather(x, y, block, STRETTO_F32, comm, &o)); };
    return [=] { checked(stretto_bcast(x, n, STRETTO_F32, 0, comm, &o)); };
  }

  void measure(const std::string& what, std::size_t bytes, timing::Writer* rows) {
    const std::size_t n = std::max<std::size_t>(bytes / sizeof(float), 1);
    const std::size_t block = std::max<std::size_t>(n / std::size_t(ranks_), 1);
    std::vector<Contestant> all{{timing::mpi_version(), by_mpi(what, n, block)},
                                {"stretto over MPI", ours(what, over_mpi_, n, block, 0)}};
    for (const Ucx& u : over_ucx_) all.push_back({u.name, ours(what, u.comm, n, block, 0)});
    if (bytes >= 65536) {
      all.push_back({"stretto over MPI, rel:1e-3", ours(what, over_mpi_, n, block, 1e-3)});
      for (const Ucx& u : over_ucx_) all.push_back({u.name + ", rel:1e-3", ours(what, u.comm, n, block, 1e-3)});
    }
    int repeats = 3;
    for (int k = -kWarmUp; k < repeats; ++k) {
      for (Contestant& c : all) {
        rewrite(n, k);
        MPI_Barrier(MPI_COMM_WORLD);
        const double begun = MPI_Wtime();
        c.run();
        const double us = timing::largest(MPI_COMM_WORLD, (MPI_Wtime() - begun) * 1e6);
        if (k >= 0) c.us.push_back(us);
        if (k == -1 && &c == all.data()) repeats = std::clamp(static_cast<int>(o_.seconds * 1e6 / us), 3, 200);
      }
    }
    if (rank_ != 0) return;
    const double mpi = timing::median(all[0].us);
    for (std::size_t i = 1; i < all.size(); ++i) {
      timing::Row row{.bench = "carriers",
                      .subject = fmt::format("{} {} B, {} ranks, {}, {}", what, bytes, ranks_, o_.place, all[i].name),
                      .metric = "us",
                      .value = timing::median(all[i].us),
                      .unit = "us",
                      .better = timing::Better::smaller,
                      .peer = timing::Peer{all[0].name, mpi}};
      rows->write(row);
    }
  }

  static constexpr int kWarmUp = 12;
  const Options& o_;
  int rank_ = 0, ranks_ = 1;
  stretto_comm over_mpi_ = nullptr;
  std::vector<Ucx> over_ucx_;
  std::vector<float> x_, y_;
};

int run(int argc, char** argv, int rank) {
  Options o;
  CLI::App app{"collectives by the MPI, and by stretto over it and over UCX"};
  app.add_option("--json", o.json, "file to append rows to");
  app.add_option("--place", o.place, "where the ranks are, in words");
  app.add_option("--collectives", o.collectives, "some of allreduce, reduce_scatter, allgather, broadcast")
      ->delimiter(',');
  app.add_option("--sizes", o.sizes, "bytes")->delimiter(',');
  app.add_option("--connections", o.connections, "between two ranks, for long messages, over UCX")->delimiter(',');
  app.add_option("--seconds", o.seconds, "of the calls of one length");
  if (int code = 0; !parsed(app, argc, argv, rank == 0, &code)) return code;
  timing::Writer rows(rank == 0 ? o.json : "/dev/null");
  Bench(o).run(&rows);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return stretto::mpi_main(argc, argv, "bench_carriers", run); }
