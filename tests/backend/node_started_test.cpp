// Started collectives in a host's memory: every form, many in flight, waited for in any order, beside blocking ones,
// driven by the caller or by a communication core.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "one_backend.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class StartedNode : public NodeBackend, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    NodeBackend::SetUp();
    node.report = nullptr;
    if (!GetParam()) return;
    const int core = sched_getcpu();
    ASSERT_STRETTO_OK(stretto_comm_cores(&core, 1));
  }
  void TearDown() override {
    EXPECT_EQ(stretto_comm_cores(nullptr, 0), STRETTO_OK);
    NodeBackend::TearDown();
  }

  void end(stretto_request* r) {
    ASSERT_STRETTO_OK(stretto_wait(*r));
    ASSERT_STRETTO_OK(stretto_request_free(r));
  }
};

}  // namespace

TEST_P(StartedNode, EveryFormGivesWhatTheBlockingOneGives) {
  for (const int check : {1, 0}) {
    node.check = check;
    for (const std::size_t n : {1u, 37u, 3000u, 70000u}) {
      SCOPED_TRACE(n);
      const auto p = static_cast<std::size_t>(ranks), me = static_cast<std::size_t>(rank);
      const auto x = samples<double>(rank, n * p), sum = sums<double>(n * p);
      std::vector<double> y(n * p), mine(n), in_place = x, all(n * p), part(n), back(n), blocks(n * p);
      std::vector<double> news = rank == ranks - 1 ? x : std::vector<double>(n * p);
      const auto own = samples<double>(rank, n);
      std::vector<double> reduced(n * p), gathered(n * p);
      std::vector<stretto_request> r(9, nullptr);
      ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), n * p, STRETTO_F64, STRETTO_SUM, comm, &node, &r[0]));
      ASSERT_STRETTO_OK(
          stretto_iallreduce(STRETTO_IN_PLACE, in_place.data(), n * p, STRETTO_F64, STRETTO_SUM, comm, &node, &r[1]));
      ASSERT_STRETTO_OK(
          stretto_ireduce_scatter_block(x.data(), mine.data(), n, STRETTO_F64, STRETTO_SUM, comm, &node, &r[2]));
      ASSERT_STRETTO_OK(stretto_iallgather(own.data(), all.data(), n, STRETTO_F64, comm, &node, &r[3]));
      ASSERT_STRETTO_OK(stretto_ibcast(news.data(), n * p, STRETTO_F64, ranks - 1, comm, &node, &r[4]));
      ASSERT_STRETTO_OK(
          stretto_ireduce(x.data(), reduced.data(), n * p, STRETTO_F64, STRETTO_SUM, 0, comm, &node, &r[5]));
      ASSERT_STRETTO_OK(stretto_igather(own.data(), gathered.data(), n, STRETTO_F64, 0, comm, &node, &r[6]));
      ASSERT_STRETTO_OK(stretto_iscatter(x.data(), back.data(), n, STRETTO_F64, 0, comm, &node, &r[7]));
      ASSERT_STRETTO_OK(stretto_ialltoall(x.data(), blocks.data(), n, STRETTO_F64, comm, &node, &r[8]));
      for (std::size_t k = r.size(); k-- > 0;) end(&r[k]);  // the last one first
      const auto block = [&](const std::vector<double>& v, std::size_t b) {
        const auto at = v.begin() + static_cast<std::ptrdiff_t>(b * n);
        return std::vector<double>(at, at + static_cast<std::ptrdiff_t>(n));
      };
      EXPECT_EQ(y, sum);
      EXPECT_EQ(in_place, sum);
      EXPECT_EQ(mine, block(sum, me));
      EXPECT_EQ(news, samples<double>(ranks - 1, n * p));
      EXPECT_EQ(back, block(samples<double>(0, n * p), me));
      for (std::size_t s = 0; s < p; ++s) {
        EXPECT_EQ(block(all, s), samples<double>(static_cast<int>(s), n));
        EXPECT_EQ(block(blocks, s), block(samples<double>(static_cast<int>(s), n * p), me));
      }
      if (rank == 0) {
        EXPECT_EQ(reduced, sum);
        for (std::size_t s = 0; s < p; ++s) EXPECT_EQ(block(gathered, s), samples<double>(static_cast<int>(s), n));
      }
    }
  }
}

// Nobody tests or waits: the result comes by itself.
TEST_P(StartedNode, MovesWithoutTheCaller) {
  if (!GetParam()) GTEST_SKIP() << "the caller drives";
  std::vector<double> x(300000, 1), y(300000, 0);
  stretto_request r = nullptr;
  ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), x.size(), STRETTO_F64, STRETTO_SUM, comm, &node, &r));
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const std::atomic_ref<double> last(y.back());
  while (last.load() != ranks && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  EXPECT_EQ(last.load(), ranks);
  MPI_Barrier(MPI_COMM_WORLD);  // which drives nothing of ours
  end(&r);
}

TEST_P(StartedNode, ReportsSayThatTheMemoryServed) {
  std::vector<float> x(5000, 1.0F), y(5000);
  stretto_report told = STRETTO_REPORT_INIT;
  node.report = &told;
  stretto_request r = nullptr;
  ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &node, &r));
  end(&r);
  EXPECT_STREQ(told.algorithm, "node");
  EXPECT_EQ(y.front(), float(ranks));
}

TEST_P(StartedNode, ABarrierLetsNobodyThroughBeforeAllHaveCome) {
  for (const int check : {1, 0}) {
    node.check = check;
    stretto_request r = nullptr;
    double one = 1, came = 0;
    ASSERT_STRETTO_OK(stretto_ibarrier(comm, &node, &r));
    ASSERT_STRETTO_OK(stretto_allreduce(&one, &came, 1, STRETTO_F64, STRETTO_SUM, comm, nullptr));
    end(&r);
    EXPECT_EQ(came, ranks);
  }
}

