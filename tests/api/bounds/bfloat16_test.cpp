// Payload bfloat16: half the bytes, the same bits on every rank, and the relative error of the schedule's roundings.
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>

#include "bounds.hpp"
#include "payload/arithmetic/half.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

using stretto::payload::narrow_bf16;
using stretto::payload::widen;

stretto_options halves() {
  stretto_options o = defaults();
  o.payload = STRETTO_PAYLOAD_BFLOAT16;
  return o;
}

std::vector<float> rounded(std::vector<float> x) {
  for (float& v : x) v = widen(narrow_bf16(v));
  return x;
}

bool same_bytes(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// As docs/semantics.md has it: roundings of a contribution on its way into the result.
int roundings(const std::string& schedule, int ranks) {
  if (schedule == "ring") return ranks;
  return static_cast<int>(std::ceil(std::log2(ranks))) + 1;
}

// Equal on all ranks.
class Agreed {
 public:
  void check(const std::vector<float>& y) {
    const std::lock_guard lock(mutex_);
    if (first_.empty()) first_ = y;
    EXPECT_TRUE(same_bytes(first_, y));
  }

 private:
  std::mutex mutex_;
  std::vector<float> first_;
};

void expect_refused(stretto_status got, stretto_status wanted, const std::string& text) {
  EXPECT_EQ(got, wanted);
  EXPECT_NE(std::string(stretto_message()).find(text), std::string::npos) << stretto_message();
}

}  // namespace

TEST(Bfloat16, SumsKeepTheErrorOfTheirScheduleAndEqualBits) {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8})
    for (const char* schedule : {"ring", "recursive_doubling", "rabenseifner", "binomial"})
      for (const stretto_op op : {STRETTO_SUM, STRETTO_MEAN}) {
        SCOPED_TRACE(testing::Message() << ranks << " ranks, " << schedule << ", operation " << op);
        const auto exact = exact_sums(ranks);
        std::vector<double> magnitude(kN);
        for (int r = 0; r < ranks; ++r) {
          const auto x = wave(r, kN);
          for (std::size_t i = 0; i < kN; ++i) magnitude[i] += std::fabs(x[i]);
        }
        const double each = std::pow(1 + 0x1p-8, roundings(schedule, ranks)) - 1 + ranks * 0x1p-23;
        const double divisor = op == STRETTO_MEAN ? ranks : 1;
        Agreed agreed;
        on_ranks(ranks, [&](stretto_comm comm, int rank, int p) {
          stretto_report report = STRETTO_REPORT_INIT;
          stretto_options o = halves();
          o.schedule = schedule;
          o.segment = 16384;
          o.report = &report;
          const auto x = wave(rank, kN);
          std::vector<float> y(kN);
          ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, op, comm, &o));
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < kN; ++i)
            wrong += !(std::fabs(y[i] * divisor - exact[i]) <= each * magnitude[i] + p * 0x1p-134);
          EXPECT_EQ(wrong, 0u);
          if (op == STRETTO_SUM) {
            EXPECT_TRUE(same_bytes(y, rounded(y)));
          }
          EXPECT_STREQ(report.payload, "bfloat16");
          EXPECT_STREQ(report.reason, "forced");
          EXPECT_EQ(report.eps, 0);
          EXPECT_EQ(report.promised_error, HUGE_VAL);
          EXPECT_EQ(report.error_with_rounding, HUGE_VAL);
          EXPECT_EQ(report.coding, STRETTO_CODING_AUTO);
          EXPECT_EQ(report.contributions, static_cast<std::uint64_t>(p));
          EXPECT_EQ(2 * report.bytes_sent, report.raw_bytes);
          EXPECT_EQ(report.ratio, p > 1 ? 2 : 1);
          EXPECT_EQ(report.expected_ratio, 2);
          agreed.check(y);
        });
      }
}

