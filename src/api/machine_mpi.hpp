// What the model is told of the machine below an MPI_Comm.
#pragma once

#include <mpi.h>

#include <memory>

#include "base/status.hpp"
#include "select/choices.hpp"

namespace stretto::api {

// Collective over `comm`, whose errors are returned: where all ranks are, and the profile that rank 0 finds, so that all ranks choose
// alike. A profile that the user named and that cannot be read fails on every rank.
Status find_machine(MPI_Comm comm, std::shared_ptr<select::SharedChooser>* chooser) noexcept;

}  // namespace stretto::api