// An equal program on all ranks, except for each rank's own order of waits and tests.
TEST_P(StartedNode, ManyInFlightAmongBlockingCallsOfTwoCommunicators) {
  stretto_comm other = nullptr;
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &other));
  std::mt19937 alike(7), own(static_cast<unsigned>(rank));
  struct Flight {
    std::vector<double> x, y;
    double expected = 0;
    stretto_request r = nullptr;
  };
  std::vector<std::unique_ptr<Flight>> flights;
  const auto total = double(ranks) * (ranks + 1) / 2;
  const auto land = [&](std::size_t k) {
    end(&flights[k]->r);
    for (const double v : flights[k]->y) ASSERT_EQ(v, flights[k]->expected);
    flights.erase(flights.begin() + static_cast<std::ptrdiff_t>(k));
  };
  for (int step = 0; step < 300 && !HasFatalFailure(); ++step) {
    const std::size_t n = 1 + alike() % (alike() % 8 == 0 ? 60000 : 300);
    stretto_comm c = alike() % 2 ? comm : other;
    stretto_options o = alike() % 3 ? stretto_options(STRETTO_OPTIONS_INIT) : node;
    o.check = static_cast<int>(alike() % 2);
    const double factor = double(alike() % 100);
    auto f = std::make_unique<Flight>();
    f->x.assign(n, factor * (rank + 1));
    f->y.assign(n, -1);
    f->expected = factor * total;
    if (alike() % 4 == 0) {
      ASSERT_STRETTO_OK(stretto_allreduce(f->x.data(), f->y.data(), n, STRETTO_F64, STRETTO_SUM, c, &o));
      for (const double v : f->y) ASSERT_EQ(v, f->expected);
    } else {
      ASSERT_STRETTO_OK(stretto_iallreduce(f->x.data(), f->y.data(), n, STRETTO_F64, STRETTO_SUM, c, &o, &f->r));
      flights.push_back(std::move(f));
    }
    int done = 0;
    if (!flights.empty() && own() % 2) {
      ASSERT_STRETTO_OK(stretto_test(flights[own() % flights.size()]->r, &done));
    }
    while (flights.size() > 10 && !HasFatalFailure()) land(alike() % flights.size());
  }
  while (!flights.empty() && !HasFatalFailure()) land(own() % flights.size());
  ASSERT_STRETTO_OK(stretto_comm_free(other));
}

// Rank 0 waits in another communicator's blocking call, the others for a collective that it started before.
TEST_P(StartedNode, MoveWhileARankBlocksElsewhere) {
  stretto_comm other = nullptr;
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &other));
  std::vector<double> x(200000, 1), y(200000);
  stretto_request r = nullptr;
  ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), x.size(), STRETTO_F64, STRETTO_SUM, comm, &node, &r));
  if (rank != 0) end(&r);
  ASSERT_STRETTO_OK(stretto_barrier(other, nullptr));
  if (rank == 0) end(&r);
  EXPECT_EQ(y.back(), ranks);
  ASSERT_STRETTO_OK(stretto_comm_free(other));
}

TEST_P(StartedNode, CallsThatDifferAreToldOnAllRanksAndTheRanksGoOn) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  std::vector<double> x(100, 1), y(100);
  stretto_request r = nullptr;
  const std::size_t n = rank == 0 ? 50 : 100;
  ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, comm, nullptr, &r));
  EXPECT_EQ(stretto_wait(r), STRETTO_INCOMPATIBLE);
  EXPECT_TRUE(contains(stretto_message(), "50")) << stretto_message();
  EXPECT_TRUE(contains(stretto_message(), "100")) << stretto_message();
  ASSERT_STRETTO_OK(stretto_request_free(&r));
  ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), 100, STRETTO_F64, STRETTO_SUM, comm, nullptr, &r));
  end(&r);
  EXPECT_EQ(y[99], ranks);
}

TEST_P(StartedNode, ABadArgumentOfOneRankIsToldOnAll) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  std::vector<double> x(100, 1), y(100);
  stretto_request r = nullptr;
  void* out = rank == ranks - 1 ? nullptr : y.data();
  ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), out, 100, STRETTO_F64, STRETTO_SUM, comm, nullptr, &r));
  EXPECT_EQ(stretto_wait(r), STRETTO_INVALID_ARGUMENT);
  ASSERT_STRETTO_OK(stretto_request_free(&r));
}

TEST_P(StartedNode, ARankThatStaysAwayIsNamed) {
  if (ranks == 1) GTEST_SKIP() << "nobody is waited for";
  std::vector<double> x(100, 1), y(100);
  node.timeout = 0.3;
  stretto_request r = nullptr;
  if (rank != 0) {
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), 100, STRETTO_F64, STRETTO_SUM, comm, &node, &r));
    EXPECT_EQ(stretto_wait(r), STRETTO_TIMEOUT);
    EXPECT_TRUE(contains(stretto_message(), "rank 0")) << stretto_message();
    ASSERT_STRETTO_OK(stretto_request_free(&r));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_P(StartedNode, WhatIsWrongWithCommunicationCoresIsNamed) {
  const int none[] = {4711, 0};
  EXPECT_EQ(stretto_comm_cores(none, 2), STRETTO_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(stretto_message(), "core 4711")) << stretto_message();
  EXPECT_EQ(stretto_comm_cores(nullptr, 1), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_comm_cores(none, -1), STRETTO_INVALID_ARGUMENT);
}

INSTANTIATE_TEST_SUITE_P(Drivers, StartedNode, testing::Bool(),
                         [](const auto& info) { return info.param ? "communication_core" : "caller"; });
