#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace stretto::mpi {

// *all on rank 0, by rank. Collective over MPI_COMM_WORLD. If rank 0 has no memory, all ranks get that status.
Status gather_texts(std::string_view own, std::vector<std::string>* all) noexcept;

}  // namespace stretto::mpi
