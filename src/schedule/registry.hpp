// The algorithms that there are, by collective and name.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace stretto::schedule {

struct Algorithm {
  Collective collective{};
  std::string_view name;  // "ring"; the same name may serve several collectives
  bool keeps_order =
      false;  // fit for operations that do not commute, whatever the groups; true where nothing is combined
  bool uses_blocks = false;  // Request::blocks chooses the number of pieces
  bool uses_radix = false;   // Request::radix chooses the arity
  std::string_view cost;     // rounds, bytes on the wire, combines; p ranks, n bytes, B blocks, k radix

  // The schedule of request.rank. Never fails for 1 <= ranks <= most_ranks(collective), 0 <= rank, root < ranks; `collective` of the
  // request is ignored; blocks < 1 and radix < 2 stand for the algorithm's own choice.
  Schedule (*build)(const Request& request) = nullptr;

  bool uses_groups = false;           // Request::groups shapes it
  bool order_of_consecutive = false;  // keeps the order when every group is consecutive ranks
  bool rank_by_rank = false;          // combines one contribution after the other: ((x0 + x1) + x2) + ...
};

// Ranks that schedules can serve: an alltoall numbers ranks^2 blocks in 32 bits.
std::int32_t most_ranks(Collective collective);
Status check_ranks(Collective collective, std::int32_t ranks);

// Whether the schedules for these groups (null: every rank alone) keep the order of contributions.
bool keeps_order(const Algorithm& algorithm, const Groups* groups);

// Whether blocks of an alltoall travel through ranks that neither send nor receive them, which must know their lengths then.
bool passes_blocks_on(Collective collective, std::string_view name);

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
