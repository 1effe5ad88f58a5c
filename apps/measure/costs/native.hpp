// An MPI's own collectives.
#pragma once

#include <mpi.h>

#include <memory>

#include "costs/collectives.hpp"

namespace stretto::measure {

std::unique_ptr<Provider> make_mpi_provider(MPI_Comm comm);

}  // namespace stretto::measure
