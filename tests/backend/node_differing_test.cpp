// In a host's shared memory ranks that differ are told so, with agreement and without; those that stay away are named.
#include "one_backend.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

// Where each rank sends, and assumes another root, it need not detect the difference in that call. The next agreement
// informs all of them.
TEST_F(NodeBackend, TheNextAgreementReportsUncheckedMismatches) {
  if (ranks == 1) GTEST_SKIP() << "one rank does not differ";
  std::int32_t x = 1, sum = 0;
  const auto meet = [&] { return stretto_allreduce(&x, &sum, 1, STRETTO_I32, STRETTO_SUM, comm, nullptr); };
  for (int k = 0; k < 3; ++k) ASSERT_STRETTO_OK(meet());
  node.check = 0;
  stretto_status s = stretto_bcast(&x, 1, STRETTO_I32, rank, comm, &node);  // another rank may have found it by then
  if (s == STRETTO_OK) s = meet();
  EXPECT_EQ(s, STRETTO_INCOMPATIBLE);
  EXPECT_NE(std::string(stretto_message()).find("(root)"), std::string::npos) << stretto_message();
  EXPECT_NE(meet(), STRETTO_OK) << "nobody knows what the calls before gave";
}

TEST_F(NodeBackend, RanksThatDifferAreToldWithoutAnExchange) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  node.check = 0;
  node.timeout = 60;
  std::vector<float> x(9, 1.0F), y(9);
  const std::size_t n = rank == 0 ? 9 : 5;
  EXPECT_EQ(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &node), STRETTO_INCOMPATIBLE);
  const std::string why = stretto_message();
  EXPECT_NE(why.find("bytes 36"), std::string::npos) << why;
  EXPECT_NE(why.find("bytes 20"), std::string::npos) << why;
  EXPECT_NE(stretto_barrier(comm, &node), STRETTO_OK);  // the state of the others is uncertain
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(NodeBackend, AgreementNamesMismatchesAndErrorsAndCallsGoOn) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  std::vector<float> x(9, 1.0F), y(9);
  const auto works = [&] {
    for (int again = 0; again < 3; ++again) {
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 9, STRETTO_F32, STRETTO_SUM, comm, &node));
      EXPECT_EQ(y, std::vector<float>(9, static_cast<float>(ranks)));
      EXPECT_STREQ(report.algorithm, "node");
    }
  };
  works();
  for (int again = 0; again < 3; ++again) {
    const std::size_t n = rank == 0 ? 9 : 5;
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &node), STRETTO_INCOMPATIBLE);
    EXPECT_NE(std::string(stretto_message()).find("count differs: 5 on rank 1, 9 on rank 0"), std::string::npos)
        << stretto_message();
    works();
  }
  float* out = rank == 0 ? nullptr : y.data();
  EXPECT_EQ(stretto_allreduce(x.data(), out, 9, STRETTO_F32, STRETTO_SUM, comm, &node), STRETTO_INVALID_ARGUMENT);
  EXPECT_NE(std::string(stretto_message()).find("recvbuf is NULL"), std::string::npos) << stretto_message();
  works();
  if (rank == 0) {
    EXPECT_EQ(stretto_barrier(comm, nullptr), STRETTO_INCOMPATIBLE);
  } else {
    EXPECT_EQ(stretto_bcast(x.data(), 9, STRETTO_F32, 0, comm, nullptr), STRETTO_INCOMPATIBLE);
  }
  works();
}

TEST_F(NodeBackend, BlockingAndStartedFormsThatMeetAreToldOnAllRanks) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  std::vector<float> x(4, 1.0F), y(4);
  stretto_status s = STRETTO_OK;
  if (rank == 0) {
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, comm, nullptr, &r));
    s = stretto_wait(r);
    ASSERT_STRETTO_OK(stretto_request_free(&r));
  } else {
    s = stretto_allreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, comm, nullptr);
  }
  EXPECT_EQ(s, STRETTO_INCOMPATIBLE);
  EXPECT_NE(std::string(stretto_message()).find("collective differs"), std::string::npos) << stretto_message();
  // Later calls run without the shared memory.
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.report = &report;
  for (int again = 0; again < 3; ++again) {
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(y, std::vector<float>(4, static_cast<float>(ranks)));
    EXPECT_STRNE(report.algorithm, "node");
  }
}

