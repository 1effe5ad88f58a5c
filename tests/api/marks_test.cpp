// A bound relative to the range of data in which large finite numbers mark what is missing is a fraction of the rest's range, over all ranks; the marks
// arrive exactly, and where nothing tells them from data, the range is that of all.
#include <bit>
#include <string>

#include "bounds.hpp"
#include "marks.hpp"
#include "stretto/stretto_nonblocking.h"
#include "stretto/stretto_stream.h"

using namespace api_test;

namespace {

// The inputs of `ranks` ranks, of which `has` says whether they have marks.
template <class Has>
std::vector<std::vector<float>> inputs(int ranks, const Has& has) {
  std::vector<std::vector<float>> all;
  for (int r = 0; r < ranks; ++r) all.push_back(marked(r, n, has(r) ? 50 : 0));
  return all;
}

stretto_options relative(double bound, stretto_payload payload, stretto_report* report) {
  stretto_options o = bounded(bound, STRETTO_BOUND_RELATIVE);
  o.payload = payload;
  o.report = report;
  return o;
}

// One allreduce of these; what was reported to rank 0, and its result.
struct Ran {
  stretto_report report = STRETTO_REPORT_INIT;
  std::vector<float> y;
};
Ran allreduce(const std::vector<std::vector<float>>& all, double bound, stretto_op op = STRETTO_SUM,
              stretto_payload payload = STRETTO_PAYLOAD_FUSED) {
  Ran ran;
  on_ranks(static_cast<int>(all.size()), [&](stretto_comm comm, int rank, int) {
    const auto& x = all[static_cast<std::size_t>(rank)];
    std::vector<float> y(x.size());
    stretto_report report = STRETTO_REPORT_INIT;
    const stretto_options o = relative(bound, payload, &report);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, op, comm, &o));
    if (rank == 0) ran = {report, y};
  });
  return ran;
}

}  // namespace

TEST(Marks, AreLeftOutOfTheRangeOnWhateverRanksTheyAre) {
  for (const int ranks : rank_counts)
    for (const int which : {0, 1, 2}) {
      const auto all = inputs(ranks, [&](int r) { return which == 0 || r == (which == 1 ? 0 : ranks - 1); });
      const double eps = 1e-4 * ends_of(all).width();
      for (const stretto_payload payload : {STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_HOMOMORPHIC}) {
        const Ran ran = allreduce(all, 1e-4, STRETTO_SUM, payload);
        ASSERT_DOUBLE_EQ(ran.report.eps, eps) << ranks << " ranks, " << which;
        expect_sum(ran.y, all, eps);
      }
    }
}

TEST(Marks, LeaveThePromiseOfEveryPayloadAndOperationAsItIs) {
  const auto all = inputs(3, [](int r) { return r != 1; });
  const double eps = 1e-4 * ends_of(all).width();
  for (const stretto_payload payload :
       {STRETTO_PAYLOAD_AUTO, STRETTO_PAYLOAD_RECOMPRESS, STRETTO_PAYLOAD_CPRP2P, STRETTO_PAYLOAD_FUSED})
    for (const stretto_op op : {STRETTO_MAX, STRETTO_MIN, STRETTO_MEAN}) {
      const Ran ran = allreduce(all, 1e-4, op, payload);
      for (std::size_t i = 0; i < n; ++i) {
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

TEST(Marks, AreLeftOutWhereOneRankHasNothingElse) {
  auto all = inputs(3, [](int) { return false; });
  std::fill(all[1].begin(), all[1].end(), mark);
  const double eps = 1e-4 * ends_of(all).width();
  const Ran ran = allreduce(all, 1e-4);
  EXPECT_DOUBLE_EQ(ran.report.eps, eps);
  expect_sum(ran.y, all, eps);
}

TEST(Marks, AreAllThereIsAndThenTheRangeIsTheirs) {
  std::vector<std::vector<float>> all(3, std::vector<float>(n, mark));
  EXPECT_STREQ(allreduce(all, 1e-4).report.payload, "raw");  // a range of 0
  all[2][7] = 3 * mark;
  all[0][8] = INFINITY;
  const Ran ran = allreduce(all, 1e-4);
  EXPECT_NEAR(ran.report.eps, 2e16, 1e10);
  EXPECT_NEAR(ran.y[9], 3e20, 3 * 2e16 + 3e13);
}

TEST(Marks, LeaveDataExactThatHaveNoRangeWithoutThem) {
  std::vector<std::vector<float>> all(3, std::vector<float>(n, 5.5f));
  all[1][77] = mark;
  const Ran ran = allreduce(all, 1e-2, STRETTO_MAX);
  EXPECT_STREQ(ran.report.payload, "raw");
  EXPECT_EQ(ran.y[0], 5.5f);
  EXPECT_EQ(ran.y[77], mark);
}

TEST(Marks, AreNoneWhereTheRestIsNotFarFromThem) {
  auto all = inputs(3, [](int) { return false; });
  all[1][5] = 2e14f;  // more than a millionth of the range
  all[2][9] = mark;
  EXPECT_NEAR(allreduce(all, 1e-4).report.eps, 1e16, 1e9);
  all[1][5] = 1e12f;
  EXPECT_NEAR(allreduce(all, 1e-4).report.eps, 1e8, 1e2);
  all[2][9] = 9e14f;  // no mark
  EXPECT_NEAR(allreduce(all, 1e-4).report.eps, 9e10, 1e5);
}

TEST(Marks, OfOtherTypesAreExactToo) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    std::vector<double> x(n), y(n);
    std::vector<std::uint16_t> h(n), k(n);  // bfloat16
    const auto bf16 = [](float v) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(v) >> 16); };
    for (std::size_t i = 0; i < n; ++i) {
      const float v = static_cast<float>(i % 100) - 50;
      x[i] = rank == 1 && i % 9 == 0 ? 9.96920996838687e36 : v;
      h[i] = bf16(rank == 1 && i % 9 == 0 ? -1e20f : v);
    }
    stretto_report report = STRETTO_REPORT_INIT;
    const stretto_options o = relative(1e-3, STRETTO_PAYLOAD_FUSED, &report);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, comm, &o));
    EXPECT_NEAR(report.eps, 0.099, 1e-9);
    for (std::size_t i = 0; i < n; ++i)
      if (i % 9 == 0)
        ASSERT_EQ(y[i], 9.96920996838687e36);
      else
        ASSERT_NEAR(y[i], 3 * (static_cast<double>(i % 100) - 50), 0.3);
    ASSERT_STRETTO_OK(stretto_allreduce(h.data(), k.data(), n, STRETTO_BF16, STRETTO_MIN, comm, &o));
    EXPECT_NEAR(report.eps, 0.099, 1e-9);
    for (std::size_t i = 0; i < n; i += 9) ASSERT_EQ(k[i], bf16(-1e20f));
  });
}

