// A relative bound is a fraction of the range of the values below ignore_above, over all ranks. The other values arrive
// exactly, and the report has their number and the range that includes them.
#include <bit>
#include <string>

#include "bounds/bounds.hpp"
#include "fill_values.hpp"
#include "stretto/stretto_nonblocking.h"
#include "stretto/stretto_stream.h"

using namespace api_test;

namespace {

// The inputs of `ranks` ranks, of which `has` says whether they have fill values.
template <class Has>
std::vector<std::vector<float>> inputs(int ranks, const Has& has) {
  std::vector<std::vector<float>> all;
  for (int r = 0; r < ranks; ++r) all.push_back(filled(r, kN, has(r) ? 50 : 0));
  return all;
}

stretto_options relative(double bound, stretto_payload payload, stretto_report* report) {
  stretto_options o = bounded(bound, STRETTO_BOUND_RELATIVE);
  o.payload = payload;
  o.report = report;
  return o;
}

// One allreduce: rank 0's report, and its result.
struct Ran {
  stretto_report report = STRETTO_REPORT_INIT;
  std::vector<float> y;
};
Ran allreduce(const std::vector<std::vector<float>>& all, double bound, stretto_op op = STRETTO_SUM,
              stretto_payload payload = STRETTO_PAYLOAD_FUSED, double ignore_above = 0) {
  Ran ran;
  on_ranks(static_cast<int>(all.size()), [&](stretto_comm comm, int rank, int) {
    const auto& x = all[static_cast<std::size_t>(rank)];
    std::vector<float> y(x.size());
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = relative(bound, payload, &report);
    o.ignore_above = ignore_above;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, op, comm, &o));
    if (rank == 0) ran = {report, y};
  });
  return ran;
}

Ran with_threshold(const std::vector<std::vector<float>>& all, double ignore_above) {
  return allreduce(all, 1e-4, STRETTO_SUM, STRETTO_PAYLOAD_FUSED, ignore_above);
}

void expect_reported(const stretto_report& r, const Ends& below, const Ends& all) {
  EXPECT_EQ(r.ignored, below.ignored);
  EXPECT_EQ(r.range_lo, below.lo);
  EXPECT_EQ(r.range_hi, below.hi);
  EXPECT_EQ(r.ignored_lo, all.lo);
  EXPECT_EQ(r.ignored_hi, all.hi);
}

}  // namespace

TEST(IgnoredValues, AreLeftOutOfTheRangeOnWhateverRanksTheyAre) {
  for (const int ranks : kRankCounts)
    for (const int which : {0, 1, 2}) {
      const auto all = inputs(ranks, [&](int r) { return which == 0 || r == (which == 1 ? 0 : ranks - 1); });
      const double eps = 1e-4 * ends_of(all).width();
      for (const stretto_payload payload : {STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_HOMOMORPHIC}) {
        const Ran ran = allreduce(all, 1e-4, STRETTO_SUM, payload);
        ASSERT_DOUBLE_EQ(ran.report.eps, eps) << ranks << " ranks, " << which;
        expect_reported(ran.report, ends_of(all), ends_of(all, INFINITY));
        expect_sum(ran.y, all, eps);
      }
    }
}

TEST(IgnoredValues, DoNotWeakenTheBoundOfAnyPayloadOrOperation) {
  const auto all = inputs(3, [](int r) { return r != 1; });
  const double eps = 1e-4 * ends_of(all).width();
  for (const stretto_payload payload :
       {STRETTO_PAYLOAD_AUTO, STRETTO_PAYLOAD_RECOMPRESS, STRETTO_PAYLOAD_CPRP2P, STRETTO_PAYLOAD_FUSED})
    for (const stretto_op op : {STRETTO_MAX, STRETTO_MIN, STRETTO_MEAN}) {
      const Ran ran = allreduce(all, 1e-4, op, payload);
      for (std::size_t i = 0; i < kN; ++i) {
        double exact = op == STRETTO_MEAN ? 0 : double{all[0][i]};
        for (const auto& x : all) {
          const double v = x[i];
          exact = op == STRETTO_MEAN ? exact + v / 3 : op == STRETTO_MAX ? std::max(exact, v) : std::min(exact, v);
        }
        if (exact > 1e15)
          ASSERT_NEAR(ran.y[i] / exact, 1, 1e-6) << i;
        else
          ASSERT_LE(std::fabs(ran.y[i] - exact), (op == STRETTO_MEAN ? 2 : 1) * eps + 4 * half_ulp(ran.y[i])) << i;
      }
    }
}

