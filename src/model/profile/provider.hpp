#pragma once

#include <cstdint>

namespace stretto::model {

// A schedule of stretto, the MPI's own collective, a collective in a host's shared memory, or NCCL's in device memory.
enum class Provider : std::uint8_t { schedules, mpi, node, device };

}  // namespace stretto::model
