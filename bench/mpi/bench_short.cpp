// bench_short: short blocking collectives by the MPI, by stretto, and by stretto through the memory of several hosts,
// in turns of a few calls each. Started under mpirun; see run_short.py.
#include <CLI/CLI.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "apps/command_line.hpp"
#include "apps/mpi_main.hpp"
#include "stretto/stretto_mpi.h"
#include "timing/mpi.hpp"
#include "timing/rows.hpp"

namespace {

using namespace stretto;

struct Options {
  std::string json, place = "local";
  std::vector<std::string> collectives{"allreduce", "bcast", "reduce", "barrier"};
  std::vector<int> sizes{8, 256, 4096};
  int calls = 20, turns = 15;
};

struct Contestant {
  std::string name;
  std::function<void()> call;
  std::vector<double> us{};  // of a call; the slowest rank's, by turn
};

void checked(stretto_status s) {
  if (s != STRETTO_OK) throw std::runtime_error(stretto_message());
}

class Bench {
 public:
  Bench(const Options& o, timing::Writer* rows) : o_(o), rows_(rows) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    checked(stretto_comm_create(MPI_COMM_WORLD, &comm_));
    unchecked_.check = in_memory_.check = 0;
    checked_in_memory_.schedule = in_memory_.schedule = "node";
  }
  ~Bench() { static_cast<void>(stretto_comm_free(comm_)); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void measure(const std::string& collective, int bytes) {
    std::vector<Contestant> all;
    const int n = bytes / static_cast<int>(sizeof(float));
    n_ = static_cast<std::size_t>(n);
    x_.assign(n_ * static_cast<std::size_t>(ranks_), 1.0F);
    y_.assign(x_.size(), 0.0F);
    all.push_back({"MPI", theirs(collective, n)});
    all.push_back({"unchecked", ours(collective, &unchecked_)});
    all.push_back({"checked", ours(collective, nullptr)});
    if (serves(collective)) {
      all.push_back({"node, unchecked", ours(collective, &in_memory_)});
      all.push_back({"node", ours(collective, &checked_in_memory_)});
    }
    for (int turn = 0; turn <= o_.turns; ++turn)
      for (Contestant& c : all) {
        const double us = batch(c.call);
        if (turn > 0) c.us.push_back(us);
      }
    for (std::size_t i = 1; rank_ == 0 && i < all.size(); ++i)
      rows_->write(
          {.bench = "short",
           .subject = fmt::format("{} {} B, {} ranks, {}, {}", collective, bytes, ranks_, o_.place, all[i].name),
           .metric = "us",
           .value = timing::median(all[i].us),
           .unit = "us",
           .better = timing::Better::smaller,
           .peer = timing::Peer{timing::mpi_version(), timing::median(all[0].us)}});
  }

 private:
  std::function<void()> theirs(const std::string& name, int n) {
    float *x = x_.data(), *y = y_.data();
    if (name == "allreduce") return [=] { MPI_Allreduce(x, y, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); };
    if (name == "bcast") return [=] { MPI_Bcast(x, n, MPI_FLOAT, 0, MPI_COMM_WORLD); };
    if (name == "reduce") return [=] { MPI_Reduce(x, y, n, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD); };
    if (name == "allgather") return [=] { MPI_Allgather(x, n, MPI_FLOAT, y, n, MPI_FLOAT, MPI_COMM_WORLD); };
    if (name == "alltoall") return [=] { MPI_Alltoall(x, n, MPI_FLOAT, y, n, MPI_FLOAT, MPI_COMM_WORLD); };
    if (name == "barrier") return [] { MPI_Barrier(MPI_COMM_WORLD); };
    throw std::runtime_error(fmt::format("there is no collective \"{}\"", name));
  }
  std::function<void()> ours(const std::string& name, const stretto_options* o) {
    float *x = x_.data(), *y = y_.data();
    const std::size_t n = n_;
    if (name == "allreduce")
      return [=, this] { checked(stretto_allreduce(x, y, n, STRETTO_F32, STRETTO_SUM, comm_, o)); };
    if (name == "bcast") return [=, this] { checked(stretto_bcast(x, n, STRETTO_F32, 0, comm_, o)); };
    if (name == "reduce") return [=, this] { checked(stretto_reduce(x, y, n, STRETTO_F32, STRETTO_SUM, 0, comm_, o)); };
    if (name == "allgather") return [=, this] { checked(stretto_allgather(x, y, n, STRETTO_F32, comm_, o)); };
    if (name == "alltoall") return [=, this] { checked(stretto_alltoall(x, y, n, STRETTO_F32, comm_, o)); };
    return [=, this] { checked(stretto_barrier(comm_, o)); };
  }
  // True if the hosts' memory serves the collective; equal on all ranks.
  bool serves(const std::string& collective) {
    try {
      ours(collective, &in_memory_)();
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }
  double batch(const std::function<void()>& call) const {
    call();
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    for (int i = 0; i < o_.calls; ++i) call();
    return timing::largest(MPI_COMM_WORLD, (MPI_Wtime() - begun) / o_.calls * 1e6);
  }

  const Options& o_;
  timing::Writer* rows_;  // on rank 0
  int rank_ = 0, ranks_ = 1;
  stretto_comm comm_ = nullptr;
  stretto_options unchecked_ = STRETTO_OPTIONS_INIT, in_memory_ = STRETTO_OPTIONS_INIT,
                  checked_in_memory_ = STRETTO_OPTIONS_INIT;
  std::size_t n_ = 0;  // elements of an operand, or a block
  std::vector<float> x_, y_;
};

int run(int argc, char** argv, int rank) {
  Options o;
  CLI::App app{"Short collectives on several hosts; run it under mpirun, or see run_short.py"};
  app.option_defaults()->always_capture_default();
  app.add_option("--json", o.json, "append rows to this file");
  app.add_option("--place", o.place, "where the ranks are, in the case");
  app.add_option("--collectives", o.collectives)->delimiter(',');
  app.add_option("--sizes", o.sizes, "bytes")->delimiter(',');
  app.add_option("--calls", o.calls, "of a turn")->check(CLI::Range(1, 100000));
  app.add_option("--turns", o.turns, "of each contestant; the median counts")->check(CLI::Range(1, 100000));
  if (int code = 0; !parsed(app, argc, argv, rank == 0, &code)) return code;
  std::unique_ptr<timing::Writer> rows;
  if (rank == 0) rows = std::make_unique<timing::Writer>(o.json);
  Bench bench(o, rows.get());
  for (const std::string& collective : o.collectives) {
    if (collective == "barrier") {
      bench.measure(collective, 0);
      continue;
    }
    for (const int bytes : o.sizes) bench.measure(collective, bytes);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return stretto::mpi_main(argc, argv, "bench_short", run); }
