// The checker refuses wrong schedules: right schedules broken in every known way.
#include "schedule/check/checker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../sanitized.hpp"
#include "base/status.hpp"
#include "schedule/check/printer.hpp"
#include "schedule/floors.hpp"
#include "schedule/names.hpp"
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
      if (kSanitized && ranks > 4) break;
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

TEST(Checker, AcceptsTheHalvingOfMpis) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    const All all = build_all(farthest_first_halving(), {.ranks = ranks});
    EXPECT_EQ(check(all), Status::ok) << ranks << ": " << message();
    EXPECT_FALSE(all[0].keeps_order);
  }
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

// Moves a step before the step on which it depends. Two combinations into one block may be exchanged.
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

}  // namespace
}  // namespace stretto::schedule
