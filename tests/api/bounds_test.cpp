// With a bound, every collective keeps what its report promises; the same bits on every rank.
#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>

#include "ranks.hpp"

using namespace api_test;

namespace {

constexpr std::size_t n = 30000;

double exact_sum(int ranks, std::size_t i) {
  double s = 0;
  for (int r = 0; r < ranks; ++r) s += wave(r, i + 1)[i];
  return s;
}

// Sums of all ranks' waves in double: exact beside the bounds tested here.
std::vector<double> exact_sums(int ranks) {
  std::vector<double> s(n, 0.0);
  for (int r = 0; r < ranks; ++r) {
    const auto x = wave(r, n);
    for (std::size_t i = 0; i < n; ++i) s[i] += x[i];
  }
  return s;
}

template <class Exact>
double worst(const std::vector<float>& y, const Exact& exact) {
  double w = 0;
  for (std::size_t i = 0; i < y.size(); ++i) w = std::max(w, std::fabs(double{y[i]} - exact[i]) - half_ulp(y[i]));
  return w;
}

constexpr stretto_payload compressed[] = {STRETTO_PAYLOAD_RECOMPRESS, STRETTO_PAYLOAD_HOMOMORPHIC,
                                          STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_CPRP2P};

// The bytes of the first rank that comes; the others compare theirs to it.
class SameBits {
 public:
  void check(const std::vector<float>& y) {
    const std::lock_guard lock(mutex_);
    if (first_.empty()) first_ = y;
    EXPECT_EQ(std::memcmp(first_.data(), y.data(), y.size() * sizeof(float)), 0);
  }

 private:
  std::mutex mutex_;
  std::vector<float> first_;
};

}  // namespace

TEST(Bounds, AllreduceKeepsWhatItPromisesWithEveryPayloadAndSchedule) {
  for (int ranks : {1, 3, 5})
    for (stretto_payload payload : compressed)
      for (const char* schedule : {"ring", "recursive_doubling", "rabenseifner"}) {
        SCOPED_TRACE(testing::Message() << ranks << " ranks, payload " << payload << ", " << schedule);
        const auto exact = exact_sums(ranks);
        SameBits same;
        on_ranks(ranks, [&](stretto_comm comm, int rank, int p) {
          stretto_report report = STRETTO_REPORT_INIT;
          stretto_options o = bounded(1e-3);
          o.payload = payload;
          o.schedule = schedule;
          o.segment = 16384;
          o.report = &report;
          const auto x = wave(rank, n);
          std::vector<float> y(n);
          ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
          EXPECT_EQ(report.eps, 1e-3);
          const bool code_space = payload == STRETTO_PAYLOAD_HOMOMORPHIC || payload == STRETTO_PAYLOAD_FUSED;
          if (code_space) {
            EXPECT_EQ(report.promised_error, 1e-3 * p);
          }
          EXPECT_GE(report.promised_error, 1e-3);
          EXPECT_LE(worst(y, exact), report.promised_error);
          if (p > 1) {
            EXPECT_GT(report.ratio, 2);
          }
          EXPECT_STREQ(report.algorithm, schedule);
          same.check(y);
        });
      }
}

TEST(Bounds, ForTheResultTheSumItselfKeepsTheBound) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    const auto exact = exact_sums(ranks);
    for (stretto_payload payload : compressed) {
      stretto_report report = STRETTO_REPORT_INIT;
      stretto_options o = bounded(1e-3, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT);
      o.payload = payload;
      o.report = &report;
      const auto x = wave(rank, n);
      std::vector<float> y(n);
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
      EXPECT_LE(worst(y, exact), 1e-3) << "payload " << payload;
      EXPECT_LE(report.promised_error, 1e-3);
      EXPECT_GT(report.promised_error, 0.999e-3);
    }
  });
}

