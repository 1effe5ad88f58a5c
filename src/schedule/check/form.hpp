// What can be checked on one rank's schedule alone; the checker does it first.
#pragma once

#include <span>

#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace stretto::schedule {

// The schedules agree on what they are and every step is well formed: known kinds, legal peers, blocks inside the vector, in
// not written, out touched only where a result is expected, no signals among data.
Status check_form(std::span<const Schedule> all);

// Sends and receives of a level of a rank never conflict: none writes a block that another one has in flight.
Status check_levels(std::span<const Schedule> all);

// in and out may be one memory: no block is read in `in` by anything but its copy to out while something else writes it in out.
// Nothing is asked of alltoall and reduce_scatter: what is in place there does not share memory block by block.
Status check_in_place(std::span<const Schedule> all);

}  // namespace stretto::schedule
