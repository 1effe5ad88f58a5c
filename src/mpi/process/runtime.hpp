#pragma once

#include <mpi.h>

#include "mpi/report/statistics.hpp"
#include "mpi/settings/settings.hpp"

namespace stretto::mpi {

inline constexpr const char* kApartReason = "ranks that are set differently";

struct Runtime {
  Settings settings;
  Statistics statistics;
  bool cores = false;
  bool any_thread = false;  // cores, and the MPI accepts calls from any thread
  bool threads = false;     // some rank has MPI_THREAD_MULTIPLE
  // settings differ between ranks: the MPI gets all calls
  bool apart = false;
};

// Null outside of MPI_Init and MPI_Finalize, with STRETTO=0, or without work.
Runtime* runtime() noexcept;

inline bool serves() noexcept {
  const Runtime* r = runtime();
  return r && !r->apart;
}

// After MPI_Init: compares settings. Collective over MPI_COMM_WORLD. Equal if the library did not see MPI_Init.
void open_up() noexcept;

// Before MPI_Finalize: prints a requested report. Collective over MPI_COMM_WORLD.
void close_down() noexcept;

}  // namespace stretto::mpi
