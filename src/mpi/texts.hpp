// Texts of all ranks of MPI_COMM_WORLD, by the MPI.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"

namespace stretto::mpi {

// All ranks' texts at rank 0, by rank; nothing elsewhere. Collective.
Status gather_texts(const std::string& own, std::vector<std::string>* all);

// Rank 0's text on all ranks. Collective.
Status spread_text(std::string* text);

}  // namespace stretto::mpi