// The memory ends while a blocking call of rank 0 waits in line; the others make that call when they know of the end.
TEST_F(NodeBackend, AQueuedCallRunsAsOnOtherRanksWhenMemoryEnds) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  const std::size_t count = 100000;
  const auto x = samples<float>(rank, count);
  std::vector<float> y(count), z(count);
  for (const bool bounded : {false, true})
    for (const int check : {1, 0}) {
      if (bounded && check == 0) continue;  // ranks need not know of the same samples then
      stretto_comm own = nullptr;
      ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &own));
      stretto_options o = STRETTO_OPTIONS_INIT;
      o.check = check;
      o.timeout = 60;
      if (bounded) o.bound_kind = STRETTO_BOUND_RELATIVE, o.bound = 1e-3;
      stretto_status differing = STRETTO_OK;
      if (rank == 0) {
        stretto_request r = nullptr;
        ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), count, STRETTO_F32, STRETTO_SUM, own, nullptr, &r));
        ASSERT_STRETTO_OK(stretto_allreduce(x.data(), z.data(), count, STRETTO_F32, STRETTO_SUM, own, &o));
        differing = stretto_wait(r);
        ASSERT_STRETTO_OK(stretto_request_free(&r));
      } else {
        differing = stretto_allreduce(x.data(), y.data(), count, STRETTO_F32, STRETTO_SUM, own, nullptr);
        ASSERT_STRETTO_OK(stretto_allreduce(x.data(), z.data(), count, STRETTO_F32, STRETTO_SUM, own, &o));
      }
      EXPECT_EQ(differing, STRETTO_INCOMPATIBLE);
      for (std::size_t i = 0; i < count; i += 997)
        EXPECT_NEAR(z[i], sum_at<double>(i), bounded ? 1e3 : 1e-2) << (bounded ? "with a bound, " : "") << check;
      ASSERT_STRETTO_OK(stretto_comm_free(own));
    }
}

TEST_F(NodeBackend, RepeatedCallsGoOnWithoutTheMemoryAfterItsEnd) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  stretto_comm own = nullptr;
  create_unmeasured(&own);
  constexpr std::size_t n = 300;
  const auto x = samples<double>(rank, n);
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.report = &report;
  const auto repeat = [&](int check) {
    o.check = check;
    for (int again = 0; again < 3; ++again) {
      std::vector<double> y(n);
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, own, &o));
      EXPECT_EQ(y, sums<double>(n));
    }
  };
  repeat(1);
  repeat(0);
  EXPECT_STREQ(report.algorithm, "node");
  std::vector<double> y(n);
  stretto_status s = STRETTO_OK;
  if (rank == 0) {
    s = stretto_allreduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, own, nullptr);
  } else {
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, own, nullptr, &r));
    s = stretto_wait(r);
    ASSERT_STRETTO_OK(stretto_request_free(&r));
  }
  EXPECT_EQ(s, STRETTO_INCOMPATIBLE);
  repeat(0);
  EXPECT_STRNE(report.algorithm, "node");
  repeat(1);
  EXPECT_STRNE(report.algorithm, "node");
  ASSERT_STRETTO_OK(stretto_comm_free(own));
}

TEST_F(NodeBackend, WhoStaysAwayIsNamedWithinTheLimit) {
  if (ranks == 1) GTEST_SKIP() << "nobody is waited for";
  node.check = 0;
  node.timeout = 0.2;
  std::vector<float> x(9, 1.0F), y(9);
  if (rank != 0) {
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 9, STRETTO_F32, STRETTO_SUM, comm, &node), STRETTO_TIMEOUT);
    EXPECT_NE(std::string(stretto_message()).find("for rank 0"), std::string::npos) << stretto_message();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}
