// Relative bounds are of the range of all ranks' values; bounds that nothing can keep are refused.
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <limits>
#include <string>

#include "bounds.hpp"

using namespace api_test;

TEST(Bounds, RelativeBoundIsAFractionOfTheRangeOverAllRanks) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    // The values of rank r are in [r, r + 1]; an infinity, NaN and an empty input must not count.
    std::vector<float> x(kN), y(kN);
    for (std::size_t i = 0; i < kN; ++i) x[i] = static_cast<float>(rank) + static_cast<float>(i % 1001) / 1000.0f;
    if (rank == ranks - 1) {
      x[7] = INFINITY;
      x[8] = NAN;
    }
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-4, STRETTO_BOUND_RELATIVE);
    o.payload = STRETTO_PAYLOAD_FUSED;  // streams, whatever would be chosen here
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_MAX, comm, &o));
    EXPECT_NEAR(report.eps, 1e-4 * ranks, 1e-9);
    for (std::size_t i = 9; i < kN; ++i)
      ASSERT_LE(std::fabs(y[i] - (static_cast<float>(ranks - 1) + static_cast<float>(i % 1001) / 1000.0f)),
                report.promised_error + half_ulp(y[i]));
  });
}

#if defined(__x86_64__)
TEST(Bounds, RelativeBoundIsTheSameHoweverARankRoundsAndFlushes) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040, upward = 0x4000, downward = 0x2000;
    constexpr unsigned modes[] = {0, flush_to_zero | denormals_are_zero, upward, downward};
    // Smaller values are denormal numbers; a third of the range is rounded.
    std::vector<double> x(kN), y(kN), values;
    for (std::size_t i = 0; i < kN; ++i) x[i] = static_cast<double>(i * 7 % 1001 + 1) * 1e-310;
    for (const auto payload : {STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_HOMOMORPHIC})
      for (const double bound : {1.0 / 3, 0.1}) {
        stretto_report report = STRETTO_REPORT_INIT;
        stretto_options o = bounded(bound, STRETTO_BOUND_RELATIVE);
        o.payload = payload;
        o.report = &report;
        const unsigned before = _mm_getcsr();
        _mm_setcsr(before | modes[rank % 4]);
        const stretto_status done = stretto_allreduce(x.data(), y.data(), kN, STRETTO_F64, STRETTO_MIN, comm, &o);
        const unsigned after = _mm_getcsr();
        _mm_setcsr(before);
        EXPECT_EQ(after & 0xffc0u, (before | modes[rank % 4]) & 0xffc0u);
        ASSERT_EQ(done, STRETTO_OK) << stretto_message();
        EXPECT_EQ(report.eps, bound * (*std::max_element(x.begin(), x.end()) - 1e-310)) << "of " << ranks;
      }
  });
}
#endif

TEST(Bounds, RelativeRangeIgnoresRanksWithoutFiniteValues) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    std::vector<float> x(kN, rank == 1 ? NAN : 0.0f), y(kN);
    if (rank != 1)
      for (std::size_t i = 0; i < kN; ++i) x[i] = 100.0f + static_cast<float>(i % 11) / 10.0f;
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-3, STRETTO_BOUND_RELATIVE);
    o.payload = STRETTO_PAYLOAD_FUSED;  // streams, whatever would be chosen here
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_NEAR(report.eps, 1e-3, 1e-8);  // the range is 1, not 101
    EXPECT_TRUE(std::isnan(y[0]));
  });
}

TEST(Bounds, ARangeOfZeroIsExact) {
  on_all_ranks([](stretto_comm comm, int, int ranks) {
    const std::vector<float> x(kN, 0.1f);
    std::vector<float> y(kN);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-2, STRETTO_BOUND_RELATIVE);
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_MAX, comm, &o));
    EXPECT_EQ(y, x) << ranks;
    EXPECT_STREQ(report.payload, "raw");
    EXPECT_EQ(report.promised_error, 0);
  });
}

TEST(Bounds, NoFiniteValueOnAnyRankIsExact) {
  on_all_ranks([](stretto_comm comm, int, int) {
    const std::vector<float> x(kN, INFINITY);
    std::vector<float> y(kN);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-2, STRETTO_BOUND_RELATIVE);
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(y, x);
    EXPECT_STREQ(report.payload, "raw");
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
