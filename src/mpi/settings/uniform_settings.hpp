// Comparison of the settings of all ranks. With different settings, ranks would wait for messages that others never
// send.
#pragma once

#include <string>

#include "mpi/settings/settings.hpp"

namespace stretto::mpi {

struct UniformSettings {
  bool yes = true;
  int thread_level = 0;  // highest of all ranks
  // If not uniform; equal on every rank:
  std::string difference;   // description of the differences; empty without memory
  bool report = false;      // some rank wants a report
  std::string report_file;  // file of the lowest rank that wants a report
};

// Collective over MPI_COMM_WORLD: one allreduce of three words; more only if settings differ. A rank without memory
// takes part, too.
UniformSettings compare(const Settings& own) noexcept;

}  // namespace stretto::mpi
