#pragma once

#include <span>

#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace stretto::schedule {

// Proves the schedules of all ranks right, symbolically, for vectors of any length and every execution that
// schedule.hpp allows:
//   result     every expected block ends in out with each contribution exactly once, in rank order when keeps_order;
//              a barrier lets no rank finish before all have started;
//   bits       all ranks that expect a block bracket its sum alike, unless ranks_differ;
//   messages   sends and receives of equal blocks and levels match, in one lane;
//   progress   no deadlock, even where a send ends only with its receive, and no wait for a later lane;
//   buffers    the rules of schedule.hpp for in, out and tmp, also in place, and for conflicts on a level.
// Otherwise Status::internal; the message names rank, step and block.
Status check(std::span<const Schedule> all);

}  // namespace stretto::schedule
