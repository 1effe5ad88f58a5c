// The eps and the error of the result that follow from a bound.
#include "select/error_bound.hpp"

#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "select/part_eps.hpp"

using namespace stretto;
using namespace stretto::call;
using namespace stretto::select;
using payload::Kind;

namespace {

Call allreduce(double bound, stretto_scope scope = STRETTO_SCOPE_CONTRIBUTION, stretto_op op = STRETTO_SUM) {
  Call c;
  c.collective = Collective::allreduce;
  c.type = STRETTO_F32;
  c.op = op;
  c.settings.options.bound_kind = STRETTO_BOUND_ABSOLUTE;
  c.settings.options.bound = bound;
  c.settings.options.scope = scope;
  return c;
}

const AgreedValues kNothingAgreed;  // no range is agreed on

Status eps_of(const Call& c, const Terms& t, const AgreedValues& agreed, double* eps) {
  return select::eps_of(c, t, agreed, absolute_bound(c, agreed), eps);
}

}  // namespace

TEST(ErrorBound, GuaranteedScopeNeverPromisesMoreThanTheBound) {
  for (double bound : {1e-3, 0.1, 1.0 / 3, 1e300, 5e-324})
    for (std::uint64_t K : {1u, 2u, 3u, 7u, 1000u})
      for (stretto_op op : {STRETTO_SUM, STRETTO_DIFFERENCE, STRETTO_MEAN, STRETTO_MIN})
        for (auto kind : {Kind::fused, Kind::homomorphic, Kind::recompress, Kind::cprp2p}) {
          const Call c = allreduce(bound, STRETTO_SCOPE_RESULT, op);
          double eps = -1;
          const Status s = eps_of(c, {kind, K, 5}, kNothingAgreed, &eps);
          if (bound < 1e-300 && s == Status::invalid_bound) continue;  // nothing is left for each
          ASSERT_EQ(s, Status::ok);
          EXPECT_LE(eps * error_factor(c, {kind, K, 5}), bound);
          if (bound > 1e-300 && bound < 1e30) {  // beyond, raw sums of f32 would overflow
            EXPECT_GT(eps * error_factor(c, {kind, K, 5}), 0.999 * bound);
          }
        }
}

TEST(ErrorBound, PartsNeverPromiseMoreThanTheirBound) {
  const double least = std::numeric_limits<double>::denorm_min();
  for (const int ranks : {1, 2, 3, 5, 7, 1000}) {
    for (const double largest : {1e-320, 1e-300, 0.3, 1e300}) {
      Call c = allreduce(largest, STRETTO_SCOPE_RESULT);
      const Terms t{Kind::fused, static_cast<std::uint64_t>(ranks), ranks};
      double eps = 0;
      if (eps_of(c, t, kNothingAgreed, largest, &eps) != Status::ok) continue;
      EXPECT_EQ(eps_of_part(eps, largest, largest), eps);
      for (const double bound : {least, 2 * least, 3 * least, 1000 * least, 1e-320, 0x1p-1022, 1e-307, 1e-3, 0.1}) {
        if (bound >= largest) continue;
        const double e = eps_of_part(eps, largest, bound);
        EXPECT_LE(error_of(c, t, kNothingAgreed, e), bound) << ranks << " " << largest << " " << bound;
        EXPECT_TRUE(bound < 1e-300 || e > bound / ranks * (1 - 1e-14)) << e;
        EXPECT_TRUE(bound < 10 * ranks * least || e > 0) << bound;
      }
    }
  }
  EXPECT_EQ(eps_of_part(1.0 / 3, 1, least), 0);
#if defined(__x86_64__)
  const unsigned before = _mm_getcsr();
  const double usual = eps_of_part(1e-3 / 3, 1e-3, 3e-310);
  _mm_setcsr(before | 0x8040 | 0x4000);  // no subnormal numbers, and rounding upwards
  const double other = eps_of_part(1e-3 / 3, 1e-3, 3e-310);
  _mm_setcsr(before);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(usual), std::bit_cast<std::uint64_t>(other));
  EXPECT_GT(usual, 0);
#endif
}

TEST(ErrorBound, HostsThatAddRawCountOnceEach) {
  Call c = allreduce(1e-3, STRETTO_SCOPE_RESULT);
  EXPECT_EQ(error_factor(c, {Kind::fused, 8, 8, 2}), 2);
  EXPECT_EQ(error_factor(c, {Kind::recompress, 8, 8, 2}), 3);
  c.op = STRETTO_MEAN;
  EXPECT_EQ(error_factor(c, {Kind::fused, 8, 8, 2}), 0.25);
}

