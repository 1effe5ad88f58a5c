// The algorithms that there are, by collective and name.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace stretto::schedule {

// The map of ranks that maps an algorithm onto itself when all blocks are equally long: a model need not walk every rank then. For
// algorithms over groups it maps groups.
enum class Symmetry : std::uint8_t {
  none,
  // Adding any number to all ranks, modulo p.
  shift,
  // Like shift, but not where groups share links: messages of a round would begin together there, and the first differs between groups.
  shift_unshared,
  // Exclusive-or of all ranks with any number, where the ranks are a power of two.
  exclusive_or,
};

// Traits that few algorithms have. A test compares every row with its schedules.
struct Traits {
  bool keeps_order = false;  // fit for operations that do not commute, whatever the groups; or nothing is combined
  bool uses_blocks = false;  // Request::blocks chooses the number of pieces
  bool uses_radix = false;   // Request::radix chooses the arity
  bool uses_split = false;   // a tree: Request::split shares its levels out between lanes
  bool uses_groups = false;  // Request::groups makes floors of it
  bool order_of_consecutive = false;  // keeps the order when every group is consecutive ranks
  bool rank_by_rank = false;          // combines one contribution after the other: ((x0 + x1) + x2) + ...
  bool ranks_differ = false;          // as of its schedules: only for exact operations and sums of codes
  bool passes_blocks_on = false;      // alltoall: ranks forward blocks of others, and must know their lengths
  bool uses_torus = false;            // Groups::torus shapes it, and without one it gains nothing
  Symmetry symmetry = Symmetry::none;
};

// One row: all that other floors know of an algorithm.
struct Algorithm : Traits {
  Collective collective{};
  std::string_view name;  // "ring"; the same name may serve several collectives

  // An expression that tests evaluate: rounds, and bytes that the busiest rank sends ("sent", or "inside" and "between" groups),
  // receives and combines, with commas between. "at most": it depends on more than the symbols. Symbols:
  //   p ranks, n bytes of the vector, B pieces, q the largest power of two <= p, L = ceil(log2 p), t = floor(log2 p) + 1,
  //   K = (k-1) ceil(log_k p) with radix k; H groups of D ranks, Q the largest power of two <= H, l = ceil(log2 D), h = ceil(log2 H).
  // (+x) is added where p > q or H > Q.
  std::string_view cost;

  // The schedule of request.rank. Never fails for 1 <= ranks <= most_ranks(collective), 0 <= rank, root < ranks; `collective` of the
  // request is ignored; blocks < 1 and radix < 2 stand for the algorithm's own choice.
  Schedule (*build)(const Request& request) = nullptr;
};

// Ranks that schedules can serve: an alltoall numbers ranks^2 blocks in 32 bits.
std::int32_t most_ranks(Collective collective);
Status check_ranks(Collective collective, std::int32_t ranks);

// True if the schedules for these groups (null: every rank alone) keep the order of contributions.
bool keeps_order(const Algorithm& algorithm, const Groups* groups);

// All algorithms, grouped by collective in the order of the enumeration; the first of a group is its default.
const std::vector<Algorithm>& algorithms();

// The schedules of all ranks; `rank` of the request is ignored.
std::vector<Schedule> build_all(const Algorithm& algorithm, Request request);

// By name; null when there is none. The empty name finds the default.
const Algorithm* find(Collective collective, std::string_view name);

// Default for a collective: right for any size, best for large vectors; fit for any operation when `keeps_order`, of those that combine
// rank by rank when that is wanted of a reduction.
const Algorithm& default_algorithm(Collective collective, bool keeps_order = false, bool rank_by_rank = false);

}  // namespace stretto::schedule
