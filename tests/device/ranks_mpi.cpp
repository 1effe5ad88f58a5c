// Sums of device memory over MPI.
#include "ranks.hpp"
#include "stretto/stretto_cuda.h"
#include "stretto/stretto_mpi.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  stretto_comm comm = nullptr;
  int wrong = stretto_cuda_available() != STRETTO_OK || stretto_comm_create(MPI_COMM_WORLD, &comm) != STRETTO_OK;
  if (comm) {
    wrong = stretto::tests::sums_of_ranks(comm);
    stretto_comm_free(comm);
  }
  MPI_Finalize();
  return wrong;
}
