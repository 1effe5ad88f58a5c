#pragma once

#include <string>

#include "mpi/settings/settings.hpp"

namespace stretto::mpi {

struct UniformSettings {
  bool yes = true;
  int thread_level = 0;
  // If not uniform; equal on every rank:
  std::string difference;
  bool report = false;
  std::string report_file;
};

// Ranks with different settings would wait for messages that others never send. Collective over MPI_COMM_WORLD, and
// equal on every rank: one allreduce of three words, and more if settings differ. Ranks without memory take part.
UniformSettings compare(const Settings& own) noexcept;

}  // namespace stretto::mpi
