#pragma once

#include <mpi.h>

#include <functional>
#include <string>

#include "carrier/watchdog.hpp"

namespace stretto::modules {

using PeerDiagnosis = std::function<std::string()>;

// Prints a diagnosis and calls MPI_Abort, since a call inside the MPI cannot return. `comm` outlives the watchdog.
// `ended` may be empty.
carrier::LateHandler abort_program(MPI_Comm comm, PeerDiagnosis ended);

}  // namespace stretto::modules
