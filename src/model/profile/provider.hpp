#pragma once

#include <cstdint>

namespace stretto::model {

// A schedule of stretto, the MPI's own collective, or a collective in a host's shared memory.
enum class Provider : std::uint8_t { schedules, mpi, node };

}  // namespace stretto::model
