#pragma once

#include <string>

#include "mpi/settings/settings.hpp"

namespace stretto::mpi {

struct UniformSettings {
  bool yes = true;
  int thread_level = 0;
  bool one_kernel = false;  // all ranks run under one, on hosts of any name,
  bool same_cores = false;  // and may use the same cores
  // If not uniform; equal on every rank:
  std::string difference;
  bool report = false;
  std::string report_file;
};

// Ranks with different settings would wait in vain. One allreduce of seven words, and more if settings differ. Equal on
// every rank; ranks without memory take part. Collective over MPI_COMM_WORLD.
UniformSettings compare(const Settings& own) noexcept;

}  // namespace stretto::mpi
