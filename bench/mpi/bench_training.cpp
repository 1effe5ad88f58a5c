// An ordinary program without knowledge of stretto: workers that sum their gradients in every training step, and wait
// for the sum. run_training.py runs it plain and under the profiling library.
//
// usage: bench_training FLOATS STEPS     prints "step MS sum VALUE": the median time of a step of the slowest rank, and
// a sum over the model, which differs between an exact result and a bounded one.
#include <mpi.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "timing/rows.hpp"

namespace {

// A worker's gradient: small numbers around zero, whose scale changes slowly over the layers.
void gradient(std::vector<float>* g, int rank, int step) {
  std::uint64_t state = 0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(1 + rank) + static_cast<std::uint64_t>(step);
  const double n = static_cast<double>(g->size());
  for (std::size_t i = 0; i < g->size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double noise = static_cast<double>(static_cast<std::int64_t>(state)) * 0x1p-63;
    (*g)[i] = static_cast<float>(noise * noise * noise * (1.1 + std::sin(40 * static_cast<double>(i) / n)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long floats = argc > 1 ? std::atol(argv[1]) : 0, steps = argc > 2 ? std::atol(argv[2]) : 0;
  if (floats < 1 || floats > 1L << 30 || steps < 1) {
    if (rank == 0) std::fprintf(stderr, "usage: bench_training FLOATS (1 to 2^30) STEPS\n");
    MPI_Finalize();
    return 2;
  }
  const auto n = static_cast<std::size_t>(floats);
  std::vector<float> own(n), all(n), model(n, 0.0F);
  std::vector<double> ms;
  for (long step = 0; step < steps; ++step) {
    gradient(&own, rank, static_cast<int>(step));
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    MPI_Allreduce(own.data(), all.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - begun;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    ms.push_back(seconds * 1e3);
    for (std::size_t i = 0; i < n; ++i) model[i] -= 0.01F * all[i] / static_cast<float>(ranks);
  }
  double sum = 0;
  for (const float m : model) sum += m;
  if (rank == 0) std::printf("step %.6g sum %.9g\n", stretto::timing::median(ms), sum);
  MPI_Finalize();
  return 0;
}