TEST(Bounds, StatisticalUniformScopeHoldsForNineteenOfTwentyElementsOfRoughData) {
  on_ranks(7, [](stretto_comm comm, int rank, int ranks) {
    std::vector<double> exact(n, 0.0);
    std::vector<float> x(n), y(n);
    for (int r = 0; r < ranks; ++r) {
      std::uint32_t state = 12345u * static_cast<std::uint32_t>(r + 1);
      for (std::size_t i = 0; i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        const auto v = static_cast<float>(state >> 8) / 16777216.0f;
        exact[i] += v;
        if (r == rank) x[i] = v;
      }
    }
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-3, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT_STATISTICAL_95_UNIFORM);
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
    std::size_t within = 0;
    for (std::size_t i = 0; i < n; ++i) within += std::fabs(double{y[i]} - exact[i]) <= 1e-3;
    EXPECT_GE(static_cast<double>(within), 0.94 * n);  // 95.4 % expected; six standard deviations are 0.7 %
    EXPECT_NEAR(report.promised_error, 1e-3, 1e-15);
    EXPECT_GT(report.eps, 2 * 1e-3 / ranks);  // what the statistics buy over the guarantee
    o.scope = STRETTO_SCOPE_RESULT_STATISTICAL_95;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_NEAR(report.eps, 1e-3 / (2.0 / 3.0 * std::sqrt(ranks)), 1e-15);
  });
}

TEST(Bounds, RelativeBoundIsAFractionOfTheRangeOverAllRanks) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    // The values of rank r are in [r, r + 1]; an infinity, NaN and an empty input must not count.
    std::vector<float> x(n), y(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(rank) + static_cast<float>(i % 1001) / 1000.0f;
    if (rank == ranks - 1) {
      x[7] = INFINITY;
      x[8] = NAN;
    }
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-4, STRETTO_BOUND_RELATIVE);
    o.payload = STRETTO_PAYLOAD_FUSED;  // streams, whatever would be chosen here
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_MAX, comm, &o));
    EXPECT_NEAR(report.eps, 1e-4 * ranks, 1e-9);
    for (std::size_t i = 9; i < n; ++i)
      ASSERT_LE(std::fabs(y[i] - (static_cast<float>(ranks - 1) + static_cast<float>(i % 1001) / 1000.0f)),
                report.promised_error + half_ulp(y[i]));
  });
}

TEST(Bounds, RelativeRangeIgnoresRanksWithoutFiniteValues) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    std::vector<float> x(n, rank == 1 ? NAN : 0.0f), y(n);
    if (rank != 1)
      for (std::size_t i = 0; i < n; ++i) x[i] = 100.0f + static_cast<float>(i % 11) / 10.0f;
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-3, STRETTO_BOUND_RELATIVE);
    o.payload = STRETTO_PAYLOAD_FUSED;  // streams, whatever would be chosen here
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_NEAR(report.eps, 1e-3, 1e-8);  // the range is 1, not 101
    EXPECT_TRUE(std::isnan(y[0]));
  });
}

TEST(Bounds, ARangeOfZeroIsExact) {
  on_all_ranks([](stretto_comm comm, int, int ranks) {
    const std::vector<float> x(n, 0.1f);
    std::vector<float> y(n);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-2, STRETTO_BOUND_RELATIVE);
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_MAX, comm, &o));
    EXPECT_EQ(y, x) << ranks;
    EXPECT_STREQ(report.payload, "raw");
    EXPECT_EQ(report.promised_error, 0);
  });
}

TEST(Bounds, NoFiniteValueOnAnyRankIsExact) {
  on_all_ranks([](stretto_comm comm, int, int) {
    const std::vector<float> x(n, INFINITY);
    std::vector<float> y(n);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-2, STRETTO_BOUND_RELATIVE);
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(y, x);
    EXPECT_STREQ(report.payload, "raw");
  });
}

TEST(Bounds, SmallVectorsTravelRawAndExact) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(0.5);
    o.report = &report;
    const auto x = samples<float>(rank, 100);
    std::vector<float> y(100);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 100, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_STREQ(report.payload, "raw");
    for (std::size_t i = 0; i < y.size(); ++i) {
      float s = 0;
      for (int r = 0; r < ranks; ++r) s += static_cast<float>(sample(r, i));
      ASSERT_EQ(y[i], s);
    }
  });
}

