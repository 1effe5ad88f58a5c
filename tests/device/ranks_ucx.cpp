// Sums of device memory over UCX, without an MPI.
#include <cstdio>

#include "ranks.hpp"
#include "stretto/stretto_cuda.h"
#include "stretto/stretto_store.h"

int main() {
  stretto_comm comm = nullptr;
  if (stretto_cuda_available() != STRETTO_OK || stretto_comm_create_environment(nullptr, &comm) != STRETTO_OK) {
    std::fprintf(stderr, "%s\n", stretto_message());
    return 1;
  }
  const int wrong = stretto::tests::sums_of_ranks(comm);
  stretto_comm_free(comm);
  return wrong;
}
