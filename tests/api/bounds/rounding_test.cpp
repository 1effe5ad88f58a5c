// A bound for the result holds against exact arithmetic, including rounded additions, for every path: values are
// arbitrary, and bounds are near the type's rounding.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "../exact.hpp"
#include "../ranks.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

constexpr stretto_payload kPayloads[] = {STRETTO_PAYLOAD_AUTO,  STRETTO_PAYLOAD_RAW,    STRETTO_PAYLOAD_RECOMPRESS,
                                         STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_CPRP2P, STRETTO_PAYLOAD_HOMOMORPHIC};
bool may_be_refused(stretto_payload p) {
  return p == STRETTO_PAYLOAD_RAW || p == STRETTO_PAYLOAD_RECOMPRESS || p == STRETTO_PAYLOAD_CPRP2P;
}

template <class T>
class Rounding : public testing::Test {};
using All = testing::Types<F16, BF16, F32, F64>;
TYPED_TEST_SUITE(Rounding, All, TypeNames);
template <class T>
class Overflow : public testing::Test {};
using Narrow = testing::Types<F16, BF16, F32>;  // f64 has no wider type
TYPED_TEST_SUITE(Overflow, Narrow, TypeNames);

}  // namespace

TYPED_TEST(Rounding, ResultBoundIsKeptExactlyOrRefusedByForcedPayloads) {
  using T = TypeParam;
  for (int ranks : {2, 3, 8, 13})
    for (std::size_t count : {std::size_t{64}, std::size_t{1000}}) {
      const auto all = inputs<T>(ranks, count, 3.0);
      on_ranks(ranks, [&](stretto_comm comm, int rank, int) {
        for (double units : {0.1, 3.0, 40.0, 4000.0})
          for (stretto_op op : {STRETTO_SUM, STRETTO_MEAN, STRETTO_DIFFERENCE})
            for (stretto_payload payload : kPayloads) {
              const double bound = units * T::kUnit;
              SCOPED_TRACE(testing::Message() << ranks << " ranks, " << count << " values, bound " << bound
                                              << ", operation " << op << ", payload " << payload);
              stretto_report report = STRETTO_REPORT_INIT;
              stretto_options o = bounded(bound, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT);
              o.payload = payload;
              o.report = &report;
              std::vector<typename T::Bits> y(count);
              const stretto_status s = stretto_allreduce(all[static_cast<std::size_t>(rank)].data(), y.data(), count,
                                                         T::kType, op, comm, &o);
              if (s == STRETTO_INVALID_BOUND && may_be_refused(payload)) {
                EXPECT_LT(units, 4000);
                EXPECT_NE(std::string(stretto_message()).find(std::to_string(ranks) + " contributions"),
                          std::string::npos)
                    << stretto_message();
                continue;
              }
              ASSERT_EQ(s, STRETTO_OK) << stretto_message();
              EXPECT_LE(report.promised_error, bound);
              std::size_t over = 0;
              for (auto i = static_cast<std::size_t>(rank); i < count; i += static_cast<std::size_t>(ranks))
                over += !within<T>(y[i], terms_of<T>(all, i, op), op, report.promised_error);
              EXPECT_EQ(over, 0u) << "more than promised: " << report.promised_error << ", ran " << report.algorithm
                                  << " " << report.payload;
            }
      });
    }
}

