// Nonblocking collectives: any number in flight, started alike and waited for in any order, each with its own status.
#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "differing_hosts.hpp"
#include "ranks.hpp"
#include "stretto/stretto_persistent.h"

using namespace api_test;

namespace {

double expected_sum(int ranks, std::size_t i) {
  double s = 0;
  for (int r = 0; r < ranks; ++r) s += sample(r, i);
  return s;
}

void expect_sum(const std::vector<double>& y, int ranks) {
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], expected_sum(ranks, i)) << i;
}

}  // namespace

TEST(Requests, ManyInFlightAreWaitedForInAnyOrder) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    constexpr std::size_t flights = 6;
    std::vector<std::vector<double>> x, y;
    std::vector<stretto_request> requests(flights, nullptr);
    for (std::size_t f = 0; f < flights; ++f) {
      x.push_back(samples<double>(rank, 1000 * f));
      y.emplace_back(1000 * f);
    }
    for (std::size_t f = 0; f < flights; ++f)
      ASSERT_STRETTO_OK(stretto_iallreduce(x[f].data(), y[f].data(), y[f].size(), STRETTO_F64, STRETTO_SUM, comm,
                                           nullptr, &requests[f]));
    // Even ranks wait from the front, odd ones from the back.
    for (std::size_t k = 0; k < flights; ++k) {
      const std::size_t f = rank % 2 ? flights - 1 - k : k;
      ASSERT_STRETTO_OK(stretto_wait(requests[f]));
      expect_sum(y[f], ranks);
      ASSERT_STRETTO_OK(stretto_request_free(&requests[f]));
      EXPECT_EQ(requests[f], nullptr);
    }
  });
}

TEST(Requests, TestMakesProgressToTheEnd) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    const auto x = samples<double>(rank, 5000);
    std::vector<double> y(x.size());
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), y.size(), STRETTO_F64, STRETTO_SUM, comm, nullptr, &r));
    for (int done = 0; !done; std::this_thread::yield()) ASSERT_STRETTO_OK(stretto_test(r, &done));
    expect_sum(y, ranks);
    int done = 0;
    ASSERT_STRETTO_OK(stretto_test(r, &done));  // again: still complete
    EXPECT_EQ(done, 1);
    ASSERT_STRETTO_OK(stretto_wait(r));
    ASSERT_STRETTO_OK(stretto_request_free(&r));
  });
}

TEST(Requests, BlockingCollectivesRunBesideThem) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    const auto x = samples<double>(rank, 3000);
    std::vector<double> y(x.size()), z(x.size());
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), y.size(), STRETTO_F64, STRETTO_SUM, comm, nullptr, &r));
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), z.data(), z.size(), STRETTO_F64, STRETTO_SUM, comm, nullptr));
    ASSERT_STRETTO_OK(stretto_barrier(comm, nullptr));
    expect_sum(z, ranks);
    ASSERT_STRETTO_OK(stretto_wait(r));
    expect_sum(y, ranks);
    ASSERT_STRETTO_OK(stretto_request_free(&r));
  });
}

TEST(Requests, EveryCollectiveHasItsForm) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    const auto p = static_cast<std::size_t>(ranks);
    constexpr std::size_t n = 20;
    const auto finish = [](stretto_status started, stretto_request& r) {
      ASSERT_STRETTO_OK(started);
      ASSERT_STRETTO_OK(stretto_wait(r));
      ASSERT_STRETTO_OK(stretto_request_free(&r));
    };
    const auto x = samples<double>(rank, n), wide = samples<double>(rank, n * p);
    const void* one[] = {x.data()};
    const std::vector<std::size_t> counts(p, n);
    std::vector<double> y(n), all(n * p), expected_all;
    for (int r = 0; r < ranks; ++r)
      for (std::size_t i = 0; i < n; ++i) expected_all.push_back(sample(r, i));
    const auto slice = [&](std::size_t i) { return expected_sum(ranks, static_cast<std::size_t>(rank) * n + i); };
    stretto_request r = nullptr;

    finish(stretto_iallreduce_multi(one, 1, y.data(), n, STRETTO_F64, STRETTO_SUM, comm, nullptr, &r), r);
    expect_sum(y, ranks);
    finish(stretto_ireduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, 0, comm, nullptr, &r), r);
    if (rank == 0) expect_sum(y, ranks);
    finish(stretto_ireduce_scatter_block(wide.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, comm, nullptr, &r), r);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(y[i], slice(i));
    std::fill(y.begin(), y.end(), -1);
    finish(stretto_ireduce_scatter(wide.data(), y.data(), counts.data(), STRETTO_F64, STRETTO_SUM, comm, nullptr, &r),
           r);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(y[i], slice(i));
    finish(stretto_iallgather(x.data(), all.data(), n, STRETTO_F64, comm, nullptr, &r), r);
    EXPECT_EQ(all, expected_all);
    std::fill(all.begin(), all.end(), -1);
    finish(stretto_iallgatherv(x.data(), all.data(), counts.data(), nullptr, STRETTO_F64, comm, nullptr, &r), r);
    EXPECT_EQ(all, expected_all);
    finish(stretto_iscatter(all.data(), y.data(), n, STRETTO_F64, 0, comm, nullptr, &r), r);
    EXPECT_EQ(y, x);
    std::fill(y.begin(), y.end(), -1);
    finish(stretto_iscatterv(all.data(), counts.data(), nullptr, y.data(), n, STRETTO_F64, 0, comm, nullptr, &r), r);
    EXPECT_EQ(y, x);
    std::fill(all.begin(), all.end(), -1);
    finish(stretto_igather(x.data(), all.data(), n, STRETTO_F64, 0, comm, nullptr, &r), r);
    if (rank == 0) {
      EXPECT_EQ(all, expected_all);
    }
    std::fill(all.begin(), all.end(), -1);
    finish(stretto_igatherv(x.data(), n, all.data(), counts.data(), nullptr, STRETTO_F64, 0, comm, nullptr, &r), r);
    if (rank == 0) {
      EXPECT_EQ(all, expected_all);
    }
    finish(stretto_ibcast(all.data(), all.size(), STRETTO_F64, 0, comm, nullptr, &r), r);
    EXPECT_EQ(all, expected_all);
    finish(stretto_ialltoall(wide.data(), all.data(), n, STRETTO_F64, comm, nullptr, &r), r);
    for (int s = 0; s < ranks; ++s)
      for (std::size_t i = 0; i < n; ++i)
        EXPECT_EQ(all[static_cast<std::size_t>(s) * n + i], sample(s, static_cast<std::size_t>(rank) * n + i));
    finish(stretto_ibarrier(comm, nullptr, &r), r);
  });
}

