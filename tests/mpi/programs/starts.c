/* A program that knows nothing of stretto and starts persistent collectives, beside persistent messages whose requests
 * may have had the same handles before. Its exit status is 77 where the MPI has no persistent collectives. */
#include <mpi.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
enum { elements = 1000 };
static double x[elements], y[elements];

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < elements; ++i) x[i] = 1;
  MPI_Request both[2];
  MPI_Allreduce_init(x, y, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
  for (int call = 0; call < 5; ++call) {
    MPI_Start(&both[0]);
    MPI_Wait(&both[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < elements; ++i)
      if (y[i] != ranks) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int call = 0; call < 3; ++call) {
    MPI_Startall(2, both);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);
  int mine = rank, theirs = -1;
  MPI_Send_init(&mine, 1, MPI_INT, (rank + 1) % ranks, 7, MPI_COMM_WORLD, &both[0]);
  MPI_Recv_init(&theirs, 1, MPI_INT, (rank + ranks - 1) % ranks, 7, MPI_COMM_WORLD, &both[1]);
  MPI_Startall(2, both);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);
  MPI_Finalize();
  return 0;
}
#else
int main(void) { return 77; }
#endif
