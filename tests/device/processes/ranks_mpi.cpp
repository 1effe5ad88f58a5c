// Sums of device memory over MPI; with an argument, faults (faults_of_ranks).
#include "ranks.hpp"
#include "stretto/stretto_cuda.h"
#include "stretto/stretto_mpi.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int wrong = stretto_cuda_available() != STRETTO_OK;
  const auto make = [&wrong] {
    stretto_comm comm = nullptr;
    wrong += stretto_comm_create(MPI_COMM_WORLD, &comm) != STRETTO_OK;
    return comm;
  };
  if (wrong == 0 && argc > 1) {
    wrong = stretto::tests::faults_of_ranks(argv[1], make);
  } else if (stretto_comm comm = wrong == 0 ? make() : nullptr) {
    wrong = stretto::tests::sums_of_ranks(comm);
    stretto_comm_free(comm);
  }
  MPI_Finalize();
  return wrong;
}
