// Gathers texts of all ranks of MPI_COMM_WORLD through the MPI.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace stretto::mpi {

// *all: all ranks' texts by rank, on rank 0 only. Collective. If rank 0 has no memory for them, all ranks get that
// status.
Status gather_texts(std::string_view own, std::vector<std::string>* all) noexcept;

}  // namespace stretto::mpi
