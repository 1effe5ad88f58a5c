#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace stretto::mpi {

// *all on rank 0, by rank. Collective over MPI_COMM_WORLD. All ranks get the status if rank 0 has no memory.
Status gather_texts(std::string_view own, std::vector<std::string>* all) noexcept;

}  // namespace stretto::mpi
