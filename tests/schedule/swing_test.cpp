// Swing on tori: properties of the schedules. On a ring of ranks they are checked like all others
// (algorithms_test.cpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "schedule/check/checker.hpp"
#include "schedule/check/metrics.hpp"
#include "schedule/floors.hpp"
#include "schedule/program.hpp"
#include "schedule/registry.hpp"

namespace stretto::schedule {
namespace {

struct Laid {
  std::vector<std::int32_t> sides;
  int per_host;
};

Groups groups_on(const Laid& on) {
  const int hosts = std::accumulate(on.sides.begin(), on.sides.end(), 1, std::multiplies<>());
  std::vector<std::int32_t> host;
  for (int r = 0; r < hosts * on.per_host; ++r) host.push_back(r / on.per_host);
  Groups groups = groups_of(host);
  groups.torus = on.sides;
  return groups;
}

class SwingOnATorus : public testing::TestWithParam<Laid> {};

TEST_P(SwingOnATorus, IsRightAndSendsOneMessageAStep) {
  const Groups groups = groups_on(GetParam());
  const int p = static_cast<int>(groups.group_of.size());
  for (const char* name : {"swing_bandwidth", "swing_latency"}) {
    const auto all = build_all(*find(Collective::allreduce, name), {.ranks = p, .groups = &groups});
    ASSERT_EQ(check(all), Status::ok) << message();
    Metrics m;
    ASSERT_EQ(measure(all, &m), Status::ok);
    EXPECT_EQ(m.messages_sent_max, m.rounds - (std::has_single_bit(static_cast<unsigned>(p)) ? 0 : 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Sides, SwingOnATorus,
                         testing::Values(Laid{{4, 4, 4}, 1}, Laid{{8, 16}, 1}, Laid{{2, 32}, 1}, Laid{{1, 8, 1}, 1},
                                         Laid{{64}, 2}, Laid{{8, 4}, 4}, Laid{{4, 4}, 3}, Laid{{3, 4}, 1},
                                         Laid{{6, 6}, 2}, Laid{{5}, 1}, Laid{{2, 2, 2, 2, 2}, 1}),
                         [](const auto& i) {
                           std::string text = fmt::format("h{}", i.param.per_host);
                           for (const auto side : i.param.sides) text += fmt::format("x{}", side);
                           return text;
                         });

// The published order: partners 1, 1 and 3 away. Ranks 0 and 1 add up 6, 7, 0, 1 and 0, 1, 2, 3.
TEST(Swing, WithNearPartnersFirstRanksBracketASumDifferently) {
  const int reach[] = {1, -1, 3};
  for (const bool far_first : {false, true}) {
    std::vector<Schedule> all;
    for (int r = 0; r < 8; ++r) {
      Program program({.ranks = 8, .rank = r}, Collective::allreduce, "by_hand", 1, false);
      program.copy(Buffer::out, Buffer::in, 0, 1);
      for (int step = 0; step < 3; ++step) {
        const int away = reach[far_first ? 2 - step : step];
        const int peer = (r + (r % 2 == 0 ? away : -away) + 8) % 8;
        program.send(peer, Buffer::out, 0, 1, step);
        program.replace(peer, Buffer::tmp, 0, 1, step);
        program.combine_local(Buffer::out, Buffer::tmp, 0, 1, peer < r, step);
      }
      all.push_back(std::move(program).finish());
    }
    EXPECT_EQ(check(all), far_first ? Status::ok : Status::internal) << message();
    if (!far_first) {
      EXPECT_NE(std::string(message()).find("ranks would have different bits"), std::string::npos) << message();
    }
    for (Schedule& s : all) s.ranks_differ = true;
    EXPECT_EQ(check(all), Status::ok) << message();
  }
}

// Partners are 1, 1, 3, 5, 11, ... away on every side that is a power of two, and in the same host first.
TEST(Swing, ReachesNoFurtherThanAThirdOfASide) {
  const Laid on{{16, 32}, 2};
  const Groups groups = groups_on(on);
  const auto all = build_all(*find(Collective::allreduce, "swing_bandwidth"), {.ranks = 1024, .groups = &groups});
  const auto away = [](int a, int b, int side) { return std::min((a - b + side) % side, (b - a + side) % side); };
  for (const Schedule& s : all) {
    std::vector<int> hops;
    for (const Step& step : s.steps) {
      if (step.kind != Kind::send || hops.size() == 10) continue;
      const int own = s.rank / 2, other = step.peer / 2;
      const int rows = away(own / 32, other / 32, 16), columns = away(own % 32, other % 32, 32);
      EXPECT_TRUE(rows == 0 || columns == 0);
      hops.push_back(rows + columns);
    }
    ASSERT_EQ(hops, (std::vector<int>{0, 1, 1, 1, 1, 3, 3, 5, 5, 11})) << s.rank;
  }
}

}  // namespace
}  // namespace stretto::schedule
