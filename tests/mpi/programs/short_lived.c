/* usage: short_lived COMMUNICATORS CALLS LAST: so many communicators one after the other, each for CALLS sums; then
 * LAST sums on MPI_COMM_WORLD. */
#include <mpi.h>
#include <stdlib.h>

static int sum(MPI_Comm comm, int times, int ranks) {
  int wrong = 0;
  for (int k = 0; k < times; ++k) {
    int mine = k, all = -1;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, comm);
    wrong += all != ranks * k;
  }
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  int ranks = 0, wrong = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < atoi(argv[1]); ++i) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    wrong += sum(made, atoi(argv[2]), ranks);
    MPI_Comm_free(&made);
  }
  wrong += sum(MPI_COMM_WORLD, atoi(argv[3]), ranks);
  MPI_Finalize();
  return wrong != 0;
}
