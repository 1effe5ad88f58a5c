// Prefix sums: rank r gets the combination of ranks 0 to r, or to r - 1, in this order.
#include <cstring>
#include <string>
#include <string_view>

#include "../one_by_one.hpp"
#include "ranks.hpp"

using namespace api_test;

namespace {

constexpr std::size_t kPrefixLengths[] = {0, 1, 7, 1000, 70001};
constexpr const char* kSchedules[] = {nullptr, "chain", "recursive_doubling"};

int sum_of_first(int ranks, std::size_t i) {
  int s = 0;
  for (int r = 0; r < ranks; ++r) s += sample(r, i);
  return s;
}

// Maps x -> a x + b modulo 2^32 in one element, composed: associative, and does not commute.
std::uint64_t then(std::uint64_t f, std::uint64_t g) {
  const auto slope = static_cast<std::uint32_t>(g >> 32), shift = static_cast<std::uint32_t>(g);
  const std::uint32_t a = slope * static_cast<std::uint32_t>(f >> 32),
                      b = slope * static_cast<std::uint32_t>(f) + shift;
  return std::uint64_t{a} << 32 | b;
}

void compose(const void* left, void* right, std::size_t count, stretto_type, void*) {
  const auto* f = static_cast<const std::uint64_t*>(left);
  auto* g = static_cast<std::uint64_t*>(right);
  for (std::size_t i = 0; i < count; ++i) g[i] = then(f[i], g[i]);
}

std::uint64_t map_of(int rank, std::size_t i) {
  return (static_cast<std::uint64_t>(rank) * 977 + i * 2 + 1) * 0x9e3779b97f4a7c15u;
}

}  // namespace

TEST(Prefix, EveryElementIsTheSumOfTheRanksBefore) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    for (const char* schedule : kSchedules)
      for (const std::size_t n : kPrefixLengths) {
        SCOPED_TRACE(testing::Message() << n << " elements on " << ranks << " ranks");
        stretto_options o = defaults();
        o.schedule = schedule;
        const auto x = samples<std::int64_t>(rank, n);
        std::vector<std::int64_t> y(n, -1), z = x, below(n, -1), own = x;
        ASSERT_STRETTO_OK(stretto_scan(x.data(), y.data(), n, STRETTO_I64, STRETTO_SUM, comm, &o));
        ASSERT_STRETTO_OK(stretto_scan(STRETTO_IN_PLACE, z.data(), n, STRETTO_I64, STRETTO_SUM, comm, &o));
        ASSERT_STRETTO_OK(
            stretto_exscan(x.data(), rank == 0 ? nullptr : below.data(), n, STRETTO_I64, STRETTO_SUM, comm, &o));
        ASSERT_STRETTO_OK(stretto_exscan(STRETTO_IN_PLACE, own.data(), n, STRETTO_I64, STRETTO_SUM, comm, &o));
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_EQ(y[i], sum_of_first(rank + 1, i)) << i;
          ASSERT_EQ(below[i], rank == 0 ? -1 : sum_of_first(rank, i)) << i;
        }
        EXPECT_EQ(y, z);
        EXPECT_EQ(own, rank == 0 ? x : below) << "nothing is written on rank 0";
      }
  });
}

TEST(Prefix, OperationsThatDoNotCommuteKeepTheOrderOfRanks) {
  on_all_ranks([](stretto_comm comm, int rank, int) {
    for (const char* schedule : kSchedules)
      for (const std::size_t n : {std::size_t{1}, std::size_t{40003}}) {
        stretto_options o = defaults();
        o.user_function = compose;
        o.schedule = schedule;
        std::vector<std::uint64_t> x(n), got(n), below(n);
        for (std::size_t i = 0; i < n; ++i) x[i] = map_of(rank, i);
        ASSERT_STRETTO_OK(stretto_scan(x.data(), got.data(), n, STRETTO_U64, STRETTO_USER, comm, &o));
        ASSERT_STRETTO_OK(stretto_exscan(x.data(), below.data(), n, STRETTO_U64, STRETTO_USER, comm, &o));
        for (std::size_t i = 0; i < n; ++i) {
          std::uint64_t all = map_of(0, i), before = all;
          for (int r = 1; r <= rank; ++r) {
            before = all;
            all = then(all, map_of(r, i));
          }
          ASSERT_EQ(got[i], all) << i;
          ASSERT_TRUE(rank == 0 || below[i] == before) << i;
        }
      }
  });
}

