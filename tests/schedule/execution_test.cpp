// Ground truth for the checker: schedules run on real values, strings that are concatenated, in random order,
// independently of the library. A step may start once no earlier unfinished step of its rank conflicts with it, as in
// schedule.hpp, pair by pair.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/core.h>

#include "schedule/check/dependencies.hpp"
#include "schedule/floors.hpp"
#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::schedule {
namespace {

std::string contribution(int rank, int block) { return fmt::format("{}{} ", static_cast<char>('a' + rank), block); }

bool conflict(const Step& a, const Step& b) {
  const auto overlap = [](const Range& x, const Range& y) {
    return x.buffer == y.buffer && x.first < y.first + y.count && y.first < x.first + x.count;
  };
  const auto writes_into = [&](const Step& w, const Step& s) {
    return overlap(written_by(w), read_by(s)) || overlap(written_by(w), written_by(s));
  };
  return writes_into(a, b) || writes_into(b, a);
}

class Machine {
 public:
  // `eager`: a send completes when it starts; else when it is received. `in_place`: in and out are one memory.
  // `brackets`: each combination is written in brackets.
  Machine(const std::vector<Schedule>& all, bool eager, bool in_place, unsigned seed, bool brackets = false)
      : all_(all),
        eager_(eager),
        in_place_(in_place),
        brackets_(brackets),
        random_(seed),
        state_(all.size()),
        memory_(all.size()) {
    for (const Schedule& s : all) {
      const auto r = static_cast<std::size_t>(s.rank);
      state_[r].assign(s.steps.size(), State::waiting);
      for (int b = 0; b < s.blocks; ++b) {
        if (holds(s.collective, s.ranks, s.root, s.rank, b)) cell(s.rank, Buffer::in, b) = contribution(s.rank, b);
      }
    }
  }

  // False when something can never run.
  bool run() {
    while (true) {
      std::vector<std::pair<int, int>> able;
      for (const Schedule& s : all_) {
        for (std::size_t i = 0; i < s.steps.size(); ++i) {
          if (can_start(s, i)) able.emplace_back(s.rank, static_cast<int>(i));
        }
      }
      if (able.empty()) break;
      const auto [rank, step] = able[random_() % able.size()];
      start(rank, step);
    }
    for (const auto& steps : state_) {
      if (std::any_of(steps.begin(), steps.end(), [](State s) { return s != State::over; })) return false;
    }
    return true;
  }

  std::string result(int rank, int block) { return cell(rank, Buffer::out, block); }

 private:
  enum class State { waiting, under_way, over };
  struct Message {
    int sender_step;
    std::vector<std::string> blocks;
  };

  std::string& cell(int rank, Buffer buffer, int block) {
    if (in_place_ && buffer == Buffer::in) buffer = Buffer::out;
    return memory_[static_cast<std::size_t>(rank)][{buffer, block}];
  }

  // The k-th receive takes the k-th send: earlier messages of the same pair and direction must have started.
  bool can_start(const Schedule& s, std::size_t i) {
    const auto& state = state_[static_cast<std::size_t>(s.rank)];
    if (state[i] != State::waiting) return false;
    const Step& step = s.steps[i];
    for (std::size_t e = 0; e < i; ++e) {
      const Step& earlier = s.steps[e];
      if (state[e] != State::over && conflict(earlier, step)) return false;
      const bool same_channel =
          earlier.peer >= 0 && earlier.peer == step.peer && (earlier.kind == Kind::send) == (step.kind == Kind::send);
      if (state[e] == State::waiting && same_channel) return false;
    }
    const bool receives = step.kind == Kind::recv_replace || step.kind == Kind::recv_combine;
    return !receives || !wire_[{step.peer, s.rank}].empty();
  }

  void start(int rank, int i) {
    const Step& step = all_[static_cast<std::size_t>(rank)].steps[static_cast<std::size_t>(i)];
    State& state = state_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)];
    std::vector<std::string> incoming;
    state = State::over;
    if (step.kind == Kind::send || step.peer < 0) {
      for (int b = step.src.first; b < step.src.first + step.src.count; ++b)
        incoming.push_back(cell(rank, step.src.buffer, b));
    }
    if (step.kind == Kind::send) {
      if (!eager_) state = State::under_way;
      wire_[{rank, step.peer}].push_back({i, incoming});
      return;
    }
    if (step.peer >= 0) {
      auto& wire = wire_[{step.peer, rank}];
      incoming = wire.front().blocks;
      state_[static_cast<std::size_t>(step.peer)][static_cast<std::size_t>(wire.front().sender_step)] = State::over;
      wire.pop_front();
    }
    ASSERT_EQ(incoming.size(), static_cast<std::size_t>(step.dst.count));
    const bool combines = step.kind == Kind::recv_combine || step.kind == Kind::combine;
    for (int k = 0; k < step.dst.count; ++k) {
      std::string& own = cell(rank, step.dst.buffer, step.dst.first + k);
      const std::string& other = incoming[static_cast<std::size_t>(k)];
      own = !combines ? other : (step.incoming_first ? other + own : own + other);
      if (combines && brackets_) own = "(" + own + ")";
    }
  }

  const std::vector<Schedule>& all_;
  bool eager_, in_place_, brackets_;
  std::minstd_rand random_;
  std::vector<std::vector<State>> state_;
  std::vector<std::map<std::pair<Buffer, int>, std::string>> memory_;
  std::map<std::pair<int, int>, std::deque<Message>> wire_;
};

