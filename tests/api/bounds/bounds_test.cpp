// With a bound, an allreduce keeps what its report promises; the same bits on every rank.
#include <cstring>
#include <mutex>
#include <random>
#include <string>

#include "bounds.hpp"

using namespace api_test;

namespace {

constexpr stretto_payload kCompressed[] = {STRETTO_PAYLOAD_RECOMPRESS, STRETTO_PAYLOAD_HOMOMORPHIC,
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

TEST(Bounds, AllreduceKeepsItsBoundWithEveryPayloadAndSchedule) {
  for (int ranks : {1, 3, 5})
    for (stretto_payload payload : kCompressed)
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
          const auto x = wave(rank, kN);
          std::vector<float> y(kN);
          ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
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
    for (stretto_payload payload : kCompressed) {
      stretto_report report = STRETTO_REPORT_INIT;
      stretto_options o = bounded(1e-3, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT);
      o.payload = payload;
      o.report = &report;
      const auto x = wave(rank, kN);
      std::vector<float> y(kN);
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
      EXPECT_LE(worst(y, exact), 1e-3) << "payload " << payload;
      EXPECT_LE(report.promised_error, 1e-3);
      EXPECT_GT(report.promised_error, 0.999e-3);
    }
  });
}

TEST(Bounds, StatisticalScopeHoldsForNineteenOfTwentyElements) {
  on_ranks(7, [](stretto_comm comm, int rank, int ranks) {
    std::vector<double> exact(kN, 0.0);
    std::vector<float> x(kN), y(kN);
    for (int r = 0; r < ranks; ++r) {
      std::uint32_t state = 12345u * static_cast<std::uint32_t>(r + 1);
      for (std::size_t i = 0; i < kN; ++i) {
        state = state * 1664525u + 1013904223u;
        const auto v = static_cast<float>(state >> 8) / 16777216.0f;
        exact[i] += v;
        if (r == rank) x[i] = v;
      }
    }
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-3, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT_STATISTICAL_95_UNIFORM);
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
    std::size_t within = 0;
    for (std::size_t i = 0; i < kN; ++i) within += std::fabs(double{y[i]} - exact[i]) <= 1e-3;
    EXPECT_GE(static_cast<double>(within), 0.94 * kN);  // 95.4 % expected; six standard deviations are 0.7 %
    EXPECT_NEAR(report.promised_error, 1e-3, 1e-15);
    EXPECT_GT(report.eps, 2 * 1e-3 / ranks);  // the gain of the statistical scope over the guarantee
    o.scope = STRETTO_SCOPE_RESULT_STATISTICAL_95;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_NEAR(report.eps, 1e-3 / (2.0 / 3.0 * std::sqrt(ranks)), 1e-15);
  });
}

// A value is a point of the grid plus a normal error of a third of eps, clamped to eps: quantisation removes this
// error.
TEST(Bounds, StatisticalNormalScopeHoldsFor95PercentOfNormalErrors) {
  on_ranks(7, [](stretto_comm comm, int rank, int ranks) {
    const double bound = 1e-3, eps = bound / (2.0 / 3.0 * std::sqrt(ranks));
    std::vector<double> exact(kN, 0.0);
    std::vector<float> x(kN), y(kN);
    for (int r = 0; r < ranks; ++r) {
      std::mt19937 random(static_cast<unsigned>(r + 1));
      std::normal_distribution<double> error(0, eps / 3);
      for (std::size_t i = 0; i < kN; ++i) {
        double e = error(random);
        while (std::fabs(e) > 0.99 * eps) e = error(random);
        const double point = 2 * eps * (static_cast<double>(random() % 7) - 3);  // the grid is a little finer: near 0
        const auto v = static_cast<float>(point + e);
        exact[i] += double{v};
        if (r == rank) x[i] = v;
      }
    }
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(bound, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT_STATISTICAL_95);
    o.payload = STRETTO_PAYLOAD_FUSED;
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_NEAR(report.eps, eps, 1e-15);
    EXPECT_NEAR(report.promised_error, bound, 1e-15);
    double within = 0;
    for (std::size_t i = 0; i < kN; ++i) within += std::fabs(double{y[i]} - exact[i]) <= bound;
    EXPECT_NEAR(within / kN, 0.9544, 0.0075);  // six standard deviations are 0.7 %
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

TEST(Bounds, IntegersTravelLosslessly) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    std::vector<int> x(kN), y(kN);
    for (std::size_t i = 0; i < kN; ++i) x[i] = static_cast<int>(i / 10) - 700 + rank;
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1.0);
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_I32, STRETTO_SUM, comm, &o));
    for (std::size_t i = 0; i < kN; ++i)
      ASSERT_EQ(y[i], ranks * (static_cast<int>(i / 10) - 700) + ranks * (ranks - 1) / 2);
    EXPECT_EQ(report.promised_error, 0);
    if (ranks > 1) {
      EXPECT_GT(report.ratio, 2);
    }
  });
}

TEST(Bounds, HalfPrecisionAddsHalfAnUlpOfItsOwn) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    // bfloat16 values k/8 with k < 64 are exact, and so are the decoded values.
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
    std::vector<std::uint16_t> x(kN), y(kN);
    for (std::size_t i = 0; i < kN; ++i)
      x[i] = to_bf16(static_cast<float>((i + static_cast<std::size_t>(rank)) % 64) / 8);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-2);
    o.payload = STRETTO_PAYLOAD_FUSED;  // raw values would round at each addition
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_BF16, STRETTO_SUM, comm, &o));
    for (std::size_t i = 0; i < kN; ++i) {
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
    auto x = wave(rank, kN);
    if (rank == 1) x[1234] = NAN;
    if (rank == 2) x[2345] = -INFINITY;
    std::vector<float> y(kN);
    const stretto_options o = bounded(1e-3);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_TRUE(std::isnan(y[1234]));
    EXPECT_EQ(y[2345], -INFINITY);
    EXPECT_NEAR(y[1235], exact_sum(ranks, 1235), 3.001e-3);
  });
}