TYPED_TEST(Rounding, ReportsSecondErrorHoldsAllRoundingForEveryBound) {
  using T = TypeParam;
  for (int ranks : {2, 3, 7}) {
    constexpr std::size_t part = 60;
    const std::size_t count = part * static_cast<std::size_t>(ranks);
    const auto all = inputs<T>(ranks, count, 3.0);
    on_ranks(ranks, [&](stretto_comm comm, int rank, int) {
      const auto* x = all[static_cast<std::size_t>(rank)].data();
      std::size_t over_promise = 0, infinite = 0;
      for (stretto_scope scope : {STRETTO_SCOPE_RESULT, STRETTO_SCOPE_CONTRIBUTION})
        for (stretto_bound kind : {STRETTO_BOUND_ABSOLUTE, STRETTO_BOUND_RELATIVE})
          for (stretto_op op : {STRETTO_SUM, STRETTO_MEAN, STRETTO_DIFFERENCE})
            for (stretto_payload payload : kPayloads) {
              SCOPED_TRACE(testing::Message() << ranks << " ranks, scope " << scope << ", bound " << kind
                                              << ", operation " << op << ", payload " << payload);
              stretto_report report = STRETTO_REPORT_INIT;
              stretto_options o = bounded(3 * T::kUnit, kind, scope);
              o.payload = payload;
              o.report = &report;
              std::vector<typename T::Bits> y(count), z(part);
              const auto check = [&](const auto& found, std::size_t first) {
                if (std::isinf(report.error_with_rounding)) {
                  ++infinite;
                  EXPECT_TRUE(scope == STRETTO_SCOPE_CONTRIBUTION &&
                              (may_be_refused(payload) || payload == STRETTO_PAYLOAD_AUTO))
                      << report.payload;
                  return;
                }
                EXPECT_GE(report.error_with_rounding, report.promised_error);
                for (std::size_t i = 0; i < found.size(); ++i) {
                  const auto terms = terms_of<T>(all, first + i, op);
                  ASSERT_TRUE(within_all<T>(found[i], terms, op, {report.error_with_rounding}))
                      << i << ", ran " << report.algorithm << " " << report.payload << ", " << report.promised_error
                      << " and " << report.error_with_rounding;
                  over_promise += !within_all<T>(found[i], terms, op, {report.promised_error});
                }
              };
              const stretto_status s = stretto_allreduce(x, y.data(), count, T::kType, op, comm, &o);
              if (s == STRETTO_INVALID_BOUND && may_be_refused(payload)) continue;
              ASSERT_EQ(s, STRETTO_OK) << stretto_message();
              check(y, 0);
              ASSERT_STRETTO_OK(stretto_reduce_scatter_block(x, z.data(), part, T::kType, op, comm, &o));
              check(z, part * static_cast<std::size_t>(rank));
              ASSERT_STRETTO_OK(stretto_reduce(x, rank == 1 ? y.data() : nullptr, count, T::kType, op, 1, comm, &o));
              if (rank == 1) check(y, 0);
            }
      EXPECT_GT(over_promise, 0u);  // the first error has no rounding of the result
      EXPECT_GT(infinite, 0u);
    });
  }
}

TYPED_TEST(Rounding, IsInfiniteWhereTheReportAsksForNoPass) {
  using T = TypeParam;
  constexpr int ranks = 3;
  constexpr std::size_t count = 500;
  const auto all = inputs<T>(ranks, count, 3.0);
  on_ranks(ranks, [&](stretto_comm comm, int rank, int) {
    for (stretto_payload payload : {STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_AUTO}) {
      stretto_report report = STRETTO_REPORT_INIT;
      stretto_options o = bounded(4000 * T::kUnit, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT);
      o.payload = payload;
      o.report = &report;
      std::vector<typename T::Bits> y(count);
      const auto* x = all[static_cast<std::size_t>(rank)].data();
      for (const bool asks : {false, true}) {
        report.error_with_rounding = asks ? 0 : -1;
        ASSERT_STRETTO_OK(stretto_allreduce(x, y.data(), count, T::kType, STRETTO_SUM, comm, &o));
        EXPECT_EQ(std::isinf(report.error_with_rounding), !asks);
        EXPECT_GT(report.promised_error, 0);
      }
    }
  });
}

TYPED_TEST(Rounding, StreamsRoundOnlyTheResultUnderContributionBounds) {
  using T = TypeParam;
  constexpr int ranks = 6;
  constexpr std::size_t count = 1000;
  const auto all = inputs<T>(ranks, count, 3.0);
  on_ranks(ranks, [&](stretto_comm comm, int rank, int) {
    for (double units : {0.1, 3.0, 4000.0})
      for (stretto_payload payload : {STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_HOMOMORPHIC}) {
        stretto_report report = STRETTO_REPORT_INIT;
        stretto_options o = bounded(units * T::kUnit);
        o.payload = payload;
        o.report = &report;
        std::vector<typename T::Bits> y(count);
        const auto* x = all[static_cast<std::size_t>(rank)].data();
        ASSERT_STRETTO_OK(stretto_allreduce(x, y.data(), count, T::kType, STRETTO_SUM, comm, &o));
        EXPECT_DOUBLE_EQ(report.promised_error, ranks * units * T::kUnit);
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_TRUE(within<T>(y[i], terms_of<T>(all, i, STRETTO_SUM), STRETTO_SUM, report.promised_error)) << i;
      }
  });
}