TEST(Requests, GathervAmongOthersInFlightKeepsTheOrderOfRuns) {
  on_ranks(5, [](stretto_comm comm, int rank, int ranks) {
    const auto x = samples<double>(rank, 500);
    const std::vector<std::size_t> counts(static_cast<std::size_t>(ranks), 500);
    std::vector<double> y(500), z(500), all(2500);
    stretto_request r[3] = {};
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), 500, STRETTO_F64, STRETTO_SUM, comm, nullptr, &r[0]));
    ASSERT_STRETTO_OK(
        stretto_igatherv(x.data(), 500, all.data(), counts.data(), nullptr, STRETTO_F64, 3, comm, nullptr, &r[1]));
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), z.data(), 500, STRETTO_F64, STRETTO_SUM, comm, nullptr, &r[2]));
    for (int k = 0; k < 3; ++k) ASSERT_STRETTO_OK(stretto_wait(r[(k + rank) % 3]));
    expect_sum(y, ranks);
    expect_sum(z, ranks);
    for (int s = 0; rank == 3 && s < ranks; ++s)
      for (std::size_t i = 0; i < 500; ++i) ASSERT_EQ(all[static_cast<std::size_t>(s) * 500 + i], sample(s, i));
    for (auto& q : r) ASSERT_STRETTO_OK(stretto_request_free(&q));
  });
}

TEST(Requests, ADisagreementEndsOneAndLeavesTheOthers) {
  on_ranks(3, [](stretto_comm comm, int rank, int ranks) {
    const auto x = samples<double>(rank, 400);
    std::vector<double> y(400), z(400);
    stretto_request bad = nullptr, good = nullptr;
    ASSERT_STRETTO_OK(
        stretto_iallreduce(x.data(), y.data(), rank == 2 ? 399 : 400, STRETTO_F64, STRETTO_SUM, comm, nullptr, &bad));
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), z.data(), 400, STRETTO_F64, STRETTO_SUM, comm, nullptr, &good));
    ASSERT_STRETTO_OK(stretto_wait(good));
    expect_sum(z, ranks);
    EXPECT_EQ(stretto_wait(bad), STRETTO_INCOMPATIBLE);
    EXPECT_NE(std::string(stretto_message()).find("399 on rank 2"), std::string::npos) << stretto_message();
    EXPECT_EQ(stretto_wait(bad), STRETTO_INCOMPATIBLE);  // the same again
    ASSERT_STRETTO_OK(stretto_request_free(&bad));
    ASSERT_STRETTO_OK(stretto_request_free(&good));
  });
}

TEST(Requests, ReportIsFilledAtCompletion) {
  on_ranks(3, [](stretto_comm comm, int rank, int ranks) {
    const auto x = wave(rank, 40000);
    std::vector<float> y(x.size());
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-3);
    o.report = &report;
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), y.size(), STRETTO_F32, STRETTO_SUM, comm, &o, &r));
    o = defaults();  // the options were copied
    ASSERT_STRETTO_OK(stretto_wait(r));
    EXPECT_STREQ(report.payload, "fused");
    EXPECT_EQ(report.promised_error, 1e-3 * ranks);
    EXPECT_GT(report.bytes_sent, 0u);
    EXPECT_GE(report.seconds, report.agree_seconds);
    EXPECT_GT(report.codec_seconds, 0);
    ASSERT_STRETTO_OK(stretto_request_free(&r));
  });
}

