// What the model is told of the machine below an MPI_Comm.
#pragma once

#include <mpi.h>

#include <memory>

#include "api/choice.hpp"
#include "base/status.hpp"

namespace stretto::api {

// Collective over `comm`, whose errors are returned: where all ranks are, and the profile that rank 0 finds, so that all ranks choose
// alike. A profile that the user named and that cannot be read fails on every rank.
Status find_machine(MPI_Comm comm, std::shared_ptr<SharedChooser>* chooser) noexcept;

}  // namespace stretto::api
