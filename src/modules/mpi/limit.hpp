#pragma once

#include <mpi.h>

#include <functional>
#include <string>

#include "carrier/watchdog.hpp"

namespace stretto::modules {

// Describes ended peers, if any.
using Ended = std::function<std::string()>;

// Prints a diagnosis on standard error and calls MPI_Abort, since a call inside the MPI cannot return. `comm` outlives
// the watchdog. `ended` may be empty.
carrier::Late abort_program(MPI_Comm comm, Ended ended);

}  // namespace stretto::modules
