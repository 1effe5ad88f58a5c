// Float32 under a rule payload:bfloat16: rounded, with equal bits on all ranks where MPI has them, and nothing else.
#include <cmath>
#include <complex>
#include <cstring>

#include "../launched.hpp"
#include "conformance/suite.hpp"

using namespace mpi_test;

namespace {

constexpr int kN = 20000;

class Bfloat16 : public testing::Test {
 protected:
  Bfloat16() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }
  int rank = 0, ranks = 1;
};

template <class T>
bool equal_on_all(const std::vector<T>& x) {
  std::vector<T> first = x;
  PMPI_Bcast(first.data(), static_cast<int>(first.size() * sizeof(T)), MPI_BYTE, 0, MPI_COMM_WORLD);
  return std::memcmp(first.data(), x.data(), x.size() * sizeof(T)) == 0;
}

// Of sums of values of up to 1.07, with p roundings at most.
double most(int ranks) { return ranks * ranks * 1.07 * 0x1.1p-8; }

}  // namespace

TEST_F(Bfloat16, SumsOfFloatsAreRoundedAndEqualOnAllRanks) {
  const auto x = rough<float>(rank);
  std::vector<float> ours(kN), theirs(kN);
  for (const auto& [type, count] : {std::pair{MPI_FLOAT, kN}, std::pair{MPI_C_FLOAT_COMPLEX, kN / 2}}) {
    PMPI_Allreduce(x.data(), theirs.data(), count, type, MPI_SUM, MPI_COMM_WORLD);
    ASSERT_EQ(MPI_Allreduce(x.data(), ours.data(), count, type, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_LE(difference(ours, theirs), most(ranks));
    EXPECT_EQ(difference(ours, theirs) > 1e-4, ranks > 1);
    EXPECT_TRUE(equal_on_all(ours));
    MPI_Reduce(x.data(), ours.data(), count, type, MPI_SUM, ranks - 1, MPI_COMM_WORLD);
    if (rank == ranks - 1) {
      EXPECT_LE(difference(ours, theirs), most(ranks));
    }
  }
  const int block = kN / ranks;
  std::vector<float> mine(size(block)), exact(size(block));
  PMPI_Reduce_scatter_block(x.data(), exact.data(), block, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(x.data(), mine.data(), block, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_LE(difference(mine, exact), most(ranks));
}

TEST_F(Bfloat16, MovedFloatsAreRoundedOnce) {
  auto x = rough<float>(0);
  if (rank != 0) x.assign(kN, 0);
  ASSERT_EQ(MPI_Bcast(x.data(), kN, MPI_FLOAT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_LE(difference(x, rough<float>(0)), 1.07 * 0x1p-8);
  EXPECT_EQ(difference(x, rough<float>(0)) > 1e-4, ranks > 1);
  EXPECT_TRUE(equal_on_all(x));
  const auto mine = rough<float>(rank);
  std::vector<float> ours(size(kN * ranks)), theirs(size(kN * ranks));
  PMPI_Allgather(mine.data(), kN, MPI_FLOAT, theirs.data(), kN, MPI_FLOAT, MPI_COMM_WORLD);
  ASSERT_EQ(MPI_Allgather(mine.data(), kN, MPI_FLOAT, ours.data(), kN, MPI_FLOAT, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_LE(difference(ours, theirs), 1.07 * 0x1p-8);
  EXPECT_TRUE(equal_on_all(ours));
}

TEST_F(Bfloat16, OtherTypesAndOperationsAreExact) {
  const auto x = rough<double>(rank);
  std::vector<double> ours(kN), theirs(kN);
  for (const MPI_Op op : {MPI_MAX, MPI_MIN}) {
    PMPI_Allreduce(x.data(), theirs.data(), kN, MPI_DOUBLE, op, MPI_COMM_WORLD);
    ASSERT_EQ(MPI_Allreduce(x.data(), ours.data(), kN, MPI_DOUBLE, op, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(ours, theirs);
  }
  PMPI_Allreduce(x.data(), theirs.data(), kN, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(x.data(), ours.data(), kN, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_LE(difference(ours, theirs), 1e-12);
  auto sent = x;
  MPI_Bcast(sent.data(), kN, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  EXPECT_EQ(sent, rough<double>(0));
  const auto y = values<int>(rank, kN);
  std::vector<int> our_ints(kN), their_ints(kN);
  MPI_Allreduce(y.data(), our_ints.data(), kN, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  PMPI_Allreduce(y.data(), their_ints.data(), kN, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(our_ints, their_ints);
  const auto f = rough<float>(rank);
  std::vector<float> products(kN), exact(kN);
  MPI_Allreduce(f.data(), products.data(), kN, MPI_FLOAT, MPI_PROD, MPI_COMM_WORLD);
  PMPI_Allreduce(f.data(), exact.data(), kN, MPI_FLOAT, MPI_PROD, MPI_COMM_WORLD);
  EXPECT_LE(difference(products, exact), 1e-5);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  const int any = failed_anywhere(RUN_ALL_TESTS());
  MPI_Finalize();
  return any;
}
