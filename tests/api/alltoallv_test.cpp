// Counts by pair of ranks: each block arrives, with any schedule that works with the ranks' own counts, in place or
// not, within the bound. Ranks with mismatched counts get an error.
#include <cmath>
#include <string>

#include "ranks.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

// Elements that `from` has for `to`: none, few, many. `symmetric`: as many the other way, as an exchange in place
// needs.
std::size_t length(int from, int to, bool symmetric) {
  const std::size_t lengths[] = {3, 0, 700, 1, 20000, 0, 12};
  const int key = symmetric ? from + to : 2 * from + 5 * to;
  return lengths[static_cast<std::size_t>(key) % std::size(lengths)];
}

// Blocks of one side, with gaps between them, or end to end.
struct Side {
  std::vector<std::size_t> counts, displs;
  std::size_t end = 0;
  void add(std::size_t count, std::size_t gap) {
    end += gap;
    counts.push_back(count);
    displs.push_back(end);
    end += count;
  }
};

int element(int from, int to, std::size_t i) { return sample(from * 7 + to, i); }

struct Case {
  Side out, in;  // sent and received blocks
  std::vector<float> send, expected;
  Case(int rank, int ranks, std::size_t gap, bool symmetric) {
    for (int r = 0; r < ranks; ++r) {
      out.add(length(rank, r, symmetric), gap);
      in.add(length(r, rank, symmetric), gap);
    }
    send.assign(out.end + 1, -3);
    expected.assign(in.end + 1, -7);
    for (std::size_t r = 0; r < out.counts.size(); ++r) {
      const auto peer = static_cast<int>(r);
      for (std::size_t i = 0; i < out.counts[r]; ++i)
        send[out.displs[r] + i] = static_cast<float>(element(rank, peer, i));
      for (std::size_t i = 0; i < in.counts[r]; ++i)
        expected[in.displs[r] + i] = static_cast<float>(element(peer, rank, i));
    }
  }
};

}  // namespace

TEST(Alltoallv, EveryBlockArrivesAndNothingBetweenIsWritten) {
  for (const char* schedule : {static_cast<const char*>(nullptr), "pairwise", "linear"})
    for (const int check : {1, 0})
      on_all_ranks([&](stretto_comm comm, int rank, int ranks) {
        stretto_options o = defaults();
        o.schedule = schedule;
        o.check = check;
        for (const std::size_t gap : {0, 2}) {
          const Case c(rank, ranks, gap, false);
          std::vector<float> y(c.expected.size(), -7);
          const bool packed = gap == 0;
          ASSERT_STRETTO_OK(stretto_alltoallv(c.send.data(), c.out.counts.data(),
                                              packed ? nullptr : c.out.displs.data(), y.data(), c.in.counts.data(),
                                              packed ? nullptr : c.in.displs.data(), STRETTO_F32, comm, &o));
          EXPECT_EQ(y, c.expected);
        }
      });
}

TEST(Alltoallv, InPlaceReplacesWhatIsSent) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    for (const std::size_t gap : {0, 2}) {
      const Case c(rank, ranks, gap, true);
      std::vector<float> y = c.send;
      y.back() = -7;
      ASSERT_STRETTO_OK(stretto_alltoallv(STRETTO_IN_PLACE, nullptr, nullptr, y.data(), c.in.counts.data(),
                                          c.in.displs.data(), STRETTO_F32, comm, nullptr));
      for (std::size_t r = 0; r < c.in.counts.size(); ++r)
        for (std::size_t i = 0; i < c.in.counts[r]; ++i)
          ASSERT_EQ(y[c.in.displs[r] + i], c.expected[c.in.displs[r] + i]) << r << " " << i;
    }
  });
}

TEST(Alltoallv, StartedOnesGoAlongWithOthers) {
  on_ranks(5, [](stretto_comm comm, int rank, int ranks) {
    const Case c(rank, ranks, 2, false);
    std::vector<float> y(c.expected.size(), -7), z = y, sum(100), ones(100, 1.0f);
    stretto_request r[3] = {};
    const auto begin = [&](std::vector<float>& into, stretto_request* request) {
      return stretto_ialltoallv(c.send.data(), c.out.counts.data(), c.out.displs.data(), into.data(),
                                c.in.counts.data(), c.in.displs.data(), STRETTO_F32, comm, nullptr, request);
    };
    ASSERT_STRETTO_OK(begin(y, &r[0]));
    ASSERT_STRETTO_OK(stretto_iallreduce(ones.data(), sum.data(), 100, STRETTO_F32, STRETTO_SUM, comm, nullptr, &r[1]));
    ASSERT_STRETTO_OK(begin(z, &r[2]));
    for (const int k : {2, 0, 1}) {
      ASSERT_STRETTO_OK(stretto_wait(r[k]));
      ASSERT_STRETTO_OK(stretto_request_free(&r[k]));
    }
    EXPECT_EQ(y, c.expected);
    EXPECT_EQ(z, c.expected);
    EXPECT_EQ(sum, std::vector<float>(100, 5.0f));
  });
}

