// Every schedule with every payload over threads.
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "../sanitized.hpp"
#include "cases/case_list.hpp"
#include "ranks.hpp"
#include "schedule/names.hpp"

namespace stretto::tests {
namespace {

constexpr Each kEach = kSanitized ? Each::payload : Each::operation;
constexpr std::size_t kStride = stride_if_sanitized(23);

class Collectives : public testing::TestWithParam<int> {};

TEST_P(Collectives, EveryScheduleAndPayloadGivesItsResultOnAllRanks) {
  const int p = GetParam();
  const auto cases = all_cases(p, kEach, kStride);
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

TEST(Cases, CoverEveryOperationSchedulePayloadCutAndType) {
  for (const int p : {1, 2, 3, 4, 5, 7, 8, 13}) {
    std::set<std::tuple<const schedule::Algorithm*, payload::Kind, payload::Op>> wanted;
    std::set<std::pair<const schedule::Algorithm*, payload::Kind>> pairs;
    for (const auto& algorithm : schedule::algorithms()) {
      for (const auto& travels : payload::kAllTraits) {
        const payload::Kind kind = travels.kind;
        pairs.insert({&algorithm, kind});
        for (const auto op :
             {payload::Op::sum, payload::Op::difference, payload::Op::min, payload::Op::max, payload::Op::mean}) {
          if (schedule::reduces(algorithm.collective)) wanted.insert({&algorithm, kind, op});
        }
      }
    }
    for (const Each each : {Each::operation, Each::payload}) {
      for (const std::size_t stride : {1, 3, 5, 11, 37}) {
        decltype(wanted) operations;
        decltype(pairs) payloads;
        std::set<std::pair<payload::Type, std::size_t>> cuts;
        for (const Case& c : all_cases(p, each, stride)) {
          cuts.insert({c.type, c.segment_bytes});
          if (c.count < 1000) continue;
          payloads.insert({c.algorithm, c.kind});
          if (schedule::reduces(c.algorithm->collective)) operations.insert({c.algorithm, c.kind, c.op});
        }
        EXPECT_EQ(payloads, pairs) << "every " << stride << " on " << p << " ranks";
        EXPECT_TRUE(operations == wanted || (each == Each::payload && stride > 1))
            << operations.size() << " of " << wanted.size() << ", every " << stride << " on " << p << " ranks";
        EXPECT_EQ(cuts.size(), 2u * 4) << "every " << stride << " on " << p << " ranks";
      }
    }
  }
}

// Operations, types and cuts that the walk above takes turns at, in full for one combination.
TEST(CompressedSums, HaveEqualBytesInAllAllreducesThatAddCodes) {
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
