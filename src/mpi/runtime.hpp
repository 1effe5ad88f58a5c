// What the library keeps for the process, from the first call that it sees between MPI_Init and MPI_Finalize.
#pragma once

#include <mpi.h>

#include <string_view>

#include "mpi/settings.hpp"
#include "mpi/statistics.hpp"

namespace stretto::mpi {

struct Runtime {
  Settings settings;
  Statistics statistics;
};

// Null while MPI is not up, and always where STRETTO=0.
Runtime* runtime() noexcept;

// A line on standard error, by rank 0 of the program alone.
void tell_once(std::string_view text) noexcept;

// Before MPI_Finalize: the report, if one is wanted. Collective over MPI_COMM_WORLD.
void close_down() noexcept;

}  // namespace stretto::mpi
