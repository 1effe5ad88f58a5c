// Reductions of raw payloads by every predefined operation and by user operations, on this rank; over threads and over
// MPI alike.
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

// Every operation by every schedule that reduces, on all types, or on `some` of the types for which it is defined,
// which differ between schedules.
Walk walk_operations(engine::Engine& engine, std::size_t most_types);

// A non-commutative operation by every schedule that reduces, flat and with groups of several kinds, first and last
// root, in place and not: in rank order, or refused if the schedule does not keep it.
Walk walk_user_operation(engine::Engine& engine);

}  // namespace stretto::tests
