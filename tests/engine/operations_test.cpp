// Every predefined operation on raw payloads and user operations that keep order, by every schedule that reduces, over
// threads.
#include "cases/operations.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "../sanitized.hpp"
#include "payload/element.hpp"
#include "ranks.hpp"

namespace stretto::tests {
namespace {

Walk on_threads(int ranks, const std::function<Walk(engine::Engine&)>& walk) {
  Walk first;
  std::mutex mutex;
  on_ranks(ranks, [&](int rank, engine::Engine& engine) {
    const Walk mine = walk(engine);
    const std::lock_guard lock(mutex);
    for (const auto& f : mine.failures) ADD_FAILURE() << "rank " << rank << ": " << f;
    if (rank == 0) first = mine;
  });
  return first;
}

class Operations : public testing::TestWithParam<int> {};

TEST_P(Operations, MatchIntegersOnAllTheirTypesInEverySchedule) {
  // Integers; sum, prod, difference of six; min, max of four; mean; loc.
  constexpr int pairs = 8 * 11 + 3 * 6 + 2 * 4 + 4 + 2 * 4;
  constexpr int all = 14 * 18;
  const Walk walk = on_threads(GetParam(), [](engine::Engine& e) { return walk_operations(e, kSanitized ? 2 : 18); });
  EXPECT_GT(walk.done, kSanitized ? 14 * 20 : pairs * 20);
  EXPECT_TRUE(kSanitized || walk.done * (all - pairs) == walk.refused * pairs) << walk.done << ", " << walk.refused;
}

TEST_P(Operations, OfAUserMeetInRankOrderWhereTheScheduleKeepsIt) {
  const Walk walk = on_threads(GetParam(), walk_user_operation);
  EXPECT_GT(walk.done, 60);
  EXPECT_GT(walk.grouped, 20);
  EXPECT_GT(walk.refused, 20);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Operations, testing::Values(1, 2, 3, 4, 5, 7, 8, 13));

}  // namespace
}  // namespace stretto::tests
