// Floating-point sums under STRETTO_BOUND (the first argument: the bound, absolute) are within it, and nothing else
// changes. The launcher's rules force streams. "Later" tests run without that bound, by their own rules.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "../launched.hpp"
#include "conformance/suite.hpp"

using namespace mpi_test;

namespace {

double bound = 0;
constexpr int kN = 20000;

// `rounding`: of a value of the sum, by each rank.
template <class T>
void within(MPI_Datatype type, MPI_Comm comm, double limit, double rounding = 1e-6) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const auto x = rough<T>(rank);
  std::vector<T> ours(kN), theirs(kN);
  ASSERT_EQ(MPI_Allreduce(x.data(), ours.data(), kN, type, MPI_SUM, comm), MPI_SUCCESS);
  PMPI_Allreduce(x.data(), theirs.data(), kN, type, MPI_SUM, comm);
  rounding *= ranks;
  EXPECT_LE(difference(ours, theirs), limit + rounding);
  if (ranks > 1) {
    EXPECT_GT(difference(ours, theirs), rounding);  // streams did travel
  }
}

}  // namespace

TEST(Bounded, SumsOfFloatingNumbersAreWithinTheBound) {
  within<float>(MPI_FLOAT, MPI_COMM_WORLD, bound);
  within<double>(MPI_DOUBLE, MPI_COMM_WORLD, bound);
}

TEST(Bounded, OtherOperationsAndIntegersAreExact) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto x = rough<double>(rank);
  std::vector<double> ours(kN), theirs(kN);
  MPI_Allreduce(x.data(), ours.data(), kN, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  PMPI_Allreduce(x.data(), theirs.data(), kN, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_EQ(ours, theirs);
  const auto y = values<int>(rank, kN);
  std::vector<int> our_ints(kN), their_ints(kN);
  MPI_Allreduce(y.data(), our_ints.data(), kN, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  PMPI_Allreduce(y.data(), their_ints.data(), kN, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(our_ints, their_ints);
  auto sent = x;
  MPI_Bcast(sent.data(), kN, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  EXPECT_EQ(sent, rough<double>(0));
}

TEST(Bounded, AnInfoKeyGoesBeforeTheEnvironment) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "stretto_bound", "abs:1e-9");
  MPI_Comm comm = MPI_COMM_NULL, copy = MPI_COMM_NULL;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const auto x = rough<double>(rank);
  std::vector<double> ours(kN), theirs(kN);
  PMPI_Allreduce(x.data(), theirs.data(), kN, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Allreduce(x.data(), ours.data(), kN, MPI_DOUBLE, MPI_SUM, comm);
  EXPECT_LE(difference(ours, theirs), 1e-9 + 1e-12);
  MPI_Info_set(info, "stretto_bound", "none");
  MPI_Comm_set_info(comm, info);
  within<double>(MPI_DOUBLE, comm, bound);  // that of the environment again
  MPI_Comm_dup(comm, &copy);
  within<double>(MPI_DOUBLE, copy, bound);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
  MPI_Info_free(&info);
}

TEST(Bounded, AnInfoKeyCountsHoweverTheCommunicatorIsMade) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "stretto_bound", "abs:1e-9");
  std::vector<MPI_Comm> made(1, MPI_COMM_NULL);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, info, &made[0]);
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
  made.resize(4, MPI_COMM_NULL);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_create_from_group(all, "org.stretto.test", info, MPI_ERRORS_ARE_FATAL, &made[1]);
  MPI_Group_free(&all);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &made[2], &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_idup_with_info(made[2], info, &made[3], &request);  // of one that has it by the same way
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
  for (std::size_t i = 0; i < made.size(); ++i) {
    SCOPED_TRACE(i);
    within<double>(MPI_DOUBLE, made[i], 1e-9, 1e-12);
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(made[i], &copy);
    within<double>(MPI_DOUBLE, copy, bound);  // that of the environment
    MPI_Comm_free(&copy);
  }
  for (MPI_Comm& comm : made) MPI_Comm_free(&comm);
  within<double>(MPI_DOUBLE, MPI_COMM_WORLD, bound);
  MPI_Info_free(&info);
}

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
// An MPI may give the handle of a communicator that was never used to the next one.
TEST(Bounded, ACommunicatorHasNothingOfOneThatBoreItsHandle) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "stretto_bound", "abs:1e-9");
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  within<double>(MPI_DOUBLE, comm, bound);
  MPI_Comm_free(&comm);
  MPI_Info_free(&info);
}
#endif

// 2,800 bytes per block make a vector of more than 16 KiB. Values are so large that sums in float32 would exceed the
// bound.
TEST(Blocks, ABoundHoldsForVectorsOfSeveralShortBlocks) {
  constexpr int block = 700;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::vector<int> counts(size(ranks), block);
  const auto all = [&](int r) {
    std::vector<float> x = rough<float>(r, block * ranks);
    for (float& v : x) v *= 1e4F;
    return x;
  };
  const std::vector<float> x = all(rank);
  std::vector<double> exact(block, 0);
  for (int r = 0; r < ranks; ++r) {
    const std::vector<float> theirs = all(r);
    for (int i = 0; i < block; ++i) exact[size(i)] += theirs[size(rank * block + i)];
  }
  std::vector<float> by_count(block), by_counts(block);
  for (int call = 0; call < 5; ++call) {
    MPI_Reduce_scatter_block(x.data(), by_count.data(), block, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter(x.data(), by_counts.data(), counts.data(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < block; ++i) {
      const double limit = bound + std::fabs(exact[size(i)]) * 0x1p-24 * (1 + 1e-6);
      ASSERT_LE(std::fabs(by_count[size(i)] - exact[size(i)]), limit) << i;
      ASSERT_LE(std::fabs(by_counts[size(i)] - exact[size(i)]), limit) << i;
    }
  }
}

// The MPI serves short sums until the links between hosts are known.
TEST(Blocks, SumsOfUpTo16KiBAreTheMpisAtFirst) {
  constexpr int n = 2048;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const auto x = rough<double>(rank, n);
  std::vector<double> ours(n), theirs(n);
  for (int call = 0; call < 2; ++call) {
    MPI_Allreduce(x.data(), ours.data(), n, MPI_DOUBLE, MPI_SUM, comm);
    PMPI_Allreduce(x.data(), theirs.data(), n, MPI_DOUBLE, MPI_SUM, comm);
    EXPECT_EQ(ours, theirs);
  }
  MPI_Comm_free(&comm);
}

// Without a bound in the environment.
TEST(Later, ABoundHoldsForCallsThatWentExactBefore) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const auto x = values<float>(rank, kN);
  std::vector<float> ours(kN), theirs(kN);
  const auto exact = [&] {
    MPI_Allreduce(x.data(), ours.data(), kN, MPI_FLOAT, MPI_SUM, comm);
    PMPI_Allreduce(x.data(), theirs.data(), kN, MPI_FLOAT, MPI_SUM, comm);
    EXPECT_EQ(ours, theirs);
  };
  for (int k = 0; k < 600; ++k) exact();  // the library tries several ways first
  MPI_Info_set(info, "stretto_bound", "abs:1e-3");
  MPI_Comm_set_info(comm, info);
  within<float>(MPI_FLOAT, comm, bound);
  MPI_Info_set(info, "stretto_bound", "none");
  MPI_Comm_set_info(comm, info);
  exact();
  MPI_Comm_free(&comm);
  MPI_Info_free(&info);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  bound = argc > 1 ? std::atof(argv[1]) : 0;
  const int any = failed_anywhere(RUN_ALL_TESTS());
  MPI_Finalize();
  return any;
}
