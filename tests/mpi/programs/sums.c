/* Sums of the MPI's own, which a profiling library may serve, and of stretto's module for that MPI. */
#include <stdio.h>
#include <stdlib.h>
#include <stretto/stretto_mpi.h>
#include <string.h>

enum { COUNT = 100000 };

int main(int argc, char** argv) {
  float* mine = malloc(COUNT * sizeof *mine);
  float* sum = malloc(COUNT * sizeof *sum);
  float* ours = malloc(COUNT * sizeof *ours);
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  stretto_comm comm = NULL;
  int rank, ranks, length, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Get_library_version(version, &length);
  for (int i = 0; i < COUNT; ++i) mine[i] = (float)(rank + i % 1000);
  for (int i = 0; i < 5; ++i) MPI_Allreduce(mine, sum, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (stretto_comm_create(MPI_COMM_WORLD, &comm) != STRETTO_OK ||
      stretto_allreduce(mine, ours, COUNT, STRETTO_F32, STRETTO_SUM, comm, NULL) != STRETTO_OK) {
    fprintf(stderr, "rank %d: %s\n", rank, stretto_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int i = 0; i < COUNT; ++i) {
    const float wanted = (float)(ranks * (i % 1000) + ranks * (ranks - 1) / 2);
    wrong += sum[i] != wanted || ours[i] != wanted;
  }
  if (rank == 0) printf("%d ranks of %.*s\n", ranks, (int)strcspn(version, ",\n"), version);
  if (wrong != 0) fprintf(stderr, "rank %d: %d sums are wrong\n", rank, wrong);
  stretto_comm_free(comm);
  MPI_Finalize();
  return wrong != 0;
}
