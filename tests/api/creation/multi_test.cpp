// Several contributions a rank: with a bound the result is the same bits however they are shared out.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "../ranks.hpp"

using namespace api_test;

namespace {

constexpr std::size_t kCount = 20000;
constexpr int kImages = 11;

// Which images each rank has.
using Shares = std::vector<std::vector<int>>;

Shares dealt(int ranks, bool backwards) {
  Shares s(static_cast<std::size_t>(ranks));
  for (int i = 0; i < kImages; ++i) s[static_cast<std::size_t>(i % ranks)].push_back(backwards ? kImages - 1 - i : i);
  return s;
}

std::vector<float> stack(const Shares& shares, stretto_op op, const stretto_options& given, stretto_report* report) {
  std::vector<float> result;
  on_ranks(static_cast<int>(shares.size()), [&](stretto_comm comm, int rank, int) {
    std::vector<std::vector<float>> own;
    for (int i : shares[static_cast<std::size_t>(rank)]) own.push_back(wave(i, kCount));
    std::vector<const void*> pointers;
    for (const auto& x : own) pointers.push_back(x.data());
    stretto_options o = given;
    o.report = rank == 0 ? report : nullptr;
    std::vector<float> y(kCount);
    ASSERT_STRETTO_OK(stretto_allreduce_multi(pointers.data(), static_cast<int>(pointers.size()), y.data(), kCount,
                                              STRETTO_F32, op, comm, &o));
    if (rank == 0) result = y;
  });
  return result;
}

std::vector<double> exact(stretto_op op) {
  std::vector<double> s(kCount, 0.0);
  for (int k = 0; k < kImages; ++k) {
    const auto x = wave(k, kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      const double v = x[i];
      s[i] = k == 0 ? v : op == STRETTO_MIN ? std::min(s[i], v) : op == STRETTO_MAX ? std::max(s[i], v) : s[i] + v;
    }
  }
  if (op == STRETTO_MEAN)
    for (double& v : s) v /= kImages;
  return s;
}

void expect_within(const std::vector<float>& y, const std::vector<double>& x, double promised) {
  ASSERT_EQ(y.size(), x.size());
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_LE(std::fabs(double{y[i]} - x[i]), promised + half_ulp(y[i])) << i;
}

}  // namespace

TEST(Multi, ResultIsTheSameBitsHoweverContributionsAreShared) {
  for (stretto_op op : {STRETTO_SUM, STRETTO_MEAN, STRETTO_MIN, STRETTO_MAX}) {
    std::vector<float> first;
    for (int ranks : {1, 2, 3, 5, 7})
      for (const char* schedule : {"ring", "recursive_doubling"})
        for (stretto_payload payload : {STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_HOMOMORPHIC}) {
          stretto_options o = bounded(1e-3);
          o.schedule = schedule;
          o.payload = payload;
          o.segment = ranks % 2 ? 8192 : 65536;
          stretto_report report = STRETTO_REPORT_INIT;
          const auto y = stack(dealt(ranks, ranks % 2 == 0), op, o, &report);
          if (first.empty()) first = y;
          ASSERT_EQ(y.size(), kCount);
          EXPECT_EQ(std::memcmp(y.data(), first.data(), kCount * sizeof(float)), 0)
              << ranks << " ranks, " << schedule << ", payload " << payload << ", operation " << op;
          EXPECT_EQ(report.contributions, static_cast<std::uint64_t>(kImages));
          EXPECT_EQ(report.promised_error, op == STRETTO_SUM ? kImages * 1e-3 : 1e-3);
          expect_within(y, exact(op), report.promised_error);
        }
  }
}

TEST(Multi, ARankWithoutContributionsAddsNothing) {
  const auto all = stack(dealt(1, false), STRETTO_SUM, bounded(1e-3), nullptr);
  Shares lopsided(3);
  lopsided[1].resize(kImages);
  std::iota(lopsided[1].begin(), lopsided[1].end(), 0);
  stretto_report report = STRETTO_REPORT_INIT;
  const auto y = stack(lopsided, STRETTO_SUM, bounded(1e-3), &report);
  EXPECT_EQ(std::memcmp(y.data(), all.data(), kCount * sizeof(float)), 0);
  EXPECT_EQ(report.contributions, static_cast<std::uint64_t>(kImages));
}

