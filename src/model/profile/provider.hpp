#pragma once

#include <cstdint>

namespace stretto::model {

// Who moves the data: a schedule of stretto, the MPI's own collective, or a collective in the shared memory of a host.
enum class Provider : std::uint8_t { schedules, mpi, node };

}  // namespace stretto::model
