#include "node/collectives/manners.hpp"

#include <gtest/gtest.h>

namespace stretto::node {
namespace {

bool same(const Manner& a, const Manner& b) { return a.own == b.own && a.theirs == b.theirs && a.ahead == b.ahead; }

// So many calls, of which those in Manners::all[fast] take a second and all others two.
void call(Manners& m, int calls, std::size_t fast) {
  for (int k = 0; k < calls; ++k) m.took(same(m.next(), Manners::all[fast]) ? 1 : 2);
}

TEST(Manners, FastestModeIsKept) {
  for (std::size_t fast = 0; fast < Manners::all.size(); ++fast) {
    Manners m;
    call(m, 12, fast);
    for (int k = 0; k < 100; ++k) {
      ASSERT_TRUE(same(m.next(), Manners::all[fast])) << k;
      m.took(1);
    }
  }
}

// A call that is interrupted says nothing of its manner.
TEST(Manners, OneSlowCallChangesNothing) {
  Manners m;
  m.took(100);
  call(m, 11, 0);
  EXPECT_TRUE(same(m.next(), Manners::all[0]));
}

TEST(Manners, ChangedCallTimesStartNewTrials) {
  Manners m;
  call(m, 12 + 40, 0);
  ASSERT_TRUE(same(m.next(), Manners::all[0]));
  call(m, 8 + 12, 2);
  EXPECT_TRUE(same(m.next(), Manners::all[2]));
}

}  // namespace
}  // namespace stretto::node
