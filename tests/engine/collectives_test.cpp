// Every schedule with every payload over threads.
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <utility>

#include "cases.hpp"
#include "ranks.hpp"
#include "schedule/names.hpp"

namespace stretto::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t stride = 11;
#else
constexpr std::size_t stride = 1;
#endif

class Collectives : public testing::TestWithParam<int> {};

TEST_P(Collectives, EveryScheduleWithEveryPayloadGivesItsResultOnAllRanks) {
  const int p = GetParam();
  const auto cases = all_cases(p, stride);
  ASSERT_GT(cases.size(), 30u);
  std::mutex mutex;
  on_ranks(p, [&](int rank, engine::Engine& engine) {
    std::size_t done = 0;
    const auto failures = run_all(engine, cases, &done);
    std::lock_guard lock(mutex);
    for (const auto& f : failures) ADD_FAILURE() << "rank " << rank << ": " << f;
    EXPECT_EQ(done, cases.size());
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, testing::Values(1, 2, 3, 4, 5, 7, 8, 13));

TEST(Cases, OfAnyStrideHaveEveryTypeCutAndOperation) {
  for (const int p : {2, 5, 13}) {
    for (const std::size_t stride : {1, 3, 5, 7, 11, 15}) {
      std::set<std::pair<payload::Type, std::size_t>> cuts;
      std::set<std::pair<payload::Type, payload::Op>> operations;
      for (const Case& c : all_cases(p, stride)) {
        cuts.insert({c.type, c.segment_bytes});
        if (schedule::reduces(c.algorithm->collective)) operations.insert({c.type, c.op});
      }
      EXPECT_EQ(cuts.size(), 2u * 4) << "every " << stride << " on " << p << " ranks";
      EXPECT_EQ(operations.size(), 2u * 5) << "every " << stride << " on " << p << " ranks";
    }
  }
}

// Operations, types and cuts that the walk above takes turns at, in full for one combination.
TEST(CompressedSums, AreTheSameBytesForEveryAllreduceAndPayloadThatAddsCodes) {
  for (const int p : {2, 3, 5, 8}) {
    std::vector<Case> cases;
    for (const auto& algorithm : schedule::algorithms()) {
      if (algorithm.collective != schedule::Collective::allreduce) continue;
      for (const auto kind : {payload::Kind::homomorphic, payload::Kind::fused}) {
        for (const std::size_t segment : {0, 4096, 12288}) {
          Case c;
          c.algorithm = &algorithm;
          c.kind = kind;
          c.count = 9 * 1024 + 77;
          c.segment_bytes = segment;
          c.hosts = algorithm.uses_groups ? 2 : 0;
          cases.push_back(c);
        }
      }
    }
    ASSERT_GE(cases.size(), 12u);
    std::vector<std::uint64_t> first(static_cast<std::size_t>(p));
    on_ranks(p, [&](int rank, engine::Engine& engine) {
      for (const Case& c : cases) {
        std::uint64_t fingerprint = 0;
        EXPECT_EQ(run_case(engine, c, &fingerprint), "") << describe(c, p);
        auto& mine = first[static_cast<std::size_t>(rank)];
        if (mine == 0) mine = fingerprint;
        EXPECT_EQ(fingerprint, mine) << describe(c, p);
      }
    });
    for (const auto f : first) EXPECT_EQ(f, first[0]);
  }
}

}  // namespace
}  // namespace stretto::tests
