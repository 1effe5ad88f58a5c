#include "schedule/check/dependencies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "schedule/program.hpp"
#include "schedule/registry.hpp"

namespace stretto::schedule {
namespace {

std::vector<int> of(const Dependencies& d, std::size_t i) { return {d.of(i).begin(), d.of(i).end()}; }

using List = std::vector<int>;

TEST(Dependencies, ReadersWaitForTheWriterAndNextWritersForReaders) {
  Program program({.ranks = 3}, Collective::allreduce, "test", 4, true);
  program.copy(Buffer::out, Buffer::in, 0, 4);      // 0
  program.send(1, Buffer::out, 0, 2, 0);            // 1
  program.send(2, Buffer::out, 1, 2, 0);            // 2
  program.combine(1, Buffer::out, 1, 1, false, 1);  // 3: after both sends
  program.combine(1, Buffer::out, 3, 1, false, 1);  // 4: after the copy alone
  program.send(1, Buffer::out, 0, 4, 2);            // 5: after both combinations
  const Dependencies d(std::move(program).finish());
  EXPECT_EQ(of(d, 0), List{});
  EXPECT_EQ(of(d, 1), List{0});
  EXPECT_EQ(of(d, 2), List{0});
  EXPECT_EQ(of(d, 3), (List{1, 2}));
  EXPECT_EQ(of(d, 4), List{0});
  EXPECT_EQ(of(d, 5), (List{0, 3, 4}));
}

TEST(Dependencies, BuffersAreApartAndReadersDoNotWaitForReaders) {
  Program program({.ranks = 2}, Collective::allreduce, "test", 1, true);
  program.send(1, Buffer::in, 0, 1, 0);
  program.send(1, Buffer::in, 0, 1, 0);
  program.replace(1, Buffer::tmp, 0, 1, 0);
  program.copy(Buffer::out, Buffer::in, 0, 1);
  const Dependencies d(std::move(program).finish());
  for (std::size_t i = 0; i < d.size(); ++i) EXPECT_EQ(of(d, i), List{}) << i;
}

TEST(Dependencies, SignalsAreOrderedAcrossLevelsOnly) {
  Program program({.ranks = 3}, Collective::barrier, "test", 0, true);
  program.signal(1, 0);
  program.await(2, 0);
  program.signal(2, 1);
  program.await(1, 1);
  const Dependencies d(std::move(program).finish());
  EXPECT_EQ(of(d, 1), List{});
  EXPECT_EQ(of(d, 2), (List{0, 1}));
  EXPECT_EQ(of(d, 3), (List{0, 1}));
}

bool overlap(const Range& a, const Range& b) {
  return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
}

// The rule as schedule.hpp says it, pair by pair.
bool depends_by_rule(const Step& a, const Step& b) {
  const auto touches = [](const Step& writer, const Step& s) {
    const Range w = written_by(writer);
    return overlap(w, read_by(s)) || overlap(w, written_by(s));
  };
  const auto signal = [](const Step& s) { return s.src.count == 0 && s.dst.count == 0; };
  return touches(a, b) || touches(b, a) || ((signal(a) || signal(b)) && a.level != b.level);
}

TEST(Dependencies, TheTransitiveClosureIsTheRule) {
  for (const Algorithm& a : algorithms()) {
    for (const int ranks : {2, 5, 8}) {
      for (int rank = 0; rank < ranks; ++rank) {
        const Schedule s =
            a.build({.collective = a.collective, .ranks = ranks, .rank = rank, .root = ranks / 2, .blocks = 3});
        const Dependencies d(s);
        std::vector<std::set<int>> before(s.steps.size());
        std::vector<std::set<int>> rule(s.steps.size());
        for (std::size_t i = 0; i < s.steps.size(); ++i) {
          for (const int e : d.of(i)) {
            ASSERT_LT(static_cast<std::size_t>(e), i);
            before[i].insert(e);
            before[i].insert(before[static_cast<std::size_t>(e)].begin(), before[static_cast<std::size_t>(e)].end());
          }
          for (std::size_t e = 0; e < i; ++e) {
            if (!depends_by_rule(s.steps[e], s.steps[i])) continue;
            rule[i].insert(static_cast<int>(e));
            rule[i].insert(rule[e].begin(), rule[e].end());
          }
          EXPECT_EQ(before[i], rule[i]) << a.name << " " << ranks << " ranks, rank " << rank << ", step " << i;
        }
      }
    }
  }
}

// Messages that move level by level, in one order on all ranks, never wait in a cycle (engine/device/direct.cpp).
TEST(Dependencies, MessagesWaitForMessagesOfLowerLevelsAlone) {
  for (const Algorithm& a : algorithms()) {
    for (const int ranks : {2, 3, 5, 8, 9}) {
      for (const Schedule& s :
           build_all(a, {.collective = a.collective, .ranks = ranks, .root = ranks / 2, .blocks = 4})) {
        const Dependencies d(s);
        std::vector<int> highest(s.steps.size(), -1);  // of the messages that a step waits for, and its own
        for (std::size_t i = 0; i < s.steps.size(); ++i) {
          for (const int e : d.of(i)) highest[i] = std::max(highest[i], highest[static_cast<std::size_t>(e)]);
          if (s.steps[i].peer < 0) continue;
          ASSERT_GT(static_cast<int>(s.steps[i].level), highest[i]) << a.name << " rank " << s.rank << " step " << i;
          highest[i] = static_cast<int>(s.steps[i].level);
        }
      }
    }
  }
}

}  // namespace
}  // namespace stretto::schedule