TEST(IgnoredValues, AreLeftOutWhereOneRankHasNothingElse) {
  auto all = inputs(3, [](int) { return false; });
  std::fill(all[1].begin(), all[1].end(), kFill);
  const double eps = 1e-4 * ends_of(all).width();
  const Ran ran = allreduce(all, 1e-4);
  EXPECT_DOUBLE_EQ(ran.report.eps, eps);
  expect_reported(ran.report, ends_of(all), ends_of(all, INFINITY));
  expect_sum(ran.y, all, eps);
}

TEST(IgnoredValues, AreAllThereIsAndThenEverythingIsExact) {
  std::vector<std::vector<float>> all(3, std::vector<float>(kN, kFill));
  all[2][7] = 3 * kFill;
  const Ran ran = allreduce(all, 1e-4);
  EXPECT_STREQ(ran.report.payload, "raw");
  EXPECT_EQ(ran.report.eps, 0);
  EXPECT_EQ(ran.report.ignored, 3 * kN);
  EXPECT_EQ(ran.report.range_lo, 0);
  EXPECT_EQ(ran.report.range_hi, 0);
  EXPECT_EQ(ran.report.ignored_lo, kFill);
  EXPECT_EQ(ran.report.ignored_hi, 3 * kFill);
  EXPECT_EQ(ran.y[9], kFill + kFill + kFill);
  const Ran counted = with_threshold(all, INFINITY);
  EXPECT_NEAR(counted.report.eps, 2e16, 1e10);
  EXPECT_EQ(counted.report.ignored, 0u);
  EXPECT_NEAR(counted.y[9], 3e20, 3 * 2e16 + 3e13);
}

TEST(IgnoredValues, LeaveDataExactThatHaveNoRangeWithoutThem) {
  std::vector<std::vector<float>> all(3, std::vector<float>(kN, 5.5f));
  all[1][77] = kFill;
  const Ran ran = allreduce(all, 1e-2, STRETTO_MAX);
  EXPECT_STREQ(ran.report.payload, "raw");
  EXPECT_EQ(ran.report.ignored, 1u);
  EXPECT_EQ(ran.report.range_lo, 5.5);
  EXPECT_EQ(ran.report.range_hi, 5.5);
  EXPECT_EQ(ran.y[0], 5.5f);
  EXPECT_EQ(ran.y[77], kFill);
}

// No other rule: neither how far they are from the rest, nor how much they differ.
TEST(IgnoredValues, AreThoseOfTheThresholdAndMoreWhateverTheRest) {
  const float least = std::nextafter(1e15f, 2e15f), below = 1e15f;  // as a float rounds it
  ASSERT_LT(double{below}, 1e15);
  ASSERT_GE(double{least}, 1e15);
  auto all = inputs(3, [](int) { return false; });
  all[0][1] = -kFill;
  all[1][2] = 200 * kFill;
  all[2][3] = least;
  all[2][4] = below;
  const Ran ran = allreduce(all, 1e-4);
  EXPECT_EQ(ran.report.ignored, 3u);
  expect_reported(ran.report, ends_of(all), ends_of(all, INFINITY));
  EXPECT_EQ(ran.report.range_hi, below);
  EXPECT_NEAR(ran.report.eps, 1e11, 1e6);
  EXPECT_NEAR(ran.y[1], -kFill, kFill * 1e-6);
}

TEST(IgnoredValues, AreThoseOfTheCallersThreshold) {
  auto all = inputs(3, [](int) { return false; });
  all[0][1] = -9999;
  all[1][2] = 9998;
  const Ran exactly = with_threshold(all, 9999), lower = with_threshold(all, 9998), none = with_threshold(all, 0);
  expect_reported(exactly.report, ends_of(all, 9999), ends_of(all, INFINITY));
  EXPECT_EQ(exactly.report.ignored, 1u);
  EXPECT_EQ(exactly.report.range_hi, 9998);
  expect_reported(lower.report, ends_of(all, 9998), ends_of(all, INFINITY));
  EXPECT_EQ(lower.report.ignored, 2u);
  EXPECT_DOUBLE_EQ(lower.report.eps, 1e-4 * ends_of(all, 9998).width());
  EXPECT_NEAR(lower.y[1], -9999 + all[1][1] + all[2][1], 3 * lower.report.eps + 1e-3);
  EXPECT_EQ(none.report.ignored, 0u);
  EXPECT_EQ(none.report.range_lo, -9999);
  EXPECT_EQ(none.report.ignored_lo, -9999);
}