TEST(Bounds, MeanMinMaxAndDifferenceKeepTheirs) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    std::vector<std::vector<float>> all;
    for (int r = 0; r < ranks; ++r) all.push_back(wave(r, n));
    for (stretto_op op : {STRETTO_MEAN, STRETTO_MIN, STRETTO_MAX, STRETTO_DIFFERENCE}) {
      std::vector<double> exact(n);
      for (std::size_t i = 0; i < n; ++i) {
        double v = all[0][i];
        for (int r = 1; r < ranks; ++r) {
          const double u = all[static_cast<std::size_t>(r)][i];
          v = op == STRETTO_MIN    ? std::min(v, u)
              : op == STRETTO_MAX  ? std::max(v, u)
              : op == STRETTO_MEAN ? v + u
                                   : v - u;
        }
        exact[i] = op == STRETTO_MEAN ? v / ranks : v;
      }
      stretto_report report = STRETTO_REPORT_INIT;
      stretto_options o = bounded(1e-4);
      o.payload = STRETTO_PAYLOAD_FUSED;  // streams, whatever would be chosen here
      o.report = &report;
      std::vector<float> y(n);
      ASSERT_STRETTO_OK(
          stretto_allreduce(all[static_cast<std::size_t>(rank)].data(), y.data(), n, STRETTO_F32, op, comm, &o));
      EXPECT_NE(std::string(report.payload), "raw");
      EXPECT_EQ(report.promised_error, op == STRETTO_DIFFERENCE ? ranks * 1e-4 : 1e-4);
      EXPECT_LE(worst(y, exact), report.promised_error) << "operation " << op;
    }
  });
}

TEST(Bounds, MovedDataIsCompressedOnce) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-3);
    o.payload = STRETTO_PAYLOAD_FUSED;  // streams, whatever would be chosen here
    o.report = &report;
    const auto p = static_cast<std::size_t>(ranks);
    const auto x = wave(rank, n);
    std::vector<float> y(n * p);
    ASSERT_STRETTO_OK(stretto_allgather(x.data(), y.data(), n, STRETTO_F32, comm, &o));
    EXPECT_EQ(report.promised_error, 1e-3);
    if (ranks > 1) {
      EXPECT_STREQ(report.payload, "compress_once");
      EXPECT_GT(report.ratio, 2);
    }
    for (int r = 0; r < ranks; ++r) {
      const auto first = y.begin() + static_cast<std::ptrdiff_t>(n) * r;
      EXPECT_LE(worst({first, first + n}, wave(r, n)), 1e-3);
    }
    auto b = rank == ranks - 1 ? x : std::vector<float>(n);
    ASSERT_STRETTO_OK(stretto_bcast(b.data(), n, STRETTO_F32, ranks - 1, comm, &o));
    EXPECT_LE(worst(b, wave(ranks - 1, n)), 1e-3);
    if (rank == ranks - 1) {
      EXPECT_EQ(b, x);
    }
    std::vector<float> own(n);
    ASSERT_STRETTO_OK(stretto_scatter(y.data(), own.data(), n, STRETTO_F32, 0, comm, &o));
    EXPECT_LE(worst(own, wave(rank, n)), 2e-3);
    std::vector<float> gathered(n * p);
    ASSERT_STRETTO_OK(stretto_gather(x.data(), gathered.data(), n, STRETTO_F32, 0, comm, &o));
    for (int r = 0; rank == 0 && r < ranks; ++r) {
      const auto first = gathered.begin() + static_cast<std::ptrdiff_t>(n) * r;
      EXPECT_LE(worst({first, first + n}, wave(r, n)), 1e-3);
    }
    std::vector<float> out(n * p), in(n * p);
    for (int d = 0; d < ranks; ++d) std::copy(x.begin(), x.end(), out.begin() + static_cast<std::ptrdiff_t>(n) * d);
    ASSERT_STRETTO_OK(stretto_alltoall(out.data(), in.data(), n, STRETTO_F32, comm, &o));
    for (int s = 0; s < ranks; ++s) {
      const auto first = in.begin() + static_cast<std::ptrdiff_t>(n) * s;
      EXPECT_LE(worst({first, first + n}, wave(s, n)), 1e-3);
    }
  });
}

TEST(Bounds, ReduceAndReduceScatterKeepTheirs) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    const auto exact = exact_sums(ranks);
    const auto x = wave(rank, n);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-3);
    o.report = &report;
    std::vector<float> y(n);
    ASSERT_STRETTO_OK(stretto_reduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, ranks - 1, comm, &o));
    if (rank == ranks - 1) {
      EXPECT_LE(worst(y, exact), report.promised_error);
    }
    const std::size_t part = n / static_cast<std::size_t>(ranks), first = part * static_cast<std::size_t>(rank);
    std::vector<float> z(part);
    ASSERT_STRETTO_OK(stretto_reduce_scatter_block(x.data(), z.data(), part, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_LE(worst(z, std::vector<double>(exact.begin() + static_cast<std::ptrdiff_t>(first),
                                           exact.begin() + static_cast<std::ptrdiff_t>(first + part))),
              report.promised_error);
  });
}

