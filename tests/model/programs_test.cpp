// Memory of a walk: slots, and the number of ranks that it can take.
#include "model/walk/programs.hpp"

#include <string>

#include "world.hpp"

namespace stretto::model {
namespace {

using schedule::Collective;

std::size_t slots_of(const Programs& programs) {
  std::size_t slots = 0;
  for (const Program& p : programs.all) slots += p.slots.size();
  return slots;
}

TEST(Slots, AreRunsOfBlocksThatNoStepParts) {
  // 8192 blocks, halved 13 times.
  const Programs halved = programs_of(Collective::allreduce, "rabenseifner", topology::Topology::regular(8192, 1), {});
  EXPECT_EQ(halved.period, 1);
  EXPECT_EQ(halved.blocks, 8192);
  EXPECT_EQ(slots_of(halved), 2u * 14);  // of in and of out
  const Programs ring = programs_of(Collective::allreduce, "ring", topology::Topology::regular(9, 1));
  EXPECT_EQ(slots_of(ring), 9u * 2 * 9);
}

TEST(Slots, CoverWhatTheStepsTouchAndOnlyThat) {
  for (const schedule::Algorithm& a : schedule::algorithms()) {
    const Programs programs = programs_of(a.collective, a.name, topology::Topology::regular(11, 3));
    for (const Program& p : programs.all) {
      schedule::Request request;
      request.ranks = 11;
      request.rank = p.rank;
      const schedule::Groups groups = groups_of(topology::Topology::regular(11, 3));
      request.groups = &groups;
      const schedule::Schedule s = a.build(request);
      ASSERT_EQ(s.steps.size(), p.acts.size());
      for (std::size_t i = 0; i < s.steps.size(); ++i) {
        const Act& act = p.acts[i];
        const auto covers = [&](std::int32_t slot, const schedule::Range& range) {
          std::int32_t next = range.first;
          for (std::int32_t k = 0; k < act.slots; ++k) {
            const Slot& at = p.slots[static_cast<std::size_t>(slot + k)];
            if (at.block != next || at.buffer != range.buffer) return false;
            next += at.blocks;
          }
          return next == range.first + range.count;
        };
        const schedule::Step& step = s.steps[i];
        EXPECT_TRUE(act.dst < 0 || covers(act.dst, step.dst)) << a.name << " " << p.rank << " " << i;
        EXPECT_TRUE(act.src < 0 || covers(act.src, step.src)) << a.name << " " << p.rank << " " << i;
        EXPECT_EQ(act.dst < 0, step.dst.count == 0);
        EXPECT_EQ(act.src < 0, step.src.count == 0);
      }
    }
  }
}

TEST(Programs, OfManyRanksThatDoNotFoldAreFew) {
  const Programs many = programs_of(Collective::allreduce, "rabenseifner", topology::Topology::regular(12000, 1), {});
  EXPECT_EQ(many.period, 12000);
  EXPECT_LT(slots_of(many), 12000u * 30);
}

TEST(Programs, BeyondWhatMemoryHoldsAreRefusedWithTheirNumbers) {
  Programs programs;
  schedule::Request request;
  request.ranks = 16384;
  EXPECT_EQ(make_programs(*schedule::find(Collective::bcast, "scatter_allgather"), request,
                          topology::Topology::regular(16384, 1), {}, &programs),
            Status::unsupported);
  const std::string text = message();
  EXPECT_NE(text.find("bcast scatter_allgather of 16384 ranks: 16384 of them to walk, about "), std::string::npos)
      << text;
  EXPECT_NE(text.find("at most 10.0 million"), std::string::npos) << text;
}

}  // namespace
}  // namespace stretto::model