int contributors(const Schedule& s) {
  if (!is_prefix(s.collective)) return s.ranks;
  return s.collective == Collective::scan ? s.rank + 1 : s.rank;
}

std::string expected(const Schedule& s, int block) {
  if (s.collective == Collective::alltoall) return contribution(block / s.ranks, block);
  if (!reduces(s.collective))
    return contribution(rooted(s.collective) && s.collective != Collective::gather ? s.root : block, block);
  std::string sum;
  for (int r = 0; r < contributors(s); ++r) sum += contribution(r, block);
  return sum;
}

// "b1 a1 c1 " -> "a1 b1 c1 "
std::string sorted(const std::string& sum, int block) {
  std::vector<char> ranks;
  const std::size_t length = contribution(0, block).size();
  for (std::size_t i = 0; i < sum.size(); i += length) ranks.push_back(sum[i]);
  std::sort(ranks.begin(), ranks.end());
  std::string s;
  for (const char r : ranks) s += contribution(r - 'a', block);
  return s;
}

void run_all(bool in_place) {
  unsigned seed = 1;
  for (const Algorithm& a : algorithms()) {
    const bool apart = a.collective == Collective::alltoall || a.collective == Collective::reduce_scatter;
    if (a.collective == Collective::barrier || (in_place && apart)) continue;
    for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11}) {
      for (const bool eager : {false, true}) {
        const int root = static_cast<int>(seed) % ranks;
        std::vector<std::int32_t> host;  // pairs of ranks, or dealt out to three hosts
        for (int r = 0; r < ranks; ++r) host.push_back(seed % 4 < 2 ? r / 2 : r % 3);
        const Groups groups = groups_of(host);
        const auto all = build_all(a, {.ranks = ranks, .root = root, .blocks = 3, .radix = 3, .groups = &groups});
        Machine machine(all, eager, in_place, seed++);
        ASSERT_TRUE(machine.run()) << name(a.collective) << " " << a.name << ", " << ranks << " ranks, root " << root;
        for (const Schedule& s : all) {
          for (int b = 0; b < s.blocks; ++b) {
            if (!expects(s.collective, s.ranks, s.root, s.rank, b)) continue;
            const std::string got = machine.result(s.rank, b);
            ASSERT_EQ(s.keeps_order ? got : sorted(got, b), expected(s, b))
                << name(a.collective) << " " << a.name << ", rank " << s.rank << " of " << ranks << ", root " << root;
          }
        }
      }
    }
  }
}

TEST(Execution, RandomOrderGivesTheResultThatTheCheckerPromises) { run_all(false); }

TEST(Execution, TheSameInPlace) { run_all(true); }

// One contribution after the other in the order of the ranks, for those that promise it, and for no other.
TEST(Execution, RankByRankIsHowSumsAreBracketed) {
  for (const Algorithm& a : algorithms()) {
    if (!reduces(a.collective)) continue;
    bool always = true;
    for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 9}) {
      for (int root = 0; root < (rooted(a.collective) ? ranks : 1); ++root) {
        const Groups groups = groups_of(std::vector<std::int32_t>(static_cast<std::size_t>(ranks), 0));
        const auto all = build_all(a, {.ranks = ranks, .root = root, .blocks = 3, .radix = 3, .groups = &groups});
        Machine machine(all, true, false, 1, true);
        ASSERT_TRUE(machine.run());
        for (const Schedule& s : all) {
          for (int b = 0; b < s.blocks; ++b) {
            if (!expects(s.collective, s.ranks, s.root, s.rank, b)) continue;
            std::string sum = contribution(0, b);
            for (int r = 1; r < contributors(s); ++r) sum = "(" + sum + contribution(r, b) + ")";
            always = always && machine.result(s.rank, b) == sum;
          }
        }
      }
    }
    EXPECT_EQ(always, a.rank_by_rank) << name(a.collective) << " " << a.name;
  }
}

}  // namespace
}  // namespace stretto::schedule