TEST(Bfloat16, ChosenSchedulesAndStartedCallsGiveEqualBitsToo) {
  for (const int ranks : {1, 3, 6, 7}) {
    Agreed blocking, started, extreme;
    on_ranks(ranks, [&](stretto_comm comm, int rank, int) {
      stretto_options o = halves();
      const auto x = wave(rank, kN);
      std::vector<float> y(kN);
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
      blocking.check(y);
      y = x;
      stretto_request request = nullptr;
      ASSERT_STRETTO_OK(
          stretto_iallreduce(STRETTO_IN_PLACE, y.data(), kN, STRETTO_F32, STRETTO_DIFFERENCE, comm, &o, &request));
      ASSERT_STRETTO_OK(stretto_wait(request));
      ASSERT_STRETTO_OK(stretto_request_free(&request));
      started.check(y);
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_MAX, comm, &o));
      extreme.check(y);
      // Rounding keeps order, so the largest of rounded values is the largest, rounded.
      std::vector<float> most(kN, -HUGE_VALF);
      for (int r = 0; r < stretto_comm_size(comm); ++r) {
        const auto other = wave(r, kN);
        for (std::size_t i = 0; i < kN; ++i) most[i] = std::max(most[i], other[i]);
      }
      EXPECT_TRUE(same_bytes(y, rounded(most)));
    });
  }
}

TEST(Bfloat16, MovedValuesAreRoundedOnceAndARanksOwnStayExact) {
  on_all_ranks([](stretto_comm comm, int rank, int p) {
    constexpr std::size_t each = 2500;
    const std::size_t all = each * static_cast<std::size_t>(p);
    const int root = p - 1;
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = halves();
    o.report = &report;
    const auto block = [&](const std::vector<float>& v, int r) {
      const auto from = v.begin() + static_cast<std::ptrdiff_t>(each) * r;
      return std::vector<float>(from, from + each);
    };
    const auto mine = wave(rank, each);
    std::vector<float> y(all);
    ASSERT_STRETTO_OK(stretto_allgather(mine.data(), y.data(), each, STRETTO_F32, comm, &o));
    EXPECT_STREQ(report.payload, "bfloat16");
    for (int r = 0; r < p; ++r) EXPECT_TRUE(same_bytes(block(y, r), rounded(wave(r, each))));

    std::vector<float> sent = wave(root, all);
    y = rank == root ? sent : std::vector<float>(all);
    ASSERT_STRETTO_OK(stretto_bcast(y.data(), all, STRETTO_F32, root, comm, &o));
    EXPECT_TRUE(same_bytes(y, rank == root ? sent : rounded(sent)));
    if (rank == root && p > 1) {
      EXPECT_EQ(report.ratio, 2);
    }

    y.assign(all, -5);
    ASSERT_STRETTO_OK(stretto_gather(mine.data(), y.data(), each, STRETTO_F32, root, comm, &o));
    for (int r = 0; r < p && rank == root; ++r)
      EXPECT_TRUE(same_bytes(block(y, r), r == root ? wave(r, each) : rounded(wave(r, each))));

    std::vector<float> part(each);
    ASSERT_STRETTO_OK(stretto_scatter(sent.data(), part.data(), each, STRETTO_F32, root, comm, &o));
    EXPECT_TRUE(same_bytes(part, rank == root ? block(sent, rank) : rounded(block(sent, rank))));

    const auto row = wave(rank, all);
    ASSERT_STRETTO_OK(stretto_alltoall(row.data(), y.data(), each, STRETTO_F32, comm, &o));
    for (int r = 0; r < p; ++r) {
      const auto given = block(wave(r, all), rank);
      EXPECT_TRUE(same_bytes(block(y, r), r == rank ? given : rounded(given)));
    }
  });
}

