// A library linked to an MPI and to stretto, like a Python extension, which a program loads privately.
#include "stretto/stretto_mpi.h"

// Returns 0 if the ranks' sum is right; otherwise stretto_message() has the reason.
extern "C" [[gnu::visibility("default")]] int sum_of_ranks(const char** why) {
  MPI_Init(nullptr, nullptr);
  stretto_comm comm = nullptr;
  float one = 1, all = 0;
  const bool well = stretto_comm_create(MPI_COMM_WORLD, &comm) == STRETTO_OK &&
                    stretto_allreduce(&one, &all, 1, STRETTO_F32, STRETTO_SUM, comm, nullptr) == STRETTO_OK &&
                    all == static_cast<float>(stretto_comm_size(comm));
  *why = stretto_message();
  stretto_comm_free(comm);
  MPI_Finalize();
  return well ? 0 : 1;
}
