// How algorithms for a power of two of ranks serve any number of them.
//
// Let q be the largest power of two <= p and r = p - q. The ranks 2i and 2i + 1 for i < r form a team of two; every
// other rank is a team of its own. The q teams are numbered in rank order, so neighbouring teams hold neighbouring
// ranks, and the order of contributions is kept. One rank of each team acts for the team; the other hands its
// contribution over before and is told the result after.
#pragma once

#include "schedule/program.hpp"

namespace stretto::schedule {

class Fold {
 public:
  // `favourite` acts for its team; in other teams of two the lower rank does.
  explicit Fold(int ranks, int favourite = 0)
      : rounds_(log2_floor(ranks)), pairs_(ranks - (1 << rounds_)), favourite_(favourite) {}

  int teams() const { return 1 << rounds_; }
  int rounds() const { return rounds_; }  // log2 of teams()
  bool folds() const { return pairs_ > 0; }

  int team(int rank) const { return rank < 2 * pairs_ ? rank / 2 : rank - pairs_; }
  int first_rank(int team) const { return team < pairs_ ? 2 * team : team + pairs_; }  // team == teams(): ranks
  int acting(int team) const { return team < pairs_ && favourite_ == 2 * team + 1 ? favourite_ : first_rank(team); }
  bool acts(int rank) const { return acting(team(rank)) == rank; }

  // The other rank of the team, or -1.
  int partner(int rank) const { return rank < 2 * pairs_ ? rank ^ 1 : -1; }

 private:
  int rounds_;
  int pairs_;
  int favourite_;
};

}  // namespace stretto::schedule
