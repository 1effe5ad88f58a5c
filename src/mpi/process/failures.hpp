// Calls that fail, in stretto or in the MPI.
#pragma once

#include <string>

#include "mpi/calls/wrapped_call.hpp"
#include "stretto/stretto.h"

namespace stretto::mpi {

// The communicator's name. Without a name: the function that made it, and its ranks in MPI_COMM_WORLD (the first, if
// many).
std::string described(MPI_Comm comm);

// Raises an error through the communicator's handler, which may return. Prints stretto_message() once per status, and
// not after the message that the communicator cannot be used any more. Returns the MPI's code.
int raise(const WrappedCall& call, stretto_status s) noexcept;

// True if an MPI function with this result met the other ranks. If the MPI refused the arguments of one rank, the
// others wait for that rank's next call.
bool took_part(int code) noexcept;

}  // namespace stretto::mpi
