#pragma once

#include <string>

#include "mpi/calls/wrapped_call.hpp"
#include "stretto/stretto.h"

namespace stretto::mpi {

// The communicator's name, or its maker and its ranks in MPI_COMM_WORLD (the first, if many).
std::string described(MPI_Comm comm);

// Through the communicator's handler, which may return. Prints stretto_message() once per status, and nothing after the
// communicator's end. Returns the MPI's code.
int raise(const WrappedCall& call, stretto_status s) noexcept;

// The function met the other ranks. Arguments refused on one rank leave the others waiting for its next call.
bool took_part(int code) noexcept;

}  // namespace stretto::mpi
