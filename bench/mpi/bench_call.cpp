// bench_call: overhead of a small blocking call of stretto over the MPI's own collective, in which it ends: the path
// through the C API. The two alternate in batches, and the difference of their medians is the overhead. Started under
// mpirun; calls have check = 0.
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

struct Pair {
  std::string name;
  std::function<void()> theirs, ours;
};

class Bench {
 public:
  explicit Bench(int batches) : batches_(batches) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    const std::size_t most = 1024 * static_cast<std::size_t>(ranks_);
    x_.assign(most, 1.0F);
    y_.assign(most, 0.0F);
    checked(stretto_comm_create(MPI_COMM_WORLD, &comm_));
    unchecked_.check = 0;
  }
  ~Bench() { static_cast<void>(stretto_comm_free(comm_)); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void run(timing::Writer* rows) {
    for (const int count : {2, 256}) {
      for (const Pair& pair : pairs(count)) compare(pair, count * sizeof(float), rows);
    }
    compare({"barrier", [] { MPI_Barrier(MPI_COMM_WORLD); }, [this] { checked(stretto_barrier(comm_, &unchecked_)); }},
            0, rows);
  }

 private:
  static void checked(stretto_status s) {
    if (s != STRETTO_OK) throw std::runtime_error(stretto_message());
  }

  std::vector<Pair> pairs(int n) {
    const auto count = static_cast<std::size_t>(n);
    float *x = x_.data(), *y = y_.data();
    const stretto_options* o = &unchecked_;
    return {
        {"allreduce", [=] { MPI_Allreduce(x, y, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); },
         [=, this] { checked(stretto_allreduce(x, y, count, STRETTO_F32, STRETTO_SUM, comm_, o)); }},
        {"bcast", [=] { MPI_Bcast(x, n, MPI_FLOAT, 0, MPI_COMM_WORLD); },
         [=, this] { checked(stretto_bcast(x, count, STRETTO_F32, 0, comm_, o)); }},
        {"reduce", [=] { MPI_Reduce(x, y, n, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD); },
         [=, this] { checked(stretto_reduce(x, y, count, STRETTO_F32, STRETTO_SUM, 0, comm_, o)); }},
        {"allgather", [=] { MPI_Allgather(x, n, MPI_FLOAT, y, n, MPI_FLOAT, MPI_COMM_WORLD); },
         [=, this] { checked(stretto_allgather(x, y, count, STRETTO_F32, comm_, o)); }},
        {"reduce_scatter", [=] { MPI_Reduce_scatter_block(x, y, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); },
         [=, this] { checked(stretto_reduce_scatter_block(x, y, count, STRETTO_F32, STRETTO_SUM, comm_, o)); }},
        {"alltoall", [=] { MPI_Alltoall(x, n, MPI_FLOAT, y, n, MPI_FLOAT, MPI_COMM_WORLD); },
         [=, this] { checked(stretto_alltoall(x, y, count, STRETTO_F32, comm_, o)); }},
    };
  }

  // Nanoseconds of one call of `f`; the slowest rank's.
  double batch(const std::function<void()>& f, int calls) const {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    for (int i = 0; i < calls; ++i) f();
    return timing::largest(MPI_COMM_WORLD, (MPI_Wtime() - begun) / calls * 1e9);
  }

  void compare(const Pair& pair, std::size_t bytes, timing::Writer* rows) const {
    const double first = batch(pair.theirs, 10);
    static_cast<void>(batch(pair.ours, 10));
    const int calls = std::clamp(static_cast<int>(200e3 / first), 10, 2000);
    std::vector<double> theirs, ours;
    for (int k = 0; k < batches_; ++k) {
      theirs.push_back(batch(pair.theirs, calls));
      ours.push_back(batch(pair.ours, calls));
    }
    if (rank_ != 0) return;
    const double own = timing::median(theirs), ms = timing::median(ours);
    timing::Row row{.bench = "call",
                    .subject = fmt::format("{} {} B a rank, {} ranks", pair.name, bytes, ranks_),
                    .metric = "ns",
                    .value = ms,
                    .unit = "ns",
                    .better = timing::Better::smaller,
                    .peer = timing::Peer{"MPI " + timing::mpi_version(), own}};
    row.fields["over_ns"] = ms - own;
    rows->write(row);
  }

  int batches_;
  int rank_ = 0, ranks_ = 1;
  stretto_comm comm_ = nullptr;
  stretto_options unchecked_ = STRETTO_OPTIONS_INIT;
  std::vector<float> x_, y_;
};

int run(int argc, char** argv, int rank) {
  std::string json;
  int batches = 201;
  CLI::App app{"What the way through the C API costs a small call; run it under mpirun"};
  app.option_defaults()->always_capture_default();
  app.add_option("--json", json, "append rows to this file");
  app.add_option("--batches", batches, "of each kind; the median counts")->check(CLI::Range(1, 100000));
  if (int code = 0; !parsed(app, argc, argv, rank == 0, &code)) return code;
  std::unique_ptr<timing::Writer> rows;
  if (rank == 0) rows = std::make_unique<timing::Writer>(json);
  Bench(batches).run(rows.get());
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return stretto::mpi_main(argc, argv, "bench_call", run); }
