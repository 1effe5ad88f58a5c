// What the library keeps for the process, from the first call that it sees between MPI_Init and MPI_Finalize.
#pragma once

#include <mpi.h>

#include <string_view>

#include "mpi/process/statistics.hpp"
#include "mpi/settings/settings.hpp"

namespace stretto::mpi {

inline constexpr const char* apart_reason = "ranks that are set differently";

struct Runtime {
  Settings settings;
  Statistics statistics;
  bool cores = false;       // every rank has communication cores,
  bool any_thread = false;  // and an MPI that takes calls from any thread
  bool threads = false;     // a rank has MPI_THREAD_MULTIPLE
  bool apart = false;  // ranks are set differently: all is left to the MPI, and counted where a rank wants a report
};

// Null while MPI is not up, and always where STRETTO=0 or there is neither anything to serve nor to count.
Runtime* runtime() noexcept;

// Whether anything is left to stretto.
inline bool serves() noexcept {
  const Runtime* r = runtime();
  return r && !r->apart;
}

// After MPI_Init: whether all ranks are set alike. Collective over MPI_COMM_WORLD. Where MPI came up by a way past the library's functions,
// they are taken to be.
void open_up() noexcept;

// A line on standard error, by rank 0 of the program alone.
void tell_once(std::string_view text) noexcept;

// Before MPI_Finalize: the report, if one is wanted. Collective over MPI_COMM_WORLD.
void close_down() noexcept;

}  // namespace stretto::mpi
