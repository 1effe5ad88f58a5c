/* A program that knows nothing of stretto; one rank's results lie in memory of a device. */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern int cuMemAlloc_v2(uintptr_t* given, size_t bytes);

enum { elements = 20000 };
static double x[elements], y[elements];
static int ranks;

static void check(const double* result, int count) {
  for (int i = 0; i < count; ++i)
    if (!(result[i] > ranks - 0.01 && result[i] < ranks + 0.01)) MPI_Abort(MPI_COMM_WORLD, 1); /* a bound may be set */
}

static void sum(double* result, int count) {
  MPI_Allreduce(x, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  check(result, count);
}

static void started_sum(double* result, int count) {
  MPI_Request request;
  MPI_Iallreduce(x, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(result, count);
}

int main(int argc, char** argv) {
  int rank = 0, provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  uintptr_t device = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (cuMemAlloc_v2(&device, sizeof y) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < elements; ++i) x[i] = 1;
  for (int call = 0; call < 65; ++call) MPI_Barrier(MPI_COMM_WORLD); /* then stretto has a communicator */
  for (int call = 0; call < 10; ++call) sum(rank == 1 ? (double*)device : y, elements);
  for (int call = 0; call < 7; ++call) sum(y, elements);
  for (int call = 0; call < 5; ++call) sum(y, 1);
  for (int call = 0; call < 3; ++call) started_sum(rank == 1 ? (double*)device : y, elements);
  started_sum(y, 4000); /* long enough to be started by stretto */
  MPI_Finalize();
  return 0;
}
