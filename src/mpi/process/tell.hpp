#pragma once

#include <string_view>

namespace stretto::mpi {

// Rank 0 of MPI_COMM_WORLD prints. After MPI_Init.
void tell_once(std::string_view text) noexcept;

}  // namespace stretto::mpi
