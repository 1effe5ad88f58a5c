// Work of every core by itself: first one rank alone, then one rank a core on every host, all at once, so that what cores share
// (caches, memory, threads of a core) shows.
#pragma once

#include <functional>

#include "parts.hpp"

namespace stretto::measure {

// One of the two settings.
struct Crew {
  int busy = 1;                // ranks at work on a host
  std::vector<int> members{};  // of all hosts
  bool active = false;         // this rank is one of them
  int cpu = -1;                // that it is bound to meanwhile
};

// "alone", and "together" where a host has several ranks and several cores.
std::vector<Crew> crews(const Job& job);

// Collective. The timing of `work` on the crew, bound, with all others quiet: of the ranks' medians the largest.
Timing time_crew(const Job& job, const Crew& crew, const Budget& budget, const std::function<void()>& work);

}  // namespace stretto::measure
