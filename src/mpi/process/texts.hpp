// Texts of all ranks of MPI_COMM_WORLD, by the MPI.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace stretto::mpi {

// All ranks' texts at rank 0, by rank; nothing elsewhere. Collective. Where rank 0 has no memory for them, all ranks get that status.
Status gather_texts(std::string_view own, std::vector<std::string>* all) noexcept;

}  // namespace stretto::mpi
