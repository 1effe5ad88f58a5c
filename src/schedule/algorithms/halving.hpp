// The intervals of recursive vector halving with distance doubling, common to rabenseifner.cpp and recursive_halving.cpp.
//
// In round j = 0, 1, ... two teams (fold.hpp) whose numbers differ in bit j share an interval of pieces. The team with
// bit j clear keeps the lower half, the other the upper half. Near ranks merge first, so after round j a team holds the
// combination of 2^(j+1) neighbouring teams, in order. After all rounds team t holds the piece whose number is t with
// its bits reversed.
#pragma once

namespace stretto::schedule {

struct Interval {
  int first = 0;
  int count = 0;
};

// Pieces of `team` after `rounds` rounds of halving, out of `teams` (a power of two).
inline Interval halved(int team, int rounds, int teams) {
  Interval pieces{0, teams};
  for (int j = 0; j < rounds; ++j) {
    pieces.count /= 2;
    if ((team >> j & 1) != 0) pieces.first += pieces.count;
  }
  return pieces;
}

}  // namespace stretto::schedule
