// A program unaware of stretto. Its sums lie in device memory, which the host cannot access: on all ranks, then on rank
// 1 alone. The last sums lie in memory that only the driver's stand-in attributes to a device.
//
// usage: mpi_device_sums [gpu]    on a GPU the driver is real, and the last sums are skipped
#include "device_memory.hpp"

using namespace mpi_test;

extern "C" int cuMemAlloc_v2(std::uintptr_t* given, std::size_t bytes);

namespace {

constexpr int kN = 20'000;
constexpr double kBound = 1e-3, kRounding = 1e-5;

void expect_sum(const std::vector<float>& got, std::size_t from, const char* what) {
  for (std::size_t i = 0; i < kN; ++i) {
    double sum = 0;
    for (int r = 0; r < ranks; ++r) sum += static_cast<double>(value(r, from + i));
    if (!(std::fabs(static_cast<double>(got[i]) - sum) <= kBound + kRounding)) stop(what);
  }
}

void sums(bool device) {
  const auto all = static_cast<std::size_t>(kN * ranks);
  Vector x(device, values(rank, kN)), sum(device, kN), blocks(device, values(rank, all)), block(device, kN);
  MPI_Allreduce(x.data(), sum.data(), kN, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  expect_sum(sum.read(), 0, "allreduce");
  sum.write(values(rank, kN));
  MPI_Allreduce(MPI_IN_PLACE, sum.data(), kN, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  expect_sum(sum.read(), 0, "allreduce in place");
  const bool root = rank == ranks - 1;
  MPI_Reduce(x.data(), root ? sum.data() : nullptr, kN, MPI_FLOAT, MPI_SUM, ranks - 1, MPI_COMM_WORLD);
  if (root) expect_sum(sum.read(), 0, "reduce");
  MPI_Reduce_scatter_block(blocks.data(), block.data(), kN, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  expect_sum(block.read(), static_cast<std::size_t>(kN * rank), "reduce_scatter_block");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  find_ranks();
  sums(true);
  sums(rank == 1);
  if (argc > 1) return MPI_Finalize();
  std::uintptr_t of_driver = 0;
  if (cuMemAlloc_v2(&of_driver, kN * sizeof(float)) != 0) stop("no memory of the driver");
  const std::vector<float> x = values(rank, kN);
  auto* const sum = reinterpret_cast<float*>(of_driver);
  MPI_Allreduce(x.data(), sum, kN, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  expect_sum({sum, sum + kN}, 0, "allreduce in memory of the driver");
  std::vector<float> most(kN);
  MPI_Allreduce(x.data(), most.data(), kN, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
