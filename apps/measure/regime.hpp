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

// near below a quarter of a microsecond.
std::string regime_name(double round_trip);

}  // namespace stretto::measure
