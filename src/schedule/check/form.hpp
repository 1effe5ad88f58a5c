// Checks of one rank's schedule alone; the checker does them first.
#pragma once

#include <span>

#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace stretto::schedule {

// The schedules agree on their collective and sizes, and every step is well formed: known kinds, legal peers, blocks inside the vector, in
// not written, out touched only where a result is expected, no signals among data.
Status check_form(std::span<const Schedule> all);

// Sends and receives of a level of a rank never conflict: none writes a block that another one has in flight.
Status check_levels(std::span<const Schedule> all);

// in and out may be one memory: no block is read in `in` by anything but its copy to out while something else writes it in out.
// Alltoall and reduce_scatter are not checked: in place, their blocks do not share memory one by one.
Status check_in_place(std::span<const Schedule> all);

}  // namespace stretto::schedule
