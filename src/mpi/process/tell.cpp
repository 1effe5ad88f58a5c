#include "mpi/process/tell.hpp"

#include <mpi.h>

#include <cstdio>

#include "base/text/printable.hpp"

namespace stretto::mpi {

void tell_once(std::string_view text) noexcept {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return;
  char shown[8192];
  std::fprintf(stderr, "stretto: %.*s\n", static_cast<int>(printable(text, shown, sizeof shown)), shown);
}

}  // namespace stretto::mpi
