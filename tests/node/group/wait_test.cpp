// The one wait: when it gives its core away. In a program of its own, since it counts the calls of sched_yield.
#include "node/group/wait.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include "base/status.hpp"

namespace {
int yields = 0;
}

extern "C" int sched_yield() noexcept {
  ++yields;
  return 0;
}

namespace stretto::node {
namespace {

class Looks final : public Watch {
 public:
  Status look() noexcept override { return Status::ok; }
  Status give_up(double seconds) noexcept override {
    gave_up_after = seconds;
    return fail(Status::timeout, "given up");
  }
  double gave_up_after = 0;
};

int yields_of(const Patience& patience, int looks) {
  Looks watch;
  yields = 0;
  EXPECT_EQ(wait(patience, watch, [&] { return looks-- <= 0; }), Status::ok);
  return yields;
}

TEST(Wait, GivesTheCoreAwayAtEachLookWhereItIsShared) {
  Patience patience{8};
  patience.between_yields = between_yields_for(true);
  EXPECT_EQ(yields_of(patience, 8), 0);
  EXPECT_EQ(yields_of(patience, 108), 100);
}

TEST(Wait, KeepsACoreOfItsOwn) {
  Patience patience{8};
  patience.between_yields = 1e9;  // no clock of any machine gets there
  EXPECT_EQ(yields_of(patience, 100'000), 0);
  EXPECT_GT(between_yields_for(false), 0.0);
}

TEST(Wait, StillGivesItAwayNowAndThenAndUpAtTheLimit) {
  Patience patience{8};
  patience.between_yields = 1e-4;
  patience.limit = 0.02;
  Looks watch;
  yields = 0;
  EXPECT_EQ(wait(patience, watch, [] { return false; }), Status::timeout);
  EXPECT_GT(yields, 0);
  EXPECT_GT(watch.gave_up_after, patience.limit);
}

TEST(Wait, LetsTheMpiProgressWhereTheCoreIsKept) {
  Patience patience{8};
  patience.between_yields = 1e9;
  patience.limit = 0.02;
  int calls = 0;
  patience.progress = [](void* n) { ++*static_cast<int*>(n); };
  patience.context = &calls;
  Looks watch;
  EXPECT_EQ(wait(patience, watch, [] { return false; }), Status::timeout);
  EXPECT_GT(calls, 0);
}

}  // namespace
}  // namespace stretto::node
