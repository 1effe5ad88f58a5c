// A host's shared memory beside other work: started collectives, and the MPI's own messages, which progress while ranks
// wait.
#include "one_backend.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

TEST_F(NodeBackend, StartedFormsWithFunctionsOfTheUsersAreNotItsOwn) {
  std::vector<float> x(4, 1.0F), y(4);
  stretto_request r = nullptr;
  node.report = nullptr;
  node.user_function = [](const void*, void*, size_t, stretto_type, void*) {};
  ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_USER, comm, &node, &r));
  EXPECT_EQ(stretto_wait(r), STRETTO_UNSUPPORTED);
  ASSERT_STRETTO_OK(stretto_request_free(&r));
}

TEST_F(NodeBackend, LetsWhatWasStartedBeforeItEnd) {
  constexpr std::size_t n = 30000;
  const auto x = samples<double>(rank, n);
  const auto expected = sums<double>(n);
  for (const int check : {1, 0}) {
    stretto_options ours = STRETTO_OPTIONS_INIT;
    ours.schedule = "ring";
    ours.check = node.check = check;
    std::vector<std::vector<double>> y(4, std::vector<double>(n));
    std::vector<stretto_request> requests(3, nullptr);
    for (std::size_t k = 0; k < 3; ++k)
      ASSERT_STRETTO_OK(
          stretto_iallreduce(x.data(), y[k].data(), n, STRETTO_F64, STRETTO_SUM, comm, &ours, &requests[k]));
    // Odd ranks wait for one of them first, even ranks for none.
    if (rank % 2) {
      ASSERT_STRETTO_OK(stretto_wait(requests[1]));
    }
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y[3].data(), n, STRETTO_F64, STRETTO_SUM, comm, &node));
    EXPECT_STREQ(report.algorithm, "node");
    for (auto& r : requests) {
      ASSERT_STRETTO_OK(stretto_wait(r));
      ASSERT_STRETTO_OK(stretto_request_free(&r));
    }
    for (const auto& v : y) EXPECT_EQ(v, expected);
  }
}

TEST_F(NodeBackend, BarriersMeetWhetherOrNotSomethingIsInFlight) {
  constexpr std::size_t n = 30000;
  const auto x = samples<double>(rank, n);
  std::vector<double> y(n);
  for (int again = 0; again < 3; ++again) {
    stretto_options ours = STRETTO_OPTIONS_INIT;
    ours.schedule = "ring";
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, comm, &ours, &r));
    if (rank % 2) {
      ASSERT_STRETTO_OK(stretto_wait(r));
    }
    ASSERT_STRETTO_OK(stretto_barrier(comm, nullptr));
    ASSERT_STRETTO_OK(stretto_barrier(comm, nullptr));
    double one = 1, all = 0;
    ASSERT_STRETTO_OK(stretto_allreduce(&one, &all, 1, STRETTO_F64, STRETTO_SUM, comm, &node));
    EXPECT_EQ(all, ranks);
    ASSERT_STRETTO_OK(stretto_wait(r));
    ASSERT_STRETTO_OK(stretto_request_free(&r));
    EXPECT_EQ(y, sums<double>(n));
  }
}

// Rank 0 posts a receive and broadcasts; rank 1, the root, first sends a long message. Its send completes only if rank
// 0 progresses the MPI inside its wait.
TEST_F(NodeBackend, TheMpiProgressesWhileARankWaits) {
  if (ranks == 1) GTEST_SKIP() << "nobody sends";
  constexpr int n = 1 << 22;
  std::vector<int> message(n, rank);
  node.check = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) MPI_Irecv(message.data(), n, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Send(message.data(), n, MPI_INT, 0, 5, MPI_COMM_WORLD);
  std::int32_t x = rank == 1 ? 17 : 0;
  ASSERT_STRETTO_OK(stretto_bcast(&x, 1, STRETTO_I32, 1, comm, &node));
  EXPECT_EQ(x, 17);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 0) {
    EXPECT_EQ(message.back(), 1);
  }
}

// The MPI's own started collective keeps no limit, so what waits for it must.
TEST_F(NodeBackend, ABlockingCallsLimitCoversEarlierRequests) {
  if (ranks == 1) GTEST_SKIP() << "nobody is waited for";
  for (const int check : {1, 0}) {
    stretto_comm own = nullptr;
    ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &own));
    std::vector<float> x(9, 1.0F), y(9);
    stretto_options started = STRETTO_OPTIONS_INIT, o = node;
    started.schedule = "native";
    started.check = 0;
    o.report = nullptr;
    o.check = check;
    o.timeout = 0.2;
    stretto_request r = nullptr;
    if (rank == 0) {
      ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), 9, STRETTO_F32, STRETTO_SUM, own, &started, &r));
      EXPECT_EQ(stretto_barrier(own, &o), STRETTO_TIMEOUT);
      EXPECT_NE(std::string(stretto_message()).find("barrier waits for allreduce of 9 elements"), std::string::npos)
          << stretto_message();
      EXPECT_EQ(stretto_barrier(own, &o), STRETTO_TIMEOUT);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) {
      ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), 9, STRETTO_F32, STRETTO_SUM, own, &started, &r));
    }
    ASSERT_STRETTO_OK(stretto_wait(r));  // it was under way, and ends well
    EXPECT_EQ(y, std::vector<float>(9, static_cast<float>(ranks)));
    ASSERT_STRETTO_OK(stretto_request_free(&r));
    ASSERT_STRETTO_OK(stretto_comm_free(own));
  }
}
