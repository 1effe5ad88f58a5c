// Every algorithm, checked symbolically for 1 to 130 ranks: every root up to 33 ranks, a sample of roots and of ranks
// above.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "../sanitized.hpp"
#include "base/status.hpp"
#include "schedule/check/checker.hpp"
#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::schedule {
namespace {

constexpr int kMostRanks = 130;
constexpr int kMostRanksWithEveryRoot = kSanitized ? 9 : 33;

// Without groups an algorithm of two floors is the flat one that it has between groups; groups_test.cpp gives it
// groups.
int most_ranks_of(const Algorithm& a) { return a.uses_groups ? kMostRanksWithEveryRoot : kMostRanks; }

constexpr int kStride = stride_if_sanitized(23);

// Of many ranks, numbers near multiples of 8, and so near powers of two; every number where the environment has WIDE,
// as a test of the label `wide` has.
bool taken(int ranks) {
  return ranks <= kMostRanksWithEveryRoot || kSanitized || std::getenv("WIDE") || (ranks + 1) % 8 <= 2;
}

std::set<int> roots(const Algorithm& a, int ranks) {
  if (!rooted(a.collective)) return {0};
  std::set<int> some;
  if (ranks <= kMostRanksWithEveryRoot) {
    for (int r = 0; r < ranks; ++r) some.insert(r);
    return some;
  }
  return {0, 1, ranks / 3, ranks / 2, ranks - 2, ranks - 1};
}

std::set<int> radices(const Algorithm& a) { return a.uses_radix ? std::set<int>{0, 2, 3, 5, 16} : std::set<int>{2}; }
std::set<int> pieces(const Algorithm& a) { return a.uses_blocks ? std::set<int>{0, 1, 2, 5} : std::set<int>{0}; }

class AlgorithmTest : public testing::TestWithParam<Algorithm> {
 protected:
  template <class F>
  void for_each_request(int ranks, F&& f) {
    const Algorithm& a = GetParam();
    for (const int root : roots(a, ranks)) {
      for (const int radix : radices(a)) {
        for (const int blocks : pieces(a)) {
          f(Request{.collective = a.collective, .ranks = ranks, .root = root, .blocks = blocks, .radix = radix});
        }
      }
    }
  }
};

TEST_P(AlgorithmTest, BlocksGetEachContributionOnceWithoutDeadlock) {
  const Algorithm& a = GetParam();
  for (int ranks = 1; ranks <= most_ranks_of(a); ranks += ranks < kMostRanksWithEveryRoot ? 1 : kStride) {
    if (!taken(ranks)) continue;
    for_each_request(ranks, [&](const Request& request) {
      const std::vector<Schedule> all = build_all(a, request);
      ASSERT_EQ(check(all), Status::ok) << message() << "\n  root " << request.root << ", blocks " << request.blocks
                                        << ", radix " << request.radix;
    });
    if (HasFatalFailure()) return;
  }
}

TEST_P(AlgorithmTest, SaysOfItselfWhatTheRegistrySays) {
  const Algorithm& a = GetParam();
  for (const int ranks : {1, 2, 7}) {
    const Schedule s = a.build({.collective = a.collective, .ranks = ranks, .rank = ranks - 1, .root = ranks / 2});
    EXPECT_EQ(s.collective, a.collective);
    EXPECT_EQ(s.algorithm, a.name);
    EXPECT_EQ(s.keeps_order, keeps_order(a, nullptr));
    EXPECT_EQ(s.ranks_differ, a.ranks_differ);
    EXPECT_EQ(s.ranks, ranks);
    EXPECT_EQ(s.rank, ranks - 1);
    EXPECT_EQ(s.root, ranks / 2);
  }
}

TEST_P(AlgorithmTest, OneRankSendsNothing) {
  const Algorithm& a = GetParam();
  for (const Step& step : a.build({.collective = a.collective}).steps) EXPECT_EQ(step.kind, Kind::copy);
}

INSTANTIATE_TEST_SUITE_P(All, AlgorithmTest, testing::ValuesIn(algorithms()), [](const auto& info) {
  return std::string(name(info.param.collective)) + "_" + std::string(info.param.name);
});

}  // namespace
}  // namespace stretto::schedule
