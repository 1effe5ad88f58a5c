// Finds out what the model must know of the machine below an MPI_Comm.
#pragma once

#include <mpi.h>

#include <memory>

#include "base/status.hpp"
#include "select/choices.hpp"

namespace stretto::api {

// Collective over `comm`, whose errors are returned. Finds where all ranks are, and takes the profile that rank 0
// finds, so that all ranks choose alike. If the user named a profile that cannot be read, every rank fails.
Status find_machine(MPI_Comm comm, std::shared_ptr<select::SharedChooser>* chooser) noexcept;

}  // namespace stretto::api
