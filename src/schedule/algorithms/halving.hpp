// Recursive vector halving with distance doubling. In round j two teams (fold.hpp) whose numbers differ in bit j share
// an interval of pieces; the team with bit j clear keeps the lower half. After round j a team holds the ordered
// combination of 2^(j+1) neighbouring teams, and at the end the piece numbered by its own reversed bits.
#pragma once

namespace stretto::schedule {

struct Interval {
  int first = 0;
  int count = 0;
};

// `teams` is a power of two.
inline Interval halved(int team, int rounds, int teams) {
  Interval pieces{0, teams};
  for (int j = 0; j < rounds; ++j) {
    pieces.count /= 2;
    if ((team >> j & 1) != 0) pieces.first += pieces.count;
  }
  return pieces;
}

}  // namespace stretto::schedule
