// The end of a program whose rank waits too long inside the MPI.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>

#include "carrier/watchdog.hpp"

namespace stretto::modules {

// Which processes of peers have ended, in words; empty: none is known to.
using Ended = std::function<std::string()>;

// Prints a diagnosis on standard error and calls MPI_Abort: a call inside the MPI cannot return, and no error handler runs there.
// `comm` outlives the watchdog. `ended` may be empty.
carrier::Late abort_program(MPI_Comm comm, Ended ended);

}  // namespace stretto::modules
