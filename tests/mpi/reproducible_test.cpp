// A program unaware of stretto, under STRETTO_REPRODUCIBLE=1: every floating-point sum is ((x0 + x1) + x2) + ..., for
// any placement of the ranks, any length, and first or later calls of a communicator.
//
// usage: mpi_reproducible_test [LIBRARY]    LIBRARY: the program is not preloaded yet, and preloads this library
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "../launched.hpp"
#include "../one_by_one.hpp"

namespace {

int rank = 0, ranks = 1;

void ask_where() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

template <class T>
void every_sum(MPI_Comm comm, MPI_Datatype type, std::size_t n) {
  const std::size_t all = n * static_cast<std::size_t>(ranks), own = n * static_cast<std::size_t>(rank);
  const std::vector<T> mine = rough<T>(rank, all), sum = one_by_one<T>(ranks, all);
  std::vector<T> got(all);
  const int count = static_cast<int>(n);
  const auto right = [&](const T* from, std::size_t at, std::size_t length) {
    return std::memcmp(sum.data() + at, from, length * sizeof(T)) == 0;
  };
  MPI_Allreduce(mine.data(), got.data(), count, type, MPI_SUM, comm);
  EXPECT_TRUE(right(got.data(), 0, n)) << "allreduce of " << n;
  const int root = ranks / 2;
  MPI_Reduce(mine.data(), got.data(), count, type, MPI_SUM, root, comm);
  EXPECT_TRUE(rank != root || right(got.data(), 0, n)) << "reduce of " << n;
  MPI_Reduce_scatter_block(mine.data(), got.data(), count, type, MPI_SUM, comm);
  EXPECT_TRUE(right(got.data(), own, n)) << "reduce_scatter_block of " << n;
  const std::vector<int> counts(static_cast<std::size_t>(ranks), count);
  MPI_Reduce_scatter(mine.data(), got.data(), counts.data(), type, MPI_SUM, comm);
  EXPECT_TRUE(right(got.data(), own, n)) << "reduce_scatter of " << n;
  const auto first = [&](int so_many) {
    const std::vector<T> prefix = one_by_one<T>(so_many, all);
    return std::memcmp(prefix.data(), got.data(), n * sizeof(T)) == 0;
  };
  MPI_Scan(mine.data(), got.data(), count, type, MPI_SUM, comm);
  EXPECT_TRUE(first(rank + 1)) << "scan of " << n;
  MPI_Exscan(mine.data(), got.data(), count, type, MPI_SUM, comm);
  EXPECT_TRUE(rank == 0 || first(rank)) << "exscan of " << n;
}

}  // namespace

TEST(Reproducible, SumsAreRankByRankFromTheFirstCallOn) {
  ask_where();
  for (const std::size_t n : {std::size_t{1}, std::size_t{5}, std::size_t{3000}, std::size_t{70000}}) {
    MPI_Comm fresh;
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    for (int again = 0; again < 3; ++again) {
      every_sum<float>(fresh, MPI_FLOAT, n);
      every_sum<double>(fresh, MPI_DOUBLE, n);
    }
    MPI_Comm_free(&fresh);
  }
}

int main(int argc, char** argv) {
  if (argc > 1 && argv[1][0] == '/' && !std::getenv("LD_PRELOAD")) {
    setenv("LD_PRELOAD", argv[1], 1);
    setenv("STRETTO_REPRODUCIBLE", "1", 1);
    execv("/proc/self/exe", argv);
    return 1;
  }
  return run_on_launched_ranks(argc, argv);
}
