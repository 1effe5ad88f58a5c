// Sums of device memory over UCX, without an MPI; with an argument, faults (faults_of_ranks).
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ranks.hpp"
#include "stretto/stretto_cuda.h"
#include "stretto/stretto_store.h"

namespace {

stretto_comm make() {
  static int made = 0;
  const std::string name = "ranks-" + std::to_string(made++);
  stretto_store_options o = STRETTO_STORE_OPTIONS_INIT;
  o.name = name.c_str();
  stretto_comm comm = nullptr;
  if (stretto_cuda_available() == STRETTO_OK && stretto_comm_create_environment(&o, &comm) == STRETTO_OK) return comm;
  std::fprintf(stderr, "%s\n", stretto_message());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return stretto::tests::faults_of_ranks(argv[1], make);
  stretto_comm comm = make();
  const int wrong = stretto::tests::sums_of_ranks(comm);
  stretto_comm_free(comm);
  return wrong;
}
