// Maps p ranks to q teams, the largest power of two <= p, in rank order. The ranks 2i and 2i + 1 for i < p - q form a
// team; every other rank is its own. One rank acts for its team: it receives its partner's contribution first, and
// sends the result at the end.
#pragma once

#include "schedule/program.hpp"

namespace stretto::schedule {

class Fold {
 public:
  // `favourite` acts for its team; else the lower rank does.
  explicit Fold(int ranks, int favourite = 0)
      : rounds_(log2_floor(ranks)), pairs_(ranks - (1 << rounds_)), favourite_(favourite) {}

  int teams() const { return 1 << rounds_; }
  int rounds() const { return rounds_; }
  bool folds() const { return pairs_ > 0; }

  int team(int rank) const { return rank < 2 * pairs_ ? rank / 2 : rank - pairs_; }
  int first_rank(int team) const { return team < pairs_ ? 2 * team : team + pairs_; }  // team == teams(): ranks
  int acting(int team) const { return team < pairs_ && favourite_ == 2 * team + 1 ? favourite_ : first_rank(team); }
  bool acts(int rank) const { return acting(team(rank)) == rank; }

  // -1: alone.
  int partner(int rank) const { return rank < 2 * pairs_ ? rank ^ 1 : -1; }

 private:
  int rounds_;
  int pairs_;
  int favourite_;
};

}  // namespace stretto::schedule