TYPED_TEST(Rounding, SoAreRelativeAndStatisticalOnesInEveryReduction) {
  using T = TypeParam;
  constexpr int ranks = 7;
  constexpr std::size_t part = 50, count = part * ranks;
  const auto all = inputs<T>(ranks, count, 100.0, true);
  double lo = INFINITY, hi = -INFINITY;
  for (const auto& x : all)
    for (auto v : x) lo = std::min(lo, T::value(v)), hi = std::max(hi, T::value(v));
  on_ranks(ranks, [&](stretto_comm comm, int rank, int) {
    const auto* x = all[static_cast<std::size_t>(rank)].data();
    for (stretto_scope scope : {STRETTO_SCOPE_RESULT, STRETTO_SCOPE_RESULT_STATISTICAL_95}) {
      const double fraction = 2 * T::kUnit, bound = fraction * (hi - lo);
      stretto_report report = STRETTO_REPORT_INIT;
      stretto_options o = bounded(fraction, STRETTO_BOUND_RELATIVE, scope);
      o.report = &report;
      o.check = scope == STRETTO_SCOPE_RESULT ? 0 : 1;
      const auto check = [&](const auto& y, std::size_t first) {
        EXPECT_LE(report.promised_error, bound);
        std::size_t over = 0;
        for (std::size_t i = 0; i < y.size(); ++i)
          over += !within<T>(y[i], terms_of<T>(all, first + i, STRETTO_SUM), STRETTO_SUM, bound);
        if (scope == STRETTO_SCOPE_RESULT)
          EXPECT_EQ(over, 0u) << report.algorithm << " " << report.payload;
        else
          EXPECT_LE(over, y.size() / 3);
      };
      std::vector<typename T::Bits> y(count), z(part);
      for (int again = 0; again < 3; ++again) {
        ASSERT_STRETTO_OK(stretto_allreduce(x, y.data(), count, T::kType, STRETTO_SUM, comm, &o));
        check(y, 0);
      }
      stretto_request request = nullptr;
      ASSERT_STRETTO_OK(stretto_iallreduce(x, y.data(), count, T::kType, STRETTO_SUM, comm, &o, &request));
      ASSERT_STRETTO_OK(stretto_wait(request));
      ASSERT_STRETTO_OK(stretto_request_free(&request));
      check(y, 0);
      ASSERT_STRETTO_OK(stretto_reduce_scatter_block(x, z.data(), part, T::kType, STRETTO_SUM, comm, &o));
      check(z, part * static_cast<std::size_t>(rank));
      ASSERT_STRETTO_OK(stretto_reduce(x, y.data(), count, T::kType, STRETTO_SUM, 2, comm, &o));
      if (rank == 2) check(y, 0);
    }
  });
}

TYPED_TEST(Rounding, SeveralInputsOnARankCountEach) {
  using T = TypeParam;
  constexpr int ranks = 3;
  constexpr std::size_t count = 200;
  const auto all = inputs<T>(2 * ranks, count, 1.0);
  on_ranks(ranks, [&](stretto_comm comm, int rank, int) {
    const auto r = static_cast<std::size_t>(rank);
    const void* mine[] = {all[2 * r].data(), all[2 * r + 1].data()};
    for (stretto_payload payload : kPayloads) {
      const double bound = 12 * T::kUnit;
      stretto_options o = bounded(bound, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT);
      o.payload = payload;
      std::vector<typename T::Bits> y(count);
      const stretto_status s = stretto_allreduce_multi(mine, 2, y.data(), count, T::kType, STRETTO_SUM, comm, &o);
      if (s == STRETTO_INVALID_BOUND && may_be_refused(payload)) continue;
      ASSERT_EQ(s, STRETTO_OK) << stretto_message();
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_TRUE(within<T>(y[i], terms_of<T>(all, i, STRETTO_SUM), STRETTO_SUM, bound)) << payload;
    }
  });
}