TEST(ErrorBound, ShortRawMessagesCountOneContributionMore) {
  Call c = allreduce(1e-3, STRETTO_SCOPE_RESULT);
  EXPECT_EQ(error_factor(c, {Kind::fused, 8, 8, 0, 0, true}), 9);
  c.op = STRETTO_MEAN;
  EXPECT_EQ(error_factor(c, {Kind::homomorphic, 8, 8, 0, 0, true}), 9.0 / 8);
  c.op = STRETTO_MAX;
  EXPECT_EQ(error_factor(c, {Kind::fused, 8, 8, 0, 0, true}), 1);
}

TEST(ErrorBound, StatisticalScopeFollowsItsFormula) {
  const double bound = 1e-3;
  const auto eps_for = [&](stretto_scope scope, std::uint64_t K, stretto_op op) {
    Call c = allreduce(bound, scope);
    c.op = op;
    double eps = 0;
    EXPECT_EQ(eps_of(c, {Kind::fused, K, 36}, kNothingAgreed, &eps), Status::ok);
    return eps;
  };
  EXPECT_NEAR(eps_for(STRETTO_SCOPE_RESULT_STATISTICAL_95, 36, STRETTO_SUM), bound / 4, 1e-18);
  EXPECT_NEAR(eps_for(STRETTO_SCOPE_RESULT_STATISTICAL_95, 36, STRETTO_MEAN), bound * 9, 1e-16);
  EXPECT_NEAR(eps_for(STRETTO_SCOPE_RESULT_STATISTICAL_95_UNIFORM, 3, STRETTO_SUM), bound / 2, 1e-18);
  EXPECT_EQ(eps_for(STRETTO_SCOPE_RESULT_STATISTICAL_95, 36, STRETTO_MAX), bound);
  EXPECT_EQ(eps_for(STRETTO_SCOPE_RESULT_STATISTICAL_95, 2, STRETTO_SUM), bound / 2);
}

AgreedValues ranges(codec::Interval all, codec::Interval below) {
  AgreedValues agreed;
  agreed.values = {all, below};
  return agreed;
}
AgreedValues range(double lo, double hi) {  // of the values below the threshold
  return ranges({-INFINITY, INFINITY}, {lo, hi});
}

TEST(ErrorBound, RelativeBoundsScaleWithTheRange) {
  Call c = allreduce(1e-2);
  c.settings.options.bound_kind = STRETTO_BOUND_RELATIVE;
  double eps = 0;
  ASSERT_EQ(eps_of(c, {Kind::fused, 2, 2}, range(-1, 3), &eps), Status::ok);
  EXPECT_NEAR(eps, 0.04, 1e-15);
  ASSERT_EQ(eps_of(c, {Kind::fused, 2, 2}, range(2, 2), &eps), Status::ok);
  EXPECT_EQ(eps, 0);  // exact
  ASSERT_EQ(eps_of(c, {Kind::fused, 2, 2}, range(INFINITY, -INFINITY), &eps), Status::ok);
  EXPECT_EQ(eps, 0);  // no value
  const double max = std::numeric_limits<double>::max();
  ASSERT_EQ(eps_of(c, {Kind::fused, 2, 2}, range(-max, max), &eps), Status::ok);
  EXPECT_NEAR(eps / max, 0.02, 1e-12);
  c.settings.options.bound = 2;
  EXPECT_EQ(eps_of(c, {Kind::fused, 2, 2}, range(-max, max), &eps), Status::invalid_bound);
}

TEST(ErrorBound, AFractionOfANarrowRangeFarFromZeroKeepsItsDigits) {
  Call c = allreduce(0.1);
  c.type = STRETTO_F64;
  c.settings.options.bound_kind = STRETTO_BOUND_RELATIVE;
  double eps = 0;
  ASSERT_EQ(eps_of(c, {Kind::fused, 2, 2}, range(4e15, 4e15 + 1), &eps), Status::ok);
  EXPECT_EQ(eps, 0.1);
}