TEST(Multi, ForTheResultTheWholeStackKeepsTheBound) {
  stretto_report report = STRETTO_REPORT_INIT;
  const auto y =
      stack(dealt(3, false), STRETTO_SUM, bounded(1e-3, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT), &report);
  EXPECT_LE(report.promised_error, 1e-3);
  EXPECT_NEAR(report.eps, 1e-3 / kImages, 1e-12);
  expect_within(y, exact(STRETTO_SUM), 1e-3);
}

TEST(Multi, RelativeBoundTakesTheRangeOverAllContributions) {
  double lo = INFINITY, hi = -INFINITY;
  for (int k = 0; k < kImages; ++k)
    for (float v : wave(k, kCount)) lo = std::min(lo, double{v}), hi = std::max(hi, double{v});
  stretto_report report = STRETTO_REPORT_INIT;
  stack(dealt(5, false), STRETTO_SUM, bounded(1e-4, STRETTO_BOUND_RELATIVE), &report);
  EXPECT_NEAR(report.eps, 1e-4 * (hi - lo), 1e-15);
}

TEST(Multi, WithoutABoundItIsThePlainSum) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    const auto a = samples<int>(rank, 1000), b = samples<int>(rank + 20, 1000);
    const void* both[] = {a.data(), b.data()};
    std::vector<int> y(1000);
    const int k = rank % 3;  // 0, 1 or 2 contributions
    if (ranks == 1) return;  // k would be 0 on all ranks
    ASSERT_STRETTO_OK(stretto_allreduce_multi(both, k, y.data(), 1000, STRETTO_I32, STRETTO_SUM, comm, nullptr));
    for (std::size_t i = 0; i < y.size(); ++i) {
      int s = 0;
      for (int r = 0; r < ranks; ++r) s += (r % 3 > 0 ? sample(r, i) : 0) + (r % 3 > 1 ? sample(r + 20, i) : 0);
      ASSERT_EQ(y[i], s);
    }
  });
}

TEST(Multi, WhatHasNoMeaningIsToldToAll) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    std::vector<float> x(10, 1.0f), y(10);
    const void* one[] = {x.data()};
    const auto expect = [&](const void* const* c, int k, stretto_op op, stretto_status status, const char* text) {
      EXPECT_EQ(stretto_allreduce_multi(c, k, y.data(), 10, STRETTO_F32, op, comm, nullptr), status);
      EXPECT_NE(std::string(stretto_message()).find(text), std::string::npos) << stretto_message();
    };
    expect(one, 0, STRETTO_SUM, STRETTO_INVALID_ARGUMENT, "no rank gives a contribution");
    expect(one, rank == 1 ? 0 : 1, STRETTO_MIN, STRETTO_INVALID_ARGUMENT, "min of nothing");
    expect(one, rank == 1 ? -1 : 1, STRETTO_SUM, STRETTO_INVALID_ARGUMENT, "k is -1");
    expect(nullptr, 1, STRETTO_SUM, STRETTO_INVALID_ARGUMENT, "contributions is NULL");
    expect(one, 1, STRETTO_DIFFERENCE, STRETTO_UNSUPPORTED, "difference");
    const void* null[] = {nullptr};
    expect(rank == 2 ? null : one, 1, STRETTO_SUM, STRETTO_INVALID_ARGUMENT, "contributions[0] is NULL");
    const void* same[] = {y.data()};
    expect(same, 1, STRETTO_SUM, STRETTO_INVALID_ARGUMENT, "the receive buffer");
  });
}

TEST(Multi, RecompressionKeepsItsOwnPromise) {
  for (int ranks : {2, 5})
    for (stretto_payload payload : {STRETTO_PAYLOAD_RECOMPRESS, STRETTO_PAYLOAD_CPRP2P}) {
      stretto_options o = bounded(1e-3);
      o.payload = payload;
      stretto_report report = STRETTO_REPORT_INIT;
      const auto y = stack(dealt(ranks, false), STRETTO_SUM, o, &report);
      EXPECT_EQ(report.promised_error, (kImages + ranks - 1) * 1e-3);
      expect_within(y, exact(STRETTO_SUM), report.promised_error);
    }
}
