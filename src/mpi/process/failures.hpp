// Calls that fail, in stretto or in the MPI.
#pragma once

#include <string>

#include "mpi/calls/wrapped_call.hpp"
#include "stretto/stretto.h"

namespace stretto::mpi {

// The communicator's name. Without one: the function that made it, and its ranks in MPI_COMM_WORLD, of many the first.
std::string described(MPI_Comm comm);

// As MPI has its errors: by the communicator's handler, which may return. stretto_message() is printed, but once for each status, and
// no more once it said why the communicator cannot be used. Returns the MPI's code.
int raise(const WrappedCall& call, stretto_status s) noexcept;

// By what an MPI function returned: whether this rank met the others in its call. Where the MPI refused the arguments of one rank alone,
// the others wait for the next call of that rank.
bool took_part(int code) noexcept;

}  // namespace stretto::mpi
