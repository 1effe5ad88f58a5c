#pragma once

#include <memory>

#include "base/status.hpp"
#include "carrier/store.hpp"

namespace stretto::api {

// From STRETTO_RANK and STRETTO_SIZE, torchrun, an MPI's launcher, PMI or Slurm. invalid_argument names a variable that
// is missing or no number.
Status read_rank(int* rank, int* ranks) noexcept;

// invalid_argument: STRETTO_STORE is not set, or unusable.
Status open_job_store(std::unique_ptr<carrier::Store>* store) noexcept;

}  // namespace stretto::api
