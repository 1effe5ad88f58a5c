#include "node/collectives/store_tuner.hpp"

#include <gtest/gtest.h>

namespace stretto::node {
namespace {

bool same(const StoreMode& a, const StoreMode& b) {
  return a.own == b.own && a.theirs == b.theirs && a.ahead == b.ahead;
}

// So many calls, of which those in StoreTuner::all[fast] take a second and all others two.
void call(StoreTuner& m, int calls, std::size_t fast) {
  for (int k = 0; k < calls; ++k) m.record(same(m.next(), StoreTuner::kAll[fast]) ? 1 : 2);
}

TEST(StoreTuner, FastestModeIsKept) {
  for (std::size_t fast = 0; fast < StoreTuner::kAll.size(); ++fast) {
    StoreTuner m;
    call(m, 12, fast);
    for (int k = 0; k < 100; ++k) {
      ASSERT_TRUE(same(m.next(), StoreTuner::kAll[fast])) << k;
      m.record(1);
    }
  }
}

// A call that is interrupted says nothing of its mode.
TEST(StoreTuner, OneSlowCallChangesNothing) {
  StoreTuner m;
  m.record(100);
  call(m, 11, 0);
  EXPECT_TRUE(same(m.next(), StoreTuner::kAll[0]));
}

TEST(StoreTuner, ChangedCallTimesStartNewTrials) {
  StoreTuner m;
  call(m, 12 + 40, 0);
  ASSERT_TRUE(same(m.next(), StoreTuner::kAll[0]));
  call(m, 8 + 12, 2);
  EXPECT_TRUE(same(m.next(), StoreTuner::kAll[2]));
}

}  // namespace
}  // namespace stretto::node