TYPED_TEST(Overflow, AMeanWhoseSumOverflowsIsWithinABoundForTheResult) {
  using T = TypeParam;
  for (int ranks : {2, 3}) {
    constexpr std::size_t count = 500;
    const auto all = inputs<T>(ranks, count, 0.95 * T::kLargest, true);
    on_ranks(ranks, [&](stretto_comm comm, int rank, int) {
      for (stretto_payload payload : kPayloads) {
        const double bound = 1e-4 * T::kLargest;
        stretto_options o = bounded(bound, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT);
        o.payload = payload;
        std::vector<typename T::Bits> y(count);
        const auto* x = all[static_cast<std::size_t>(rank)].data();
        const stretto_status s = stretto_allreduce(x, y.data(), count, T::kType, STRETTO_MEAN, comm, &o);
        if (may_be_refused(payload)) {
          EXPECT_EQ(s, STRETTO_INVALID_BOUND);
          EXPECT_NE(std::string(stretto_message()).find("overflow"), std::string::npos) << stretto_message();
          continue;
        }
        ASSERT_EQ(s, STRETTO_OK) << stretto_message();
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_TRUE(within<T>(y[i], terms_of<T>(all, i, STRETTO_MEAN), STRETTO_MEAN, bound)) << payload;
      }
    });
  }
}

TEST(RawSums, ServeWhereRoundingFitsTheBoundAndReportTheirError) {
  on_ranks(5, [](stretto_comm comm, int rank, int) {
    const auto x = wave(rank, 100);
    std::vector<float> y(100);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-3, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT);
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 100, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_STREQ(report.payload, "raw");
    EXPECT_GT(report.promised_error, 0);
    EXPECT_LT(report.promised_error, 9.1 * 0x1p-24 * 1.01);  // sums of 2, 3 and 4 values of at most 1.001
    o.bound = 1e-8;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 100, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_STRNE(report.payload, "raw");
    EXPECT_LE(report.promised_error, 1e-8);
    // For each contribution it stays as it was: the rounding of additions comes on top.
    o.scope = STRETTO_SCOPE_CONTRIBUTION;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 100, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_STREQ(report.payload, "raw");
    EXPECT_EQ(report.promised_error, 0);
  });
}

TEST(RawSums, HaveNoSecondErrorWhereNobodyLooksAtThem) {
  on_ranks(2, [](stretto_comm comm, int rank, int) {
    const auto x = wave(rank, 100);
    std::vector<float> y(100);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = STRETTO_OPTIONS_INIT;
    o.report = &report;
    for (int again = 0; again < 3; ++again) {
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 100, STRETTO_F32, STRETTO_SUM, comm, &o));
      EXPECT_TRUE(std::isinf(report.error_with_rounding));
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 100, STRETTO_F32, STRETTO_MAX, comm, &o));
      EXPECT_EQ(report.error_with_rounding, 0);
      ASSERT_STRETTO_OK(stretto_bcast(y.data(), 100, STRETTO_F32, 0, comm, &o));
      EXPECT_EQ(report.error_with_rounding, 0);
    }
    report.size = offsetof(stretto_report, error_with_rounding);  // a caller that was compiled before there was one
    report.error_with_rounding = 7;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 100, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(report.error_with_rounding, 7);
  });
}

TEST(RawSums, OfARangeOfZeroSayHowMuchTheyRound) {
  on_ranks(5, [](stretto_comm comm, int, int) {
    const std::vector<float> x(50, 0.1f);
    std::vector<float> y(50);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-3, STRETTO_BOUND_RELATIVE, STRETTO_SCOPE_RESULT);
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 50, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_STREQ(report.payload, "raw");
    EXPECT_GT(report.promised_error, 0);
    EXPECT_LE(std::fabs(y[0] - 5 * double{0.1f}), report.promised_error + half_ulp(y[0]));
  });
}