TEST(IgnoredValues, AreNoneWhereTheThresholdIsInfinite) {
  const auto all = inputs(3, [](int r) { return r == 1; });
  const Ran ran = with_threshold(all, INFINITY);
  EXPECT_NEAR(ran.report.eps, 1e16, 1e10);
  expect_reported(ran.report, ends_of(all, INFINITY), ends_of(all, INFINITY));
}

TEST(IgnoredValues, AreNotLookedForWithoutARelativeBound) {
  const auto all = inputs(3, [](int r) { return r == 1; });
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const auto& x = all[static_cast<std::size_t>(rank)];
    std::vector<float> y(kN);
    stretto_report report = STRETTO_REPORT_INIT;
    for (const stretto_scope scope : {STRETTO_SCOPE_CONTRIBUTION, STRETTO_SCOPE_RESULT}) {
      stretto_options o = bounded(1e-2, STRETTO_BOUND_ABSOLUTE, scope);
      o.report = &report;
      o.ignore_above = rank;  // of no account
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_MAX, comm, &o));
      expect_reported(report, {0, 0, 0}, {0, 0, 0});
    }
  });
}

TEST(IgnoredValues, HaveAThresholdThatIsANumberAndNotNegative) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    const std::vector<float> x(8, 1.0f);
    std::vector<float> y(8);
    for (const double bad : {-1.0, double{NAN}, -double{INFINITY}}) {
      stretto_options o = rank == 1 ? defaults() : bounded(1e-3, STRETTO_BOUND_RELATIVE);
      o.ignore_above = bad;
      EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 8, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_INVALID_ARGUMENT);
      const std::string told =
          bad < 0 ? (bad == -1 ? "ignore_above is -1" : "ignore_above is -inf") : "ignore_above is nan";
      EXPECT_NE(std::string(stretto_message()).find(told), std::string::npos) << stretto_message();
    }
  });
}

TEST(IgnoredValues, OfOtherTypesAreExactToo) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    std::vector<double> x(kN), y(kN);
    std::vector<std::uint16_t> h(kN), k(kN);  // bfloat16
    const auto bf16 = [](float v) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(v) >> 16); };
    for (std::size_t i = 0; i < kN; ++i) {
      const float v = static_cast<float>(i % 100) - 50;
      x[i] = rank == 1 && i % 9 == 0 ? 9.96920996838687e36 : v;
      h[i] = bf16(rank == 1 && i % 9 == 0 ? -1e20f : v);
    }
    stretto_report report = STRETTO_REPORT_INIT;
    const stretto_options o = relative(1e-3, STRETTO_PAYLOAD_FUSED, &report);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F64, STRETTO_SUM, comm, &o));
    EXPECT_NEAR(report.eps, 0.099, 1e-9);
    for (std::size_t i = 0; i < kN; ++i)
      if (i % 9 == 0)
        ASSERT_EQ(y[i], 9.96920996838687e36);
      else
        ASSERT_NEAR(y[i], 3 * (static_cast<double>(i % 100) - 50), 0.3);
    ASSERT_STRETTO_OK(stretto_allreduce(h.data(), k.data(), kN, STRETTO_BF16, STRETTO_MIN, comm, &o));
    EXPECT_NEAR(report.eps, 0.099, 1e-9);
    for (std::size_t i = 0; i < kN; i += 9) ASSERT_EQ(k[i], bf16(-1e20f));
  });
}

TEST(IgnoredValues, CountInTheRoundingOfABoundForTheResult) {
  const auto all = inputs(3, [](int r) { return r == 2; });
  const double bound = 1e-4 * ends_of(all).width();
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const auto& x = all[static_cast<std::size_t>(rank)];
    std::vector<float> y(kN);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = relative(1e-4, STRETTO_PAYLOAD_AUTO, &report);
    o.scope = STRETTO_SCOPE_RESULT;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_LE(report.promised_error, bound);
    EXPECT_GT(report.eps, 0);
    expect_sum(y, all, bound / 3);
    o.payload = STRETTO_PAYLOAD_RECOMPRESS;  // rounds sums of fill values by more than the bound
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_INVALID_BOUND);
    EXPECT_NE(std::string(stretto_message()).find("contributions of up to 1.000"), std::string::npos)
        << stretto_message();
  });
}

