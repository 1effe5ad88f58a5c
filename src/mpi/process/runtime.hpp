// The library's state in a process, from its first call between MPI_Init and MPI_Finalize.
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
  bool cores = false;       // every rank has communication cores
  bool any_thread = false;  // cores, and the MPI accepts calls from any thread
  bool threads = false;     // some rank has MPI_THREAD_MULTIPLE
  // settings differ between ranks: the MPI gets all calls, which are counted if a rank wants a report
  bool apart = false;
};

// Null outside of MPI_Init and MPI_Finalize, with STRETTO=0, or if there is nothing to serve or count.
Runtime* runtime() noexcept;

// True if stretto may serve calls.
inline bool serves() noexcept {
  const Runtime* r = runtime();
  return r && !r->apart;
}

// Call after MPI_Init: compares the settings of all ranks. Collective over MPI_COMM_WORLD. If MPI came up without a
// call of the library's functions, settings are assumed equal.
void open_up() noexcept;

// Prints a line on standard error, on rank 0 of the program only.
void tell_once(std::string_view text) noexcept;

// Call before MPI_Finalize: prints a requested report. Collective over MPI_COMM_WORLD.
void close_down() noexcept;

}  // namespace stretto::mpi
