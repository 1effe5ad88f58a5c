// Independent work per core: first on one rank alone, then on one rank per core of every host, all at once, so that the
// effect of shared resources (caches, memory, threads of a core) shows.
#pragma once

#include <functional>

#include "parts.hpp"

namespace stretto::measure {

// One of the two settings.
struct Crew {
  int busy = 1;                // working ranks per host
  std::vector<int> members{};  // of all hosts
  bool active = false;         // this rank is a member
  int cpu = -1;                // binding of this rank
};

// "alone", and "together" where a host has several ranks and several cores.
std::vector<Crew> crews(const Job& job);

// Collective. Times `work` on the bound crew, with all others quiet: the largest of the ranks' medians.
Timing time_crew(const Job& job, const Crew& crew, const Budget& budget, const std::function<void()>& work);

}  // namespace stretto::measure
