// Whether all ranks of the program were set alike. Where they were not, some would wait for messages that others never send.
#pragma once

#include <string>

#include "mpi/settings/settings.hpp"

namespace stretto::mpi {

struct UniformSettings {
  bool yes = true;
  int thread_level = 0;  // the highest that a rank has
  // Where not, the same on every rank:
  std::string difference;   // what differs, and where; empty where there was no memory to tell it
  bool report = false;      // some rank wants one
  std::string report_file;  // the lowest such rank's
};

// Collective over MPI_COMM_WORLD: one allreduce of three words, and what differs is asked for only where anything does. A rank without memory takes
// part, too.
UniformSettings compare(const Settings& own) noexcept;

}  // namespace stretto::mpi