TEST(Prefix, ReproducibleSumsAreOneContributionAfterTheOther) {
  on_all_ranks([](stretto_comm comm, int rank, int) {
    stretto_options o = defaults();
    o.reproducible = 1;
    for (const std::size_t n : kPrefixLengths) {
      const std::vector<float> mine = rough<float>(rank, n);
      std::vector<float> got(n);
      ASSERT_STRETTO_OK(stretto_scan(mine.data(), got.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
      EXPECT_TRUE(n == 0 || std::memcmp(got.data(), one_by_one<float>(rank + 1, n).data(), n * sizeof(float)) == 0);
      ASSERT_STRETTO_OK(stretto_exscan(mine.data(), got.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
      if (rank == 0 || n == 0) continue;
      EXPECT_EQ(std::memcmp(got.data(), one_by_one<float>(rank, n).data(), n * sizeof(float)), 0);
    }
  });
}

TEST(Prefix, WithABoundValuesTravelAsTheyAre) {
  on_all_ranks([](stretto_comm comm, int rank, int) {
    const std::size_t n = 70001;
    const auto x = samples<float>(rank, n);
    for (const stretto_bound kind : {STRETTO_BOUND_ABSOLUTE, STRETTO_BOUND_RELATIVE}) {
      stretto_report report = STRETTO_REPORT_INIT;
      stretto_options o = bounded(1e-1);
      o.bound_kind = kind;
      o.report = &report;
      std::vector<float> y(n);
      ASSERT_STRETTO_OK(stretto_scan(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], static_cast<float>(sum_of_first(rank + 1, i))) << i;
      EXPECT_STREQ(report.payload, "raw");
      EXPECT_EQ(report.promised_error, 0);
    }
  });
}

TEST(Prefix, WhatHasNoMeaningIsRefusedOnAllRanks) {
  on_ranks(3, [](stretto_comm comm, int, int) {
    const std::vector<float> x(10, 1);
    std::vector<float> y(10);
    const auto refused = [&](stretto_op op, const stretto_options& o, const char* why) {
      EXPECT_EQ(stretto_scan(x.data(), y.data(), 10, STRETTO_F32, op, comm, &o), STRETTO_UNSUPPORTED);
      EXPECT_NE(std::string(stretto_message()).find(why), std::string::npos) << stretto_message();
    };
    refused(STRETTO_MEAN, defaults(), "scan does not take mean");
    refused(STRETTO_DIFFERENCE, defaults(), "scan does not take difference");
    stretto_options o = bounded(1e-1);
    o.payload = STRETTO_PAYLOAD_FUSED;
    refused(STRETTO_SUM, o, "scan sends values as they are, not as payload fused");
    o = defaults();
    o.schedule = "ring";
    refused(STRETTO_SUM, o, "scan has no schedule 'ring'; it has chain, recursive_doubling");
    o.schedule = "node";
    refused(STRETTO_SUM, o, "node");
  });
}

TEST(Prefix, ABufferThatIsMissingIsNamedOnEveryRank) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    std::vector<float> x(10, 1), y(10);
    const auto named = [](const char* who) {
      const std::string_view text = stretto_message();
      return text.ends_with("recvbuf is NULL with 10 elements") &&
             (text.starts_with("recvbuf") || text.starts_with(who));
    };
    float* const out = rank == 2 ? nullptr : y.data();
    EXPECT_EQ(stretto_exscan(x.data(), out, 10, STRETTO_F32, STRETTO_SUM, comm, nullptr), STRETTO_INVALID_ARGUMENT);
    EXPECT_TRUE(named("rank 2: ")) << stretto_message();
    void* const own = rank == 0 ? nullptr : y.data();
    EXPECT_EQ(stretto_exscan(STRETTO_IN_PLACE, own, 10, STRETTO_F32, STRETTO_SUM, comm, nullptr),
              STRETTO_INVALID_ARGUMENT);
    EXPECT_TRUE(named("rank 0: ")) << stretto_message();
  });
}
