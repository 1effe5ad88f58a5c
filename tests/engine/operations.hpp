// Reductions of raw payloads by every predefined operation and by user operations, on this rank; the same over threads and over MPI.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "schedule/registry.hpp"

namespace stretto::tests {

// How many ran, and what went wrong in the first few that failed.
struct Walk {
  int done = 0;
  int refused = 0;  // as they must be: undefined on the type, or by a schedule that does not keep order
  int grouped = 0;  // of those done, by schedules of groups
  std::vector<std::string> failures;
};

// Every operation by every schedule that reduces, on all types, or on so many of those that it is defined on, which differ between schedules.
Walk walk_operations(engine::Engine& engine, std::size_t most_types);

// An operation that does not commute by every schedule that reduces, flat and with groups of several kinds, first and last root, in place and not:
// in rank order, or refused where that is not kept.
Walk walk_user_operation(engine::Engine& engine);

}  // namespace stretto::tests
