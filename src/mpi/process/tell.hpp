#pragma once

#include <string_view>

namespace stretto::mpi {

// "stretto: TEXT" on standard error, by rank 0 of MPI_COMM_WORLD alone. After MPI_Init.
void tell_once(std::string_view text) noexcept;

}  // namespace stretto::mpi