TEST(Bounds, IntegersTravelLosslessly) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    std::vector<int> x(n), y(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<int>(i / 10) - 700 + rank;
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1.0);
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_I32, STRETTO_SUM, comm, &o));
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(y[i], ranks * (static_cast<int>(i / 10) - 700) + ranks * (ranks - 1) / 2);
    EXPECT_EQ(report.promised_error, 0);
    if (ranks > 1) {
      EXPECT_GT(report.ratio, 2);
    }
  });
}

TEST(Bounds, HalfPrecisionAddsHalfAnUlpOfItsOwn) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    // bfloat16 values k/8 with k < 64 are exact, and so is what the test reads back.
    const auto to_bf16 = [](float v) {
      std::uint32_t b;
      std::memcpy(&b, &v, 4);
      return static_cast<std::uint16_t>(b >> 16);
    };
    const auto to_float = [](std::uint16_t h) {
      const std::uint32_t b = std::uint32_t{h} << 16;
      float v;
      std::memcpy(&v, &b, 4);
      return v;
    };
    std::vector<std::uint16_t> x(n), y(n);
    for (std::size_t i = 0; i < n; ++i)
      x[i] = to_bf16(static_cast<float>((i + static_cast<std::size_t>(rank)) % 64) / 8);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-2);
    o.payload = STRETTO_PAYLOAD_FUSED;  // raw values would round at each addition
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_BF16, STRETTO_SUM, comm, &o));
    for (std::size_t i = 0; i < n; ++i) {
      double s = 0;
      for (int r = 0; r < ranks; ++r) s += static_cast<double>((i + static_cast<std::size_t>(r)) % 64) / 8;
      const double y_i = to_float(y[i]);
      const double half = (to_float(static_cast<std::uint16_t>(y[i] + 1)) - y_i) / 2;
      ASSERT_LE(std::fabs(y_i - s), report.promised_error + std::fabs(half));
    }
  });
}

TEST(Bounds, NotANumberSurvivesAndSpoilsNoNeighbour) {
  on_ranks(3, [](stretto_comm comm, int rank, int ranks) {
    auto x = wave(rank, n);
    if (rank == 1) x[1234] = NAN;
    if (rank == 2) x[2345] = -INFINITY;
    std::vector<float> y(n);
    const stretto_options o = bounded(1e-3);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_TRUE(std::isnan(y[1234]));
    EXPECT_EQ(y[2345], -INFINITY);
    EXPECT_NEAR(y[1235], exact_sum(ranks, 1235), 3.001e-3);
  });
}

TEST(Bounds, WhatNoGridCanHoldIsAnInvalidBoundOnEveryRank) {
  for (double bound : {0.0, -1.0, double{NAN}, double{INFINITY}})
    on_ranks(3, [bound](stretto_comm comm, int rank, int) {
      std::vector<float> x(10, 1.0f), y(10);
      const stretto_options o = bounded(bound);
      EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 10, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_INVALID_BOUND);
      EXPECT_NE(std::string(stretto_message()).find("bound"), std::string::npos) << stretto_message();
      const stretto_options bad_on_one = bounded(rank == 1 ? bound : 1e-3);
      EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 10, STRETTO_F32, STRETTO_SUM, comm, &bad_on_one),
                STRETTO_INVALID_BOUND);
      if (rank != 1) {
        EXPECT_NE(std::string(stretto_message()).find("rank 1"), std::string::npos) << stretto_message();
      }
    });
}

TEST(Bounds, OperationsThatCannotKeepABoundAreRefused) {
  on_ranks(2, [](stretto_comm comm, int, int) {
    std::vector<std::int32_t> x(10, 1), y(10);
    const stretto_options o = bounded(1e-3);
    for (stretto_op op :
         {STRETTO_PROD, STRETTO_LAND, STRETTO_LOR, STRETTO_LXOR, STRETTO_BAND, STRETTO_BOR, STRETTO_BXOR}) {
      EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 10, STRETTO_I32, op, comm, &o), STRETTO_UNSUPPORTED);
      EXPECT_NE(std::string(stretto_message()).find("cannot keep a bound"), std::string::npos) << stretto_message();
    }
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 10, STRETTO_U32, STRETTO_SUM, comm, &o), STRETTO_UNSUPPORTED);
    EXPECT_EQ(std::string(stretto_message()), "type u32 cannot be compressed");
  });
}
