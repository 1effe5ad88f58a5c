// How close the two cores that the first two ranks of a host run on are just now. On virtual machines placement changes within
// minutes, unseen by the guest, and with it every time below some megabytes by up to four times; so a measurement records it
// before and after, and only figures of one regime compare.
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