TEST(ErrorBound, AResultBoundCoversQuantisationAndAdditions) {
  const AgreedValues values = ranges({-2, 8}, {-2, 8});
  for (const stretto_type type : {STRETTO_F16, STRETTO_BF16, STRETTO_F32, STRETTO_F64})
    for (const double bound : {1e-12, 1e-5, 0.3, 20.0, 1e4})
      for (const std::uint64_t K : {1u, 2u, 3u, 50u, 3000u})
        for (const stretto_op op : {STRETTO_SUM, STRETTO_DIFFERENCE, STRETTO_MEAN, STRETTO_MIN})
          for (const Terms& t : {Terms{Kind::raw, K, 4}, Terms{Kind::recompress, K, 4}, Terms{Kind::cprp2p, K, 4},
                                 Terms{Kind::fused, K, 4}, Terms{Kind::fused, K, 4, 2, 2 * roundings(2)},
                                 Terms{Kind::fused, K, 4, 0, 0, true}}) {
            Call c = allreduce(bound, STRETTO_SCOPE_RESULT, op);
            c.type = type;
            double eps = -1;
            const Status s = eps_of(c, t, values, &eps);
            const bool in_codes = t.kind == Kind::fused && t.hosts == 0 && !t.some_raw;
            if (K == 1 || op == STRETTO_MIN || in_codes) {
              ASSERT_EQ(s, Status::ok);
              EXPECT_EQ(eps > 0, t.kind != Kind::raw);
            }
            if (s != Status::ok) {
              EXPECT_EQ(s, Status::invalid_bound);
              const bool too_many = static_cast<double>(K) * (type == STRETTO_BF16  ? 0x1p-8
                                                              : type == STRETTO_F16 ? 0x1p-11
                                                                                    : 0) >
                                    0.5;
              EXPECT_NE(std::string(message()).find(too_many ? "has no bound" : "contributions of up to 8"),
                        std::string::npos)
                  << message();
              continue;
            }
            EXPECT_LE(error_of(c, t, values, eps), bound);
          }
}

TEST(ErrorBound, WhatMayAddRawIsNeverRefusedWhereNothingIsForced) {
  const AgreedValues values = ranges({-2, 8}, {-2, 8});
  int alone = 0, open = 0;
  for (const stretto_type type : {STRETTO_F16, STRETTO_BF16, STRETTO_F32, STRETTO_F64})
    for (double bound = 1e-17; bound < 1e3; bound *= 3)
      for (const int p : {2, 3, 6, 50, 3000})
        for (const stretto_op op : {STRETTO_SUM, STRETTO_MEAN}) {
          Call c = allreduce(bound, STRETTO_SCOPE_RESULT, op);
          c.type = type;
          const auto K = static_cast<std::uint64_t>(p);
          if (adds_codes_alone(c, values, absolute_bound(c, values), K, p)) {
            ++alone;
            continue;
          }
          ++open;
          double eps = 0;
          EXPECT_EQ(eps_of(c, {Kind::raw, K, p}, values, &eps), Status::ok);
          if (!rounds(c, p)) continue;
          for (int first = 1; first < std::min(p, 9); ++first) {  // ranks of the first of two hosts
            const double inside = roundings(first) + roundings(p - first);
            EXPECT_EQ(eps_of(c, {Kind::fused, K, p, 2, inside}, values, &eps), Status::ok);
          }
        }
  EXPECT_GT(alone, 50);
  EXPECT_GT(open, 50);
}

TEST(ErrorBound, TwoValuesAndContributionBoundsNeedNoMagnitude) {
  for (const stretto_payload payload : {STRETTO_PAYLOAD_AUTO, STRETTO_PAYLOAD_RAW}) {
    Call c = allreduce(1e-3, STRETTO_SCOPE_RESULT);
    c.settings.options.payload = payload;
    EXPECT_FALSE(rounds(c, 2));
    EXPECT_TRUE(rounds(c, 3));
    c.op = STRETTO_MAX;
    EXPECT_FALSE(rounds(c, 3));
    c.op = STRETTO_MEAN;
    EXPECT_TRUE(rounds(c, 2));  // whose sum may overflow
    c.settings.options.scope = STRETTO_SCOPE_CONTRIBUTION;
    EXPECT_FALSE(rounds(c, 3));
    c.settings.options.scope = STRETTO_SCOPE_RESULT_STATISTICAL_95;
    EXPECT_TRUE(rounds(c, 3));
    c.settings.options.bound_kind = STRETTO_BOUND_NONE;
    EXPECT_FALSE(rounds(c, 3));
    c.settings.options.bound_kind = STRETTO_BOUND_ABSOLUTE;
    c.type = STRETTO_I32;
    EXPECT_FALSE(rounds(c, 3));
  }
  Call c = allreduce(1e-3, STRETTO_SCOPE_RESULT);
  c.settings.options.payload = STRETTO_PAYLOAD_FUSED;
  EXPECT_FALSE(rounds(c, 3));
  c.settings.options.payload = STRETTO_PAYLOAD_RECOMPRESS;
  EXPECT_TRUE(rounds(c, 2));
}
