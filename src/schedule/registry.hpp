#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace stretto::schedule {

// Permutations of ranks (over groups: of groups) that map an algorithm with equally long blocks onto itself, so that a
// model need not walk every rank.
enum class Symmetry : std::uint8_t {
  none,
  // Adding any number modulo p.
  shift,
  // But not if groups share links: a round's first message then differs.
  shift_unshared,
  // Exclusive-or with any number, if p is a power of two.
  exclusive_or,
};

// A test compares every row with its schedules.
struct Traits {
  bool keeps_order = false;  // fit for operations that do not commute, for any groups; or combines nothing
  bool uses_blocks = false;
  bool uses_radix = false;
  bool uses_split = false;  // Request::split divides its levels
  bool uses_groups = false;
  bool order_of_consecutive = false;  // keeps the order if groups are consecutive ranks
  bool rank_by_rank = false;          // ((x0 + x1) + x2) + ...
  bool ranks_differ = false;
  bool passes_blocks_on = false;  // alltoall: ranks forward blocks, and must know their lengths
  bool uses_torus = false;        // Groups::torus shapes it; without one it gains nothing
  Symmetry symmetry = Symmetry::none;
};

struct Algorithm : Traits {
  Collective collective{};
  std::string_view name;

  // Tests evaluate this expression: rounds, and bytes that the busiest rank sends ("sent", or "inside" and "between"
  // groups), receives and combines, in the symbols of docs/algorithms.md ("Costs").
  std::string_view cost;

  // Builds request.rank's schedule; ignores request.collective. Never fails for 1 <= ranks <= most_ranks(collective)
  // and 0 <= rank, root < ranks. blocks < 1 and radix < 2: the algorithm's choice.
  Schedule (*build)(const Request& request) = nullptr;
};

// An alltoall numbers ranks^2 blocks in 32 bits.
std::int32_t most_ranks(Collective collective);
Status check_ranks(Collective collective, std::int32_t ranks);

// Schedules for these groups (null: every rank alone) combine in rank order.
bool keeps_order(const Algorithm& algorithm, const Groups* groups);

// Recursive halving as MPIs have it, no candidate: where hosts have several ranks, each sends halves to other hosts.
const Algorithm& farthest_first_halving();

// In the order of the enumeration; the first of a collective is its default.
const std::vector<Algorithm>& algorithms();

std::vector<Schedule> build_all(const Algorithm& algorithm, Request request);

// The empty name finds the default.
const Algorithm* find(Collective collective, std::string_view name);

// Serves any size, best for large vectors; with `keeps_order` any operation, with `rank_by_rank` reductions.
const Algorithm& default_algorithm(Collective collective, bool keeps_order = false, bool rank_by_rank = false);

}  // namespace stretto::schedule
