/* A program that knows nothing of stretto and makes a known number of calls; rank 0 prints what came of them. */
#include <mpi.h>
#include <stdio.h>

enum { elements = 5000 };
static double x[elements], y[elements];
static int solved;

__attribute__((noipa)) void solve(MPI_Comm comm) {
  MPI_Allreduce(x, y, elements, MPI_DOUBLE, MPI_SUM, comm);
  ++solved; /* after the call, which is then made from here */
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, most = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm ocean;
  MPI_Comm_dup(MPI_COMM_WORLD, &ocean);
  MPI_Comm_set_name(ocean, "ocean");
  for (int i = 0; i < elements; ++i) x[i] = rank + i % 13;
  double sum = 0;
  for (int call = 0; call < 10; ++call) solve(MPI_COMM_WORLD);
  for (int i = 0; i < elements; ++i) sum += y[i];
  for (int call = 0; call < 7; ++call) solve(ocean);
  for (int call = 0; call < 5; ++call) MPI_Allreduce(&rank, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  const char many = argc > 1 ? argv[1][0] : 0; /* b: barriers, s: sums of a value */
  for (int call = 0; many == 'b' && call < 100; ++call) MPI_Barrier(MPI_COMM_WORLD);
  for (int call = 0; many == 's' && call < 100; ++call) MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Scan(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 0) printf("%d ranks, sum %.17g\n", most + 1, sum);
  MPI_Comm_free(&ocean);
  MPI_Finalize();
  return 0;
}