// Their bits could be read as marks and notices of streams.
TEST(Bfloat16, AnyBitsTravelAtAnyLength) {
  on_all_ranks([](stretto_comm comm, int rank, int p) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{8}, std::size_t{65536}}) {
      std::vector<float> x(count), y(count * static_cast<std::size_t>(p));
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t bits =
            static_cast<std::uint32_t>(i * 257 + static_cast<std::size_t>(rank)) << 16 | (i & 1U);
        std::memcpy(&x[i], &bits, sizeof bits);
      }
      const stretto_options o = halves();
      ASSERT_STRETTO_OK(stretto_allgather(x.data(), y.data(), count, STRETTO_F32, comm, &o));
      const auto own = y.begin() + static_cast<std::ptrdiff_t>(count) * rank;
      EXPECT_TRUE(same_bytes({own, own + static_cast<std::ptrdiff_t>(count)}, rounded(x)));
    }
    const float inf = std::numeric_limits<float>::infinity();
    const float special[] = {0.0F, -0.0F, inf, -inf, 0x1.fep127F, 0x1.ffp127F, 0x1p-133F, 0x1p-134F, 0x1.8p-134F};
    const float wanted[] = {0.0F, -0.0F, inf, -inf, 0x1.fep127F, inf, 0x1p-133F, 0.0F, 0x1p-133F};
    std::vector<float> x(special, std::end(special)), y(x.size());
    x.push_back(std::nanf(""));
    y.push_back(0);
    if (rank > 0) x.assign(x.size(), -0.0F);
    const stretto_options o = halves();
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), y.size(), STRETTO_F32, STRETTO_SUM, comm, &o));
    for (std::size_t i = 0; i < std::size(wanted); ++i) EXPECT_EQ(y[i], wanted[i]) << i;
    EXPECT_TRUE(std::isnan(y.back()));
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 0, STRETTO_F32, STRETTO_SUM, comm, &o));
  });
}

TEST(Bfloat16, WhatItDoesNotServeIsRefusedByName) {
  on_ranks(3, [](stretto_comm comm, int, int) {
    double x[4] = {1, 2, 3, 4}, y[16] = {};
    const auto sum = [&](const stretto_options& o, stretto_type type = STRETTO_F32, stretto_op op = STRETTO_SUM) {
      return stretto_allreduce(x, y, 4, type, op, comm, &o);
    };
    const stretto_options o = halves();
    using std::pair;
    for (const auto& [type, name] :
         {pair{STRETTO_I32, "i32"}, pair{STRETTO_F16, "f16"}, pair{STRETTO_BF16, "bf16"}, pair{STRETTO_F64, "f64"}})
      expect_refused(sum(o, type), STRETTO_UNSUPPORTED, std::string("payload bfloat16 takes f32, not ") + name);
    expect_refused(sum(o, STRETTO_F32, STRETTO_PROD), STRETTO_UNSUPPORTED,
                   "payload bfloat16 does not take operation prod");
    expect_refused(stretto_scan(x, y, 4, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_UNSUPPORTED,
                   "scan sends values as they are, not as payload bfloat16");
    const void* one = x;
    expect_refused(stretto_allreduce_multi(&one, 1, y, 4, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_UNSUPPORTED,
                   "allreduce_multi adds its inputs as codes, not as payload bfloat16");
    stretto_options other = o;
    other.bound_kind = STRETTO_BOUND_RELATIVE;
    other.bound = 1e-3;
    expect_refused(sum(other), STRETTO_INVALID_ARGUMENT, "payload bfloat16 keeps no bound, and bound_kind is relative");
    other = o;
    other.reproducible = 1;
    expect_refused(sum(other), STRETTO_UNSUPPORTED, "payload bfloat16 rounds as its schedule has it");
    other = o;
    other.raw_below = 100;
    expect_refused(sum(other), STRETTO_UNSUPPORTED, "raw_below 100 is not offered with payload bfloat16");
    other = o;
    other.coding = STRETTO_CODING_DENSE;
    expect_refused(sum(other), STRETTO_UNSUPPORTED, "coding dense is of streams, and payload bfloat16 has none");
    const stretto_part whole{4, 1e-3};
    other = o;
    other.parts = &whole;
    other.part_count = 1;
    expect_refused(sum(other), STRETTO_UNSUPPORTED, "options.parts with payload bfloat16");
    other = o;
    other.schedule = "node";
    expect_refused(sum(other), STRETTO_UNSUPPORTED, "node");
    other.schedule = "native";
    expect_refused(sum(other), STRETTO_UNSUPPORTED, "native");
    other = o;
    other.payload = static_cast<stretto_payload>(99);
    expect_refused(sum(other), STRETTO_INVALID_ARGUMENT, "payload 99 is no stretto_payload");
  });
}
