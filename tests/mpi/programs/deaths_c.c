/* A rank dies, through the C interface: usage deaths_c HOW CALLS. With no calls, rank 1 leaves before it makes its
 * communicator. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stretto/stretto_mpi.h"

static void leave(const char* how) {
  if (strcmp(how, "killed") == 0) kill(getpid(), SIGKILL);
  _exit(0);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int calls = atoi(argv[2]);
  double given = 1, got = 0;
  int rank = 0;
  stretto_comm comm = NULL;
  stretto_options options = STRETTO_OPTIONS_INIT;
  options.timeout = 1;
  options.check = 0;
  options.schedule = "native";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1 && calls == 0) leave(argv[1]);
  if (stretto_comm_create(MPI_COMM_WORLD, &comm) != STRETTO_OK) return 3;
  for (int i = 0; i < calls; ++i) stretto_allreduce(&given, &got, 1, STRETTO_F64, STRETTO_SUM, comm, &options);
  if (rank == 1) leave(argv[1]);
  for (int i = 0; i < 3; ++i) stretto_allreduce(&given, &got, 1, STRETTO_F64, STRETTO_SUM, comm, &options);
  printf("rank %d came back\n", rank);
  stretto_comm_free(comm);
  MPI_Finalize();
  return 0;
}
