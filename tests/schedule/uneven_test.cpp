// Blocks of very unequal lengths, in segments. The engine cuts blocks into segments and forwards each on arrival. This
// model does the same: a step over a block of m segments becomes m steps, and ranks send and receive a segment per
// tick.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "schedule/check/dependencies.hpp"
#include "schedule/program.hpp"
#include "schedule/registry.hpp"

namespace stretto::schedule {
namespace {

using Lengths = std::vector<int>;  // segments, by block

Schedule cut(const Schedule& whole, const Lengths& lengths) {
  Schedule fine = whole;
  fine.steps.clear();
  std::vector<int> first(lengths.size() + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), first.begin() + 1);
  fine.blocks = first.back();
  for (const Step& step : whole.steps) {
    const Range& range = step.dst.count > 0 ? step.dst : step.src;
    const int begin = first[static_cast<std::size_t>(range.first)];
    const int end = first[static_cast<std::size_t>(range.first + range.count)];
    for (int segment = begin; segment < end; ++segment) {
      Step one = step;
      for (Range* r : {&one.dst, &one.src}) {
        if (r->count > 0) *r = {r->buffer, segment, 1};
      }
      fine.steps.push_back(one);
    }
  }
  return fine;
}

// Ticks until completion, with one tick per message and none for local steps; ranks take ready steps, the earliest
// first.
class Ticks {
 public:
  explicit Ticks(std::vector<Schedule> all) : all_(std::move(all)) {
    for (const Schedule& s : all_) {
      waits_for_.emplace_back(s);
      done_.emplace_back(s.steps.size(), false);
      std::map<int, int> sent, received;
      numbers_.emplace_back();
      for (const Step& step : s.steps) {
        const bool sends = step.kind == Kind::send;
        numbers_.back().push_back(step.peer < 0 ? -1 : (sends ? sent : received)[step.peer]++);
        if (step.peer >= 0 && !sends) {
          receives_[{step.peer, s.rank}].push_back(static_cast<int>(numbers_.back().size()) - 1);
        }
      }
    }
  }

  int run() {
    int ticks = 0;
    while (true) {
      local();
      std::vector<std::pair<std::size_t, std::size_t>> over;
      std::vector<bool> receiving(all_.size(), false);
      for (std::size_t r = 0; r < all_.size(); ++r) {
        for (std::size_t i = 0; i < all_[r].steps.size(); ++i) {
          const Step& step = all_[r].steps[i];
          const auto peer = static_cast<std::size_t>(step.peer);
          if (step.kind != Kind::send || !ready(r, i) || receiving[peer]) continue;
          const auto match =
              static_cast<std::size_t>(receives_[{all_[r].rank, step.peer}][static_cast<std::size_t>(numbers_[r][i])]);
          if (!ready(peer, match)) continue;
          receiving[peer] = true;
          over.insert(over.end(), {{r, i}, {peer, match}});
          break;
        }
      }
      if (over.empty()) break;
      for (const auto& [r, i] : over) done_[r][i] = true;
      ++ticks;
    }
    for (const auto& steps : done_) EXPECT_EQ(std::count(steps.begin(), steps.end(), false), 0);
    return ticks;
  }

 private:
  bool ready(std::size_t r, std::size_t i) const {
    const auto before = waits_for_[r].of(i);
    return !done_[r][i] &&
           std::all_of(before.begin(), before.end(), [&](int e) { return done_[r][static_cast<std::size_t>(e)]; });
  }
  void local() {
    for (std::size_t r = 0; r < all_.size(); ++r) {
      for (std::size_t i = 0; i < all_[r].steps.size(); ++i) {
        if (all_[r].steps[i].peer < 0 && ready(r, i)) done_[r][i] = true;
      }
    }
  }

  std::vector<Schedule> all_;
  std::vector<Dependencies> waits_for_;
  std::vector<std::vector<bool>> done_;
  std::vector<std::vector<int>> numbers_;  // of a message among those of its rank to, or from, its peer
  std::map<std::pair<int, int>, std::vector<int>> receives_;
};

int ticks(Collective c, const char* name, const Lengths& lengths) {
  std::vector<Schedule> all;
  for (const Schedule& s : build_all(*find(c, name), {.ranks = static_cast<int>(lengths.size())})) {
    all.push_back(cut(s, lengths));
  }
  return Ticks(std::move(all)).run();
}

Lengths all_at(int p, int rank, int segments) {
  Lengths lengths(static_cast<std::size_t>(p), 0);
  lengths[static_cast<std::size_t>(rank)] = segments;
  return lengths;
}

TEST(Uneven, OneBlockGoesAroundARingAsThroughAPipeline) {
  for (const Collective c : {Collective::allgather, Collective::reduce_scatter}) {
    for (const int p : {2, 3, 5, 8}) {
      for (const int segments : {1, 7, 40}) {
        EXPECT_EQ(ticks(c, "ring", all_at(p, p / 2, segments)), segments + p - 2) << p << " " << segments;
      }
    }
  }
}

TEST(Uneven, ARingEndsSoonAfterItsBytesHavePassedOneLink) {
  std::minstd_rand random(1);
  for (int run = 0; run < 40; ++run) {
    const int p = 2 + run % 7;
    Lengths lengths;
    for (int r = 0; r < p; ++r) lengths.push_back(random() % 3 == 0 ? static_cast<int>(random() % 30) : 0);
    const int total = std::accumulate(lengths.begin(), lengths.end(), 0);
    for (const Collective c : {Collective::allgather, Collective::reduce_scatter}) {
      const int least = total - *std::min_element(lengths.begin(), lengths.end());  // over the busiest link
      const int took = ticks(c, "ring", lengths);
      EXPECT_LE(took, total + p - 2 + (total == 0 ? 2 : 0)) << p;
      EXPECT_GE(took, total == 0 ? 0 : least) << p;
    }
  }
}

// Cost of a single rank's block if its owner distributes it.
TEST(Uneven, SingleBlockCostsLogarithmicOrLinearTime) {
  for (const int p : {4, 8}) {
    const int segments = 24;
    for (const char* name : {"dissemination", "recursive_doubling"}) {
      EXPECT_GE(ticks(Collective::allgather, name, all_at(p, 1, segments)), log2_ceil(p) * segments);
    }
    EXPECT_EQ(ticks(Collective::allgather, "pairwise", all_at(p, 1, segments)), (p - 1) * segments);
    EXPECT_EQ(ticks(Collective::reduce_scatter, "pairwise", all_at(p, 1, segments)), (p - 1) * segments);
    EXPECT_LE(ticks(Collective::reduce_scatter, "recursive_halving", all_at(p, 1, segments)),
              (log2_ceil(p) + 1) * segments);
  }
}

}  // namespace
}  // namespace stretto::schedule