TEST(IgnoredValues, AreLeftOutInMovesAndStartedForms) {
  const auto all = inputs(3, [](int r) { return r == 0; });
  const double eps = 1e-4 * ends_of(all).width();
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const auto& x = all[static_cast<std::size_t>(rank)];
    std::vector<float> y(3 * kN);
    stretto_report report = STRETTO_REPORT_INIT;
    const stretto_options o = relative(1e-4, STRETTO_PAYLOAD_FUSED, &report);
    ASSERT_STRETTO_OK(stretto_allgather(x.data(), y.data(), kN, STRETTO_F32, comm, &o));
    EXPECT_DOUBLE_EQ(report.eps, eps);
    for (std::size_t r = 0; r < 3; ++r) expect_sum({y.begin() + r * kN, y.begin() + (r + 1) * kN}, {all[r]}, eps);
    stretto_request request = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o, &request));
    ASSERT_STRETTO_OK(stretto_wait(request));
    ASSERT_STRETTO_OK(stretto_request_free(&request));
    y.resize(kN);
    expect_sum(y, all, eps);
    if (rank == 0) y = all[0];
    ASSERT_STRETTO_OK(stretto_bcast(y.data(), kN, STRETTO_F32, 0, comm, &o));
    EXPECT_NEAR(report.eps, 1e-4 * ends_of({all[0]}).width(), 1e-9);
    expect_sum(y, {all[0]}, eps);
  });
}

TEST(IgnoredValues, OfSeaSurfaceTemperaturesAreLand) {
  const std::vector<float> x = sea_surface();
  if (x.empty()) GTEST_SKIP() << "the field is not there";
  const std::vector<std::vector<float>> all{x, x};
  const double eps = 1e-4 * ends_of(all).width();
  ASSERT_LT(eps, 0.01);
  const Ran ran = allreduce(all, 1e-4);
  EXPECT_DOUBLE_EQ(ran.report.eps, eps);
  EXPECT_GT(ran.report.ratio, 2);
  EXPECT_GT(ran.report.ignored, x.size() / 10);
  expect_reported(ran.report, ends_of(all), ends_of(all, INFINITY));
  expect_sum(ran.y, all, eps);
}

TEST(IgnoredValues, AreCountedBesideTheRangeBelowAThreshold) {
  const std::vector<float> x{1, kFill, -3, NAN, -INFINITY, -kFill};
  double lo = 0, hi = 0;
  std::uint64_t ignored = 9;
  ASSERT_STRETTO_OK(stretto_value_range_below(STRETTO_F32, x.data(), x.size(), 0, &lo, &hi, &ignored));
  EXPECT_EQ(lo, -3);
  EXPECT_EQ(hi, 1);
  EXPECT_EQ(ignored, 2u);
  ASSERT_STRETTO_OK(stretto_value_range_below(STRETTO_F32, x.data(), x.size(), 3, &lo, &hi, nullptr));
  EXPECT_EQ(lo, 1);
  ASSERT_STRETTO_OK(stretto_value_range_below(STRETTO_F32, x.data(), x.size(), INFINITY, &lo, &hi, &ignored));
  EXPECT_EQ(lo, -kFill);
  EXPECT_EQ(hi, kFill);
  EXPECT_EQ(ignored, 0u);
  ASSERT_STRETTO_OK(stretto_value_range_below(STRETTO_F32, x.data(), x.size(), 0.5, &lo, &hi, &ignored));
  EXPECT_EQ(lo, INFINITY);
  EXPECT_EQ(hi, -INFINITY);
  EXPECT_EQ(ignored, 4u);
  ASSERT_STRETTO_OK(stretto_value_range_below(STRETTO_F32, nullptr, 0, 0, &lo, &hi, &ignored));
  EXPECT_EQ(lo, INFINITY);
  EXPECT_EQ(ignored, 0u);
  EXPECT_EQ(stretto_value_range_below(STRETTO_U8, x.data(), 1, 0, &lo, &hi, &ignored), STRETTO_UNSUPPORTED);
  EXPECT_EQ(stretto_value_range_below(STRETTO_F32, nullptr, 1, 0, &lo, &hi, &ignored), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_value_range_below(STRETTO_F32, x.data(), 1, 0, nullptr, &hi, &ignored), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_value_range_below(STRETTO_F32, x.data(), 1, 0, &lo, nullptr, &ignored), STRETTO_INVALID_ARGUMENT);
  for (const double bad : {-1.0, double{NAN}}) {
    EXPECT_EQ(stretto_value_range_below(STRETTO_F32, x.data(), 1, bad, &lo, &hi, &ignored), STRETTO_INVALID_ARGUMENT);
    EXPECT_NE(std::string(stretto_message()).find("ignore_above"), std::string::npos) << stretto_message();
  }
}
