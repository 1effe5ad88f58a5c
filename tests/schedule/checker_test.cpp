// The checker refuses what is wrong: by hand, and by breaking right schedules in every way that we can think of.
#include "schedule/checker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "schedule/floors.hpp"
#include "schedule/names.hpp"
#include "schedule/printer.hpp"
#include "schedule/program.hpp"
#include "schedule/registry.hpp"

namespace stretto::schedule {
namespace {

using All = std::vector<Schedule>;

bool receives(const Step& s) { return s.kind == Kind::recv_replace || s.kind == Kind::recv_combine; }
bool combines(const Step& s) { return s.kind == Kind::recv_combine || s.kind == Kind::combine; }
bool names_out(const Step& s) { return s.dst.count > 0 && s.dst.buffer == Buffer::out; }

// Calls f for every algorithm on a few numbers of ranks, in groups of two and one, with schedules that pass.
template <class F>
void for_each_right(F&& f) {
  constexpr std::int32_t host[] = {0, 1, 0, 2, 3, 3, 4, 5, 4, 6, 7, 7, 8};
  for (const Algorithm& a : algorithms()) {
    for (const int ranks : {2, 3, 4, 5, 7, 8, 13}) {
      const Groups groups = groups_of(std::span(host).first(static_cast<std::size_t>(ranks)));
      const All all = build_all(a, {.ranks = ranks, .root = ranks / 3, .blocks = 2, .radix = 3, .groups = &groups});
      ASSERT_EQ(check(all), Status::ok) << message();
      f(all);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

template <class F>
void for_each_step(const All& all, F&& f) {
  for (std::size_t r = 0; r < all.size(); ++r) {
    for (std::size_t i = 0; i < all[r].steps.size(); ++i) f(r, i);
  }
}

void expect_refused(const All& broken, const All& right, std::size_t rank, std::size_t step, const char* how) {
  EXPECT_EQ(check(broken), Status::internal) << how << ": rank " << rank << ", step " << step << " of\n"
                                             << text(right[rank]);
}

// The step that meets step i of a rank.
std::pair<std::size_t, std::size_t> partner(const All& all, std::size_t rank, std::size_t i) {
  const Step& step = all[rank].steps[i];
  const auto peer = static_cast<std::size_t>(step.peer);
  const auto same_way = [&](const Step& s) { return receives(s) == receives(step) && s.peer == step.peer; };
  const auto other_way = [&](const Step& s) {
    return s.peer == static_cast<int>(rank) && (receives(step) ? s.kind == Kind::send : receives(s));
  };
  std::ptrdiff_t before =
      std::count_if(all[rank].steps.begin(), all[rank].steps.begin() + static_cast<std::ptrdiff_t>(i), same_way);
  for (std::size_t k = 0; k < all[peer].steps.size(); ++k) {
    if (other_way(all[peer].steps[k]) && before-- == 0) return {peer, k};
  }
  ADD_FAILURE() << "no partner";
  return {peer, 0};
}

void erase(All& all, std::size_t rank, std::size_t step) {
  all[rank].steps.erase(all[rank].steps.begin() + static_cast<std::ptrdiff_t>(step));
}

TEST(Checker, RefusesAScheduleThatLacksAnyOneStep) {
  for_each_right([](const All& right) {
    for_each_step(right, [&](std::size_t r, std::size_t i) {
      All all = right;
      erase(all, r, i);
      expect_refused(all, right, r, i, "dropped");
    });
  });
}

// Barriers are left out: dissemination on other than powers of two tells some things twice.
TEST(Checker, RefusesAScheduleThatLacksAnyOneMessage) {
  for_each_right([](const All& right) {
    if (right.front().collective == Collective::barrier) return;
    for_each_step(right, [&](std::size_t r, std::size_t i) {
      if (right[r].steps[i].kind != Kind::send) return;
      All all = right;
      const auto [peer, k] = partner(right, r, i);
      erase(all, r, i);
      erase(all, peer, k);
      expect_refused(all, right, r, i, "message dropped");
    });
  });
}

TEST(Checker, RefusesAMessageOfAnotherBlockOnOneSideOrOnBoth) {
  for_each_right([](const All& right) {
    const int blocks = right.front().blocks;
    if (blocks < 2) return;
    for_each_step(right, [&](std::size_t r, std::size_t i) {
      const Step& step = right[r].steps[i];
      if (step.kind != Kind::send || step.src.count == blocks) return;
      const auto other = [&](Range& range) { range.first = range.first > 0 ? range.first - 1 : range.first + 1; };
      All all = right;
      other(all[r].steps[i].src);
      expect_refused(all, right, r, i, "sends another block");
      const auto [peer, k] = partner(right, r, i);
      other(all[peer].steps[k].dst);
      expect_refused(all, right, r, i, "moves another block");
    });
  });
}

TEST(Checker, RefusesAContributionThatIsCombinedTwice) {
  int seen = 0;
  for_each_right([&](const All& right) {
    for_each_step(right, [&](std::size_t r, std::size_t i) {
      const Step& step = right[r].steps[i];
      if (!combines(step)) return;
      ++seen;
      All all = right;
      all[r].steps.insert(all[r].steps.begin() + static_cast<std::ptrdiff_t>(i), step);
      if (step.kind == Kind::recv_combine) {
        const auto [peer, k] = partner(right, r, i);
        all[peer].steps.insert(all[peer].steps.begin() + static_cast<std::ptrdiff_t>(k), right[peer].steps[k]);
      }
      expect_refused(all, right, r, i, "combined twice");
    });
  });
  EXPECT_GT(seen, 100);
}

TEST(Checker, RefusesASumThatReplacesOrAReplacementThatSums) {
  for_each_right([](const All& right) {
    for_each_step(right, [&](std::size_t r, std::size_t i) {
      const Step& step = right[r].steps[i];
      if (!receives(step) || step.dst.count == 0) return;
      All all = right;
      all[r].steps[i].kind = step.kind == Kind::recv_combine ? Kind::recv_replace : Kind::recv_combine;
      expect_refused(all, right, r, i, "other kind of receive");
    });
  });
}

TEST(Checker, RefusesTheWrongOrderOfOperandsWhereOrderIsPromised) {
  int seen = 0;
  for_each_right([&](const All& right) {
    if (!right.front().keeps_order) return;
    for_each_step(right, [&](std::size_t r, std::size_t i) {
      if (!combines(right[r].steps[i])) return;
      ++seen;
      All all = right;
      all[r].steps[i].incoming_first ^= true;
      expect_refused(all, right, r, i, "operands swapped");
    });
  });
  EXPECT_GT(seen, 100);
}

TEST(Checker, RefusesARingThatClaimsToKeepOrder) {
  All all = build_all(*find(Collective::reduce_scatter, "ring"), {.ranks = 3});
  for (Schedule& s : all) s.keeps_order = true;
  EXPECT_EQ(check(all), Status::internal);
  EXPECT_NE(std::string(message()).find("out of rank order"), std::string::npos) << message();
}

// A step that waits for the one before it is put before that. Two combinations into one block may be exchanged.
TEST(Checker, RefusesStepsInTheWrongOrder) {
  const auto conflict = [](const Step& a, const Step& b) {
    const auto touches = [](const Range& w, const Range& x) {
      return w.buffer == x.buffer && w.first < x.first + x.count && x.first < w.first + w.count;
    };
    return touches(a.dst, b.dst) || touches(a.dst, b.src) || touches(a.src, b.dst);
  };
  int seen = 0;
  for_each_right([&](const All& right) {
    for_each_step(right, [&](std::size_t r, std::size_t i) {
      if (i == 0) return;
      const Step& before = right[r].steps[i - 1];
      const Step& step = right[r].steps[i];
      if (!conflict(before, step) || (combines(before) && combines(step))) return;
      ++seen;
      All all = right;
      std::swap(all[r].steps[i - 1], all[r].steps[i]);
      expect_refused(all, right, r, i, "exchanged with the step before");
    });
  });
  EXPECT_GT(seen, 100);
}

TEST(Checker, RefusesAResultThatIsNotWhereTheCallerExpectsIt) {
  for_each_right([](const All& right) {
    for_each_step(right, [&](std::size_t r, std::size_t i) {
      if (!names_out(right[r].steps[i])) return;
      All all = right;
      all[r].steps[i].dst.buffer = Buffer::tmp;
      expect_refused(all, right, r, i, "written elsewhere");
    });
  });
}

TEST(Checker, RefusesToWriteTheInput) {
  for_each_right([](const All& right) {
    for_each_step(right, [&](std::size_t r, std::size_t i) {
      if (right[r].steps[i].dst.count == 0) return;
      All all = right;
      all[r].steps[i].dst.buffer = Buffer::in;
      expect_refused(all, right, r, i, "writes in");
    });
  });
}

TEST(Checker, RefusesBlocksOutsideTheVector) {
  for_each_right([](const All& right) {
    for_each_step(right, [&](std::size_t r, std::size_t i) {
      const Step& step = right[r].steps[i];
      if (step.src.count + step.dst.count == 0) return;
      for (const int first : {-1, right[r].blocks}) {
        All all = right;
        Range& range = step.kind == Kind::send || step.kind == Kind::copy ? all[r].steps[i].src : all[r].steps[i].dst;
        range.first = first;
        expect_refused(all, right, r, i, "outside");
      }
    });
  });
}

TEST(Checker, RefusesPeersThatAreNoneAndLevelsThatDiffer) {
  for_each_right([](const All& right) {
    for_each_step(right, [&](std::size_t r, std::size_t i) {
      if (right[r].steps[i].peer < 0) return;
      for (const int peer : {-1, static_cast<int>(r), static_cast<int>(right.size())}) {
        All all = right;
        all[r].steps[i].peer = peer;
        expect_refused(all, right, r, i, "peer");
      }
      All all = right;
      all[r].steps[i].level += 1;
      expect_refused(all, right, r, i, "level");
    });
  });
}

TEST(Checker, RefusesSchedulesThatDoNotBelongTogether) {
  const All right = build_all(*find(Collective::allreduce, "binomial"), {.ranks = 4});
  const auto refused = [&](auto&& change) {
    All all = right;
    change(all);
    return check(all) == Status::internal;
  };
  EXPECT_TRUE(refused([](All& all) { std::swap(all[1], all[2]); }));
  EXPECT_TRUE(refused([](All& all) { all.pop_back(); }));
  EXPECT_TRUE(refused([](All& all) { all[3].root = 1; }));
  EXPECT_TRUE(refused([](All& all) { all[3].blocks = 2; }));
  EXPECT_TRUE(refused([](All& all) { all[3].algorithm = "ring"; }));
  EXPECT_TRUE(refused([](All& all) { all[3].collective = Collective::reduce; }));
  EXPECT_TRUE(refused([](All& all) {
    for (Schedule& s : all) s.blocks = 0;
  }));
  EXPECT_EQ(check({}), Status::invalid_argument);
}

// ---- two ranks by hand: an allreduce of one block

struct Pair {
  Program programs[2] = {{{.ranks = 2, .rank = 0}, Collective::allreduce, "by_hand", 1, true},
                         {{.ranks = 2, .rank = 1}, Collective::allreduce, "by_hand", 1, true}};
  template <class F>
  Pair(F&& write) {  // write(program, rank, peer)
    for (int r = 0; r < 2; ++r) write(programs[r], r, 1 - r);
  }
  Status check() {
    const All all = {std::move(programs[0]).finish(), std::move(programs[1]).finish()};
    return schedule::check(all);
  }
};

TEST(Checker, AcceptsAnExchangeThroughScratch) {
  EXPECT_EQ(Pair([](Program& p, int r, int peer) {
              p.copy(Buffer::out, Buffer::in, 0, 1);
              p.send(peer, Buffer::out, 0, 1, 0);
              p.replace(peer, Buffer::tmp, 0, 1, 0);
              p.combine_local(Buffer::out, Buffer::tmp, 0, 1, peer < r, 0);
            }).check(),
            Status::ok)
      << message();
}

TEST(Checker, RefusesAWriteToABlockInFlight) {
  EXPECT_EQ(Pair([](Program& p, int r, int peer) {
              p.copy(Buffer::out, Buffer::in, 0, 1);
              p.send(peer, Buffer::out, 0, 1, 0);
              p.combine(peer, Buffer::out, 0, 1, peer < r, 0);
            }).check(),
            Status::internal);
  EXPECT_NE(std::string(message()).find("rank 0, step 2 (recv_combine out[0] <- 1) has block 0 in flight with step 1"),
            std::string::npos)
      << message();
}

// Each rank may receive only when its send is over, which ends only when it is received.
TEST(Checker, RefusesTwoRanksThatWaitForEachOther) {
  EXPECT_EQ(Pair([](Program& p, int r, int peer) {
              p.copy(Buffer::out, Buffer::in, 0, 1);
              p.send(peer, Buffer::out, 0, 1, static_cast<int>(r));
              p.combine(peer, Buffer::out, 0, 1, peer < r, 1 - r);
            }).check(),
            Status::internal);
  EXPECT_EQ(
      std::string(message()),
      "deadlock: allreduce by_hand of 2 ranks: rank 0, step 1 (send out[0] -> 1); rank 1, step 1 (send out[0] -> 0) "
      "waits; back to rank 0");
}

// Free of deadlock when all that may start starts, but not when steps are issued as listed. The
// copy waits for the peer's message, which is listed behind the copy that waits for this rank's.
TEST(Checker, RefusesASendThatIsListedBehindWhatWaitsForIt) {
  All all;
  for (int r = 0; r < 2; ++r) {
    const int peer = 1 - r;
    Program p({.ranks = 2, .rank = r}, Collective::alltoall, "by_hand", 4, true);
    p.copy(Buffer::out, Buffer::in, r * 3, 1);
    p.replace(peer, Buffer::tmp, peer * 2 + r, 1, r);
    p.copy(Buffer::out, Buffer::tmp, peer * 2 + r, 1);
    p.send(peer, Buffer::in, r * 2 + peer, 1, peer);
    all.push_back(std::move(p).finish());
  }
  EXPECT_EQ(check(all), Status::internal);
  EXPECT_EQ(std::string(message()).substr(0, 9), "deadlock:") << message();
  for (Schedule& s : all) std::swap(s.steps[2], s.steps[3]);
  EXPECT_EQ(check(all), Status::ok) << message();
}

TEST(Checker, RefusesToReadTheInputWhereAResultReplacesIt) {
  EXPECT_EQ(Pair([](Program& p, int r, int peer) {
              p.send(peer, Buffer::in, 0, 1, 0);
              p.copy(Buffer::out, Buffer::in, 0, 1);
              p.combine(peer, Buffer::out, 0, 1, peer < r, 0);
            }).check(),
            Status::internal);
  EXPECT_NE(std::string(message()).find("not possible in place"), std::string::npos) << message();
}

TEST(Checker, RefusesABarrierThatLetsARankGoEarly) {
  // A round trip of signals by way of rank 0, but rank 2 is let go before rank 1 has been heard.
  const Request q{.ranks = 3};
  All all;
  Program zero(q, Collective::barrier, "by_hand", 0, true);
  zero.await(2, 0);
  zero.signal(2, 1);
  zero.await(1, 2);
  zero.signal(1, 3);
  all.push_back(std::move(zero).finish());
  for (int r = 1; r < 3; ++r) {
    Program other({.ranks = 3, .rank = r}, Collective::barrier, "by_hand", 0, true);
    other.signal(0, r == 2 ? 0 : 2);
    other.await(0, r == 2 ? 1 : 3);
    all.push_back(std::move(other).finish());
  }
  EXPECT_EQ(check(all), Status::internal);
  EXPECT_NE(std::string(message()).find("rank 2 may finish (after step 1) before rank 1 has started"),
            std::string::npos)
      << message();
}

TEST(Checker, SaysThatStepsInsideANodeAreNotModelled) {
  All all = build_all(*find(Collective::broadcast, "linear"), {.ranks = 2});
  all[0].steps.push_back({.kind = Kind::post, .peer = 1, .src = {Buffer::in, 0, 1}});
  EXPECT_EQ(check(all), Status::unsupported);
}

TEST(Checker, NamesRankStepAndBlock) {
  All all = build_all(*find(Collective::allreduce, "ring"), {.ranks = 4});
  all[2].steps[5].kind = Kind::recv_replace;
  EXPECT_EQ(check(all), Status::internal);
  const std::string text = message();
  EXPECT_NE(text.find("rank "), std::string::npos) << text;
  EXPECT_NE(text.find("step "), std::string::npos) << text;
  EXPECT_NE(text.find("block "), std::string::npos) << text;
}

}  // namespace
}  // namespace stretto::schedule
