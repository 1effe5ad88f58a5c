#pragma once

#include <span>

#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace stretto::schedule {

// Schedules agree on collective and sizes. Steps have a known kind, a legal peer and blocks inside the vector, do not
// write `in`, touch out only where a result is expected, and have no signals among data.
Status check_form(std::span<const Schedule> all);

// No send or receive writes a block that another of the same rank and level uses.
Status check_levels(std::span<const Schedule> all);

// in and out may be one memory: only a block's copy to out reads it in `in` while another step writes it in out. Not
// for alltoall and reduce_scatter, whose blocks change places.
Status check_in_place(std::span<const Schedule> all);

}  // namespace stretto::schedule