TEST(Alltoallv, KeepsABound) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    for (const stretto_bound kind : {STRETTO_BOUND_ABSOLUTE, STRETTO_BOUND_RELATIVE}) {
      stretto_report report = STRETTO_REPORT_INIT;
      stretto_options o = bounded(1e-3, kind);
      o.payload = STRETTO_PAYLOAD_FUSED;
      o.report = &report;
      const Case c(rank, ranks, 2, false);
      std::vector<float> y(c.expected.size(), -7);
      ASSERT_STRETTO_OK(stretto_alltoallv(c.send.data(), c.out.counts.data(), c.out.displs.data(), y.data(),
                                          c.in.counts.data(), c.in.displs.data(), STRETTO_F32, comm, &o));
      EXPECT_STREQ(report.payload, "compress_once");
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_LE(std::fabs(y[i] - c.expected[i]), report.eps) << i;
    }
  });
}

TEST(Alltoallv, APairWhoseCountsDifferIsNamedOnEveryRank) {
  on_ranks(4, [](stretto_comm comm, int rank, int ranks) {
    Case c(rank, ranks, 0, false);
    std::vector<float> y(c.expected.size() + 5), x(c.send.size() + 5);
    if (rank == 1) c.out.counts[2] += 5;
    const auto call = [&] {
      return stretto_alltoallv(x.data(), c.out.counts.data(), nullptr, y.data(), c.in.counts.data(), nullptr,
                               STRETTO_F32, comm, nullptr);
    };
    EXPECT_EQ(call(), STRETTO_INCOMPATIBLE);
    const std::string expected = std::to_string(length(1, 2, false)), sent = std::to_string(length(1, 2, false) + 5);
    EXPECT_EQ(stretto_message(),
              rank == 1 || rank == 2
                  ? "counts differ: rank 1 sends rank 2 " + sent + " elements, which expects " + expected
                  : "counts differ: rank 1 sends rank 2 5 elements more than it expects");
    if (rank == 1) c.out.counts[2] -= 5;
    if (rank == 3) ++c.in.counts[0], ++c.in.counts[1];
    EXPECT_EQ(call(), STRETTO_INCOMPATIBLE);
    EXPECT_NE(std::string(stretto_message()).find("more than one pair"), std::string::npos) << stretto_message();
    if (rank == 3) --c.in.counts[0], --c.in.counts[1];
    if (rank == 0) ++c.in.counts[3], --c.in.counts[2];  // as many in all
    EXPECT_EQ(call(), STRETTO_INCOMPATIBLE);
    if (rank == 0) --c.in.counts[3], ++c.in.counts[2];
    EXPECT_EQ(call(), STRETTO_OK) << stretto_message();
  });
}

TEST(Alltoallv, WhatOneRankCanSeeToBeWrongIsToldToAll) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    std::vector<float> x(12, 1.0f), y(12);
    const std::size_t two[] = {2, 2, 2}, close[] = {0, 1, 4};
    std::size_t other[] = {2, 2, 2};
    const auto call = [&](const std::size_t* counts, const std::size_t* displs, const char* schedule = nullptr) {
      stretto_options o = defaults();
      o.schedule = schedule;
      return stretto_alltoallv(x.data(), counts, nullptr, y.data(), two, displs, STRETTO_F32, comm, &o);
    };
    const auto told = [](const char* text) {
      EXPECT_NE(std::string(stretto_message()).find(text), std::string::npos) << stretto_message();
    };
    EXPECT_EQ(call(rank == 1 ? nullptr : two, nullptr), STRETTO_INVALID_ARGUMENT);
    told("sendcounts is NULL");
    EXPECT_EQ(call(two, rank == 2 ? close : nullptr), STRETTO_INVALID_ARGUMENT);
    told("ranks 0 and 1 overlap");
    if (rank == 2) other[2] = 1;
    EXPECT_EQ(call(other, nullptr), STRETTO_INVALID_ARGUMENT);
    told("rank 2 sends itself 1 elements and expects 2");
    EXPECT_EQ(call(two, nullptr, "bruck"), STRETTO_UNSUPPORTED);
    told("ranks that do not know their counts");
    EXPECT_EQ(call(two, nullptr), STRETTO_OK) << stretto_message();
  });
}