TEST(Marks, CountWhereTheBoundIsForTheResultThoughNotInItsRange) {
  const auto all = inputs(3, [](int r) { return r == 2; });
  const double bound = 1e-4 * ends_of(all).width();
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const auto& x = all[static_cast<std::size_t>(rank)];
    std::vector<float> y(n);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = relative(1e-4, STRETTO_PAYLOAD_AUTO, &report);
    o.scope = STRETTO_SCOPE_RESULT;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_LE(report.promised_error, bound);
    EXPECT_GT(report.eps, 0);
    expect_sum(y, all, bound / 3);
    o.payload = STRETTO_PAYLOAD_RECOMPRESS;  // rounds sums of marks by more than the bound
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_INVALID_BOUND);
    EXPECT_NE(std::string(stretto_message()).find("contributions of up to 1.000"), std::string::npos)
        << stretto_message();
  });
}

TEST(Marks, AreLeftOutInMovesAndStartedForms) {
  const auto all = inputs(3, [](int r) { return r == 0; });
  const double eps = 1e-4 * ends_of(all).width();
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const auto& x = all[static_cast<std::size_t>(rank)];
    std::vector<float> y(3 * n);
    stretto_report report = STRETTO_REPORT_INIT;
    const stretto_options o = relative(1e-4, STRETTO_PAYLOAD_FUSED, &report);
    ASSERT_STRETTO_OK(stretto_allgather(x.data(), y.data(), n, STRETTO_F32, comm, &o));
    EXPECT_DOUBLE_EQ(report.eps, eps);
    for (std::size_t r = 0; r < 3; ++r) expect_sum({y.begin() + r * n, y.begin() + (r + 1) * n}, {all[r]}, eps);
    stretto_request request = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, &request));
    ASSERT_STRETTO_OK(stretto_wait(request));
    ASSERT_STRETTO_OK(stretto_request_free(&request));
    y.resize(n);
    expect_sum(y, all, eps);
    if (rank == 0) y = all[0];
    ASSERT_STRETTO_OK(stretto_bcast(y.data(), n, STRETTO_F32, 0, comm, &o));
    EXPECT_NEAR(report.eps, 1e-4 * ends_of({all[0]}).width(), 1e-9);
    expect_sum(y, {all[0]}, eps);
  });
}

TEST(Marks, OfSeaSurfaceTemperaturesAreLand) {
  const std::vector<float> x = sea_surface();
  if (x.empty()) GTEST_SKIP() << "the field is not there";
  const std::vector<std::vector<float>> all{x, x};
  const double eps = 1e-4 * ends_of(all).width();
  ASSERT_LT(eps, 0.01);
  const Ran ran = allreduce(all, 1e-4);
  EXPECT_DOUBLE_EQ(ran.report.eps, eps);
  EXPECT_GT(ran.report.ratio, 2);
  expect_sum(ran.y, all, eps);
}

TEST(Marks, AreToldByTheSpreadOfValues) {
  const std::vector<float> x{1, mark, -3, NAN, -INFINITY};
  stretto_spread spread{};
  double lo = 0, hi = 0;
  ASSERT_STRETTO_OK(stretto_value_spread(STRETTO_F32, x.data(), x.size(), &spread));
  EXPECT_EQ(spread.lo, -3);
  EXPECT_EQ(spread.hi, mark);
  EXPECT_EQ(spread.near_lo, -3);
  EXPECT_EQ(spread.near_hi, 1);
  EXPECT_EQ(spread.far, mark);
  ASSERT_STRETTO_OK(stretto_spread_range(&spread, &lo, &hi));
  EXPECT_EQ(lo, -3);
  EXPECT_EQ(hi, 1);
  ASSERT_STRETTO_OK(stretto_value_range(STRETTO_F32, x.data(), x.size(), &lo, &hi));
  EXPECT_EQ(hi, mark);
  ASSERT_STRETTO_OK(stretto_value_spread(STRETTO_F32, nullptr, 0, &spread));
  ASSERT_STRETTO_OK(stretto_spread_range(&spread, &lo, &hi));
  EXPECT_EQ(lo, INFINITY);
  EXPECT_EQ(hi, -INFINITY);
  EXPECT_EQ(stretto_value_spread(STRETTO_U8, x.data(), 1, &spread), STRETTO_UNSUPPORTED);
  EXPECT_EQ(stretto_value_spread(STRETTO_F32, nullptr, 1, &spread), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_value_spread(STRETTO_F32, x.data(), 1, nullptr), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_spread_range(&spread, nullptr, &hi), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_spread_range(nullptr, &lo, &hi), STRETTO_INVALID_ARGUMENT);
}
