// Current distance of the cores of a host's first two ranks. On virtual machines the placement changes within minutes,
// unseen by the guest, and times below some megabytes change by up to four. So a measurement records the regime before
// and after, and only figures of one regime are comparable.
#pragma once

#include <string>

#include "placement.hpp"
#include "ranks.hpp"

namespace stretto::measure {

struct Regime {
  double round_trip = 0;  // median seconds of a flag's round trip; 0: no two ranks share memory
  std::string name;       // "near", "far", "none"
};

// Collective. Takes about 60 ms.
Regime probe(const Ranks& ranks, const Machine& machine);

// Collective. The fraction of a core left to its rank, over the busiest of the ranks' cores, with all ranks computing:
// below 1 if other programs run, or a container has a limit. Ranks that share cores count as one program. The best of
// three times 20 ms.
double own_share(const Ranks& ranks, const Machine& machine);

// Near below a quarter of a microsecond.
std::string regime_name(double round_trip);

}  // namespace stretto::measure
