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

// Ranks with different settings would wait in vain. One allreduce of three words, and more if settings differ. Equal on
// every rank; ranks without memory take part. Collective over MPI_COMM_WORLD.
UniformSettings compare(const Settings& own) noexcept;

}  // namespace stretto::mpi
