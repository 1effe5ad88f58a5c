// What the environment tells a process of its job, where it meets the others in a store (include/stretto/stretto_store.h).
#pragma once

#include <memory>

#include "base/status.hpp"
#include "carrier/store.hpp"

namespace stretto::api {

// This rank's number, and of how many: as STRETTO_RANK and STRETTO_SIZE, torchrun, an MPI's launcher, PMI or Slurm say.
// invalid_argument names what is missing or is no number.
Status read_rank(int* rank, int* ranks) noexcept;

// The store of STRETTO_STORE. invalid_argument: it names none, or one that cannot be used.
Status open_job_store(std::unique_ptr<carrier::Store>* store) noexcept;

}  // namespace stretto::api
