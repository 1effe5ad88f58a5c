// Independent work per core: first on one rank alone, then on one rank per core of every host, all at once, so that the
// effect of shared resources (caches, memory, threads of a core) shows.
#pragma once

#include <functional>

#include "costs/parts.hpp"

namespace stretto::measure {

// The working ranks of a measurement.
struct RankGroup {
  int busy = 1;                // working ranks per host
  std::vector<int> members{};  // of all hosts
  bool active = false;         // this rank is a member
  int cpu = -1;                // binding of this rank
};

// "alone", and "together" where a host has several ranks and several cores.
std::vector<RankGroup> rank_groups(const Job& job);

// Collective. Times `work` on the bound group, with all others quiet: the largest of the ranks' medians.
Timing time_group(const Job& job, const RankGroup& group, const Budget& budget, const std::function<void()>& work);

}  // namespace stretto::measure