TEST(Requests, FreeingOneInFlightWaitsForIt) {
  on_ranks(3, [](stretto_comm comm, int rank, int ranks) {
    const auto x = samples<double>(rank, 2000);
    std::vector<double> y(x.size());
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), y.size(), STRETTO_F64, STRETTO_SUM, comm, nullptr, &r));
    EXPECT_EQ(stretto_comm_free(comm), STRETTO_INVALID_ARGUMENT);  // refused while a request lives
    ASSERT_STRETTO_OK(stretto_request_free(&r));
    expect_sum(y, ranks);
  });
}

TEST(Requests, NullHandlesAreErrors) {
  int done = 0;
  stretto_request none = nullptr;
  EXPECT_EQ(stretto_test(nullptr, &done), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_wait(nullptr), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_request_free(nullptr), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_request_free(&none), STRETTO_OK);
  EXPECT_EQ(stretto_ibarrier(nullptr, nullptr, &none), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_barrier(nullptr, nullptr), STRETTO_INVALID_ARGUMENT);
}

TEST(Persistent, EachStartTakesWhatTheBufferHoldsThen) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    std::vector<double> x(3000), y(x.size());
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(
        stretto_allreduce_init(x.data(), y.data(), x.size(), STRETTO_F64, STRETTO_SUM, comm, nullptr, &r));
    int done = 0;
    ASSERT_STRETTO_OK(stretto_test(r, &done));  // not started, so complete
    EXPECT_EQ(done, 1);
    ASSERT_STRETTO_OK(stretto_wait(r));
    for (int round = 0; round < 5; ++round) {
      std::fill(x.begin(), x.end(), rank * 10 + round);
      ASSERT_STRETTO_OK(stretto_start(r));
      ASSERT_STRETTO_OK(stretto_barrier(comm, nullptr));  // between
      ASSERT_STRETTO_OK(stretto_wait(r));
      EXPECT_EQ(y, std::vector<double>(y.size(), 5 * ranks * (ranks - 1) + ranks * round));
    }
    ASSERT_STRETTO_OK(stretto_request_free(&r));
  });
}

TEST(Persistent, WhatCannotBeStartedIsSaid) {
  std::array<std::atomic<int>, 32> waiting{};  // by the number of ranks: those that wait for the root
  on_all_ranks([&waiting](stretto_comm comm, int rank, int ranks) {
    const auto x = samples<double>(rank, 100);
    std::vector<double> y(x.size());
    stretto_request once = nullptr, prepared = nullptr, wrong = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), x.size(), STRETTO_F64, STRETTO_SUM, comm, nullptr, &once));
    EXPECT_EQ(stretto_start(once), STRETTO_INVALID_ARGUMENT);
    EXPECT_EQ(stretto_start(nullptr), STRETTO_INVALID_ARGUMENT);
    ASSERT_STRETTO_OK(stretto_wait(once));
    ASSERT_STRETTO_OK(stretto_request_free(&once));
    ASSERT_STRETTO_OK(stretto_bcast_init(y.data(), y.size(), STRETTO_F64, ranks - 1, comm, nullptr, &prepared));
    const bool root = rank == ranks - 1;
    while (root && waiting[static_cast<std::size_t>(ranks)] < ranks - 1) std::this_thread::yield();
    ASSERT_STRETTO_OK(stretto_start(prepared));
    if (!root) {  // it cannot be complete: the root has not started
      EXPECT_EQ(stretto_start(prepared), STRETTO_INVALID_ARGUMENT);
      ++waiting[static_cast<std::size_t>(ranks)];
    }
    ASSERT_STRETTO_OK(stretto_wait(prepared));
    ASSERT_STRETTO_OK(stretto_request_free(&prepared));
    // Wrong arguments come to all ranks, at each wait.
    ASSERT_STRETTO_OK(
        stretto_reduce_init(x.data(), y.data(), x.size(), STRETTO_F64, STRETTO_SUM, ranks, comm, nullptr, &wrong));
    for (int round = 0; round < 2; ++round) {
      ASSERT_STRETTO_OK(stretto_start(wrong));
      EXPECT_EQ(stretto_wait(wrong), STRETTO_INVALID_ARGUMENT);
      EXPECT_NE(std::string(stretto_message()).find("root"), std::string::npos) << stretto_message();
    }
    ASSERT_STRETTO_OK(stretto_request_free(&wrong));
  });
}

// Of threads without shared memory, so that they agree by messages.
TEST(Requests, DrawnCallsAgreeInAnyOrderOfWaits) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    for (unsigned seed = 100; seed < 106; ++seed) run_drawn_calls(comm, rank, ranks, seed);
  });
}
