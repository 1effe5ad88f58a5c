/* usage: early BYTES SECONDS MORE: sums of BYTES on MPI_COMM_WORLD until they have taken SECONDS on some rank; then
 * seven times as many, in which the ranks agree on it; then MORE. */
#include <mpi.h>
#include <stdlib.h>

static int sums(double* x, double* y, int n, long times, int ranks) {
  int wrong = 0;
  for (long k = 0; k < times; ++k) {
    x[0] = (double)k;
    MPI_Allreduce(x, y, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    wrong += y[0] != (double)ranks * (double)k;
  }
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int n = atoi(argv[1]) / (int)sizeof(double);
  const double seconds = atof(argv[2]);
  double *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y), most = 0, took = 0;
  int ranks = 0, wrong = 0;
  long calls = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  while (most < seconds) {
    const double begun = MPI_Wtime();
    wrong += sums(x, y, n, 10, ranks);
    took += MPI_Wtime() - begun;
    calls += 10;
    PMPI_Allreduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  wrong += sums(x, y, n, 7 * calls + atoi(argv[3]), ranks);
  free(x);
  free(y);
  MPI_Finalize();
  return wrong != 0;
}
