// How close the cores of a host's first two ranks are at the moment. On virtual machines the placement changes within
// minutes, unseen by the guest, and changes every time below some megabytes by up to four. So a measurement records the
// regime before and after, and only figures of one regime compare.
#pragma once

#include <string>

#include "placement.hpp"
#include "ranks.hpp"

namespace stretto::measure {

struct Regime {
  double round_trip = 0;  // seconds of a flag there and back, median; 0: no two ranks share memory
  std::string name;       // "near", "far", "none"
};

// Collective. Takes about 60 ms.
Regime probe(const Ranks& ranks, const Machine& machine);

// Collective. The part of a core that the busiest of the ranks' cores left to its rank, all ranks computing at once: below 1 where
// other programs run, or a container has a limit. Ranks that share cores count as one program. Of three times 20 ms the best.
double own_share(const Ranks& ranks, const Machine& machine);

// near below a quarter of a microsecond.
std::string regime_name(double round_trip);

}  // namespace stretto::measure
