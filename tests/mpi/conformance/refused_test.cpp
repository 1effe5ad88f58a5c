// Arguments of one rank alone that the MPI may refuse: ranks stay in step, whatever the MPI says of them.
#include "suite.hpp"

using namespace mpi_test;

namespace {

constexpr int kTimes = 70;  // more than a communicator has calls before it is served

class OnACopy : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (ranks < 2) GTEST_SKIP() << "one rank is served by the MPI";
    root = ranks - 1;
    all.assign(size(ranks), -1);
  }
  // The communicator lasts: after some that are freed soon, the next would be served later.

  // After calls that make stretto's communicator.
  void begin() {
    for (int call = 0; call < kTimes; ++call) MPI_Barrier(comm);
  }
  std::vector<int> numbers() const {
    std::vector<int> expected(size(ranks));
    std::iota(expected.begin(), expected.end(), 0);
    return expected;
  }

  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, ranks = 1, root = 0;
  std::vector<int> all;
};

class Refused : public OnACopy, public testing::WithParamInterface<int> {};
class Shared : public OnACopy {};

}  // namespace

// The communicator's error handler has the error, not that of MPI_COMM_WORLD, which would end the program.
TEST_F(Shared, ABroadcastOfNoTypeIsTheMpisError) {
  begin();
  for (int call = 0; call < 3; ++call) {
    int value = 0;
    EXPECT_NE(MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, root, comm), MPI_SUCCESS);
  }
  MPI_Bcast(&root, 1, MPI_INT, 0, comm);
}

// The parameter: which call is wrong at its root, whose buffers are one.
TEST_P(Refused, CallsMayBeRepeatedByTheRankThatCalledWrongly) {
  for (int call = 0; call < kTimes; ++call) {
    const bool wrong = call == GetParam() && rank == root;
    int sum = wrong ? rank + call : -1;
    const int mine = rank + call, expected = ranks * (ranks - 1) / 2 + ranks * call;
    if (MPI_Reduce(wrong ? &sum : &mine, &sum, 1, MPI_INT, MPI_SUM, root, comm) != MPI_SUCCESS) {
      ASSERT_TRUE(wrong);
      ASSERT_EQ(MPI_Reduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, root, comm), MPI_SUCCESS);
    }
    if (rank == root) {
      EXPECT_EQ(sum, expected) << "call " << call;
    }
  }
  for (int call = 0; call < kTimes; ++call) {
    int sum = -1;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT_EQ(sum, ranks * (ranks - 1) / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Call, Refused, testing::Values(0, 1, 2, 63, 64, 65, 68));

// Both sides begin at one address, but the rank's own block lies elsewhere.
TEST_F(Shared, AddressesOfAGather) {
  begin();
  all[0] = rank;
  EXPECT_EQ(MPI_Gather(all.data(), 1, MPI_INT, all.data(), 1, MPI_INT, root, comm), MPI_SUCCESS);
  if (rank == root) {
    EXPECT_EQ(all, numbers());
  }
}

TEST_F(Shared, AddressesOfAScatter) {
  begin();
  if (rank == root) all = numbers();
  std::vector<int> expected = all;
  expected[0] = rank;
  EXPECT_EQ(MPI_Scatter(all.data(), 1, MPI_INT, all.data(), 1, MPI_INT, root, comm), MPI_SUCCESS);
  EXPECT_EQ(all, expected);
}

TEST_F(Shared, AddressesOfAnAllgatherOnOneRank) {
  begin();
  all[0] = rank;
  const int own = rank;
  const void* send = rank == root ? all.data() : &own;
  EXPECT_EQ(MPI_Allgather(send, 1, MPI_INT, all.data(), 1, MPI_INT, comm), MPI_SUCCESS);
  EXPECT_EQ(all, numbers());
}

TEST_F(Shared, AddressesOfAnAllgathervOnOneRank) {
  begin();
  all[0] = rank;
  const int own = rank;
  const void* send = rank == root ? all.data() : &own;
  const std::vector<int> counts(size(ranks), 1), displs = numbers();
  EXPECT_EQ(MPI_Allgatherv(send, 1, MPI_INT, all.data(), counts.data(), displs.data(), MPI_INT, comm), MPI_SUCCESS);
  EXPECT_EQ(all, numbers());
}
