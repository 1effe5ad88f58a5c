/* A program that knows nothing of stretto and computes with others of its kind, which it spawns. `spawns connect`: they
 * then leave it, and connect to it through a port. Rank 0 prints how many ran, and how many of these with a library
 * preloaded. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { children = 2, times = 8, elements = 3000 };
static double x[elements], y[elements];

/* Collectives of all of `comm`; 0: all are right. */
static int wrong(MPI_Comm comm) {
  int rank = 0, ranks = 1, errors = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  for (int call = 0; call < times; ++call) {
    for (int i = 0; i < elements; ++i) x[i] = rank + call;
    MPI_Allreduce(x, y, elements, MPI_DOUBLE, MPI_SUM, comm);
    for (int i = 0; i < elements; ++i) errors += y[i] != ranks * (ranks - 1) / 2 + ranks * call;
    int from = rank == call % ranks ? call : -1;
    MPI_Bcast(&from, 1, MPI_INT, call % ranks, comm);
    errors += from != call;
    MPI_Barrier(comm);
  }
  return errors;
}

/* The two sides as one communicator, and a duplicate of it. */
static int wrong_together(MPI_Comm others, int child, int* preloaded) {
  MPI_Comm all = MPI_COMM_NULL, copy = MPI_COMM_NULL;
  MPI_Intercomm_merge(others, child, &all);
  MPI_Comm_dup(all, &copy);
  int errors[] = {wrong(all) + wrong(copy), getenv("LD_PRELOAD") != NULL}, total[2];
  MPI_Allreduce(errors, total, 2, MPI_INT, MPI_SUM, all);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&all);
  *preloaded = total[1];
  return total[0];
}

/* On rank 0; elsewhere, and where the MPI has none to give, it stays empty. */
static void open_port(char* port, int rank) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (rank == 0 && MPI_Open_port(MPI_INFO_NULL, port) != MPI_SUCCESS) *port = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int child = argc > 1 && strcmp(argv[1], "child") == 0;
  const int connects = argc > 2 || (argc > 1 && !child);
  MPI_Comm others = MPI_COMM_NULL;
  char port[MPI_MAX_PORT_NAME] = "";
  int rank = 0, preloaded = 0, errors = wrong(MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (child) {
    MPI_Comm_get_parent(&others);
  } else {
    if (connects) open_port(port, rank);
    int open = *port != 0;
    MPI_Bcast(&open, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (connects && !open) {
      if (rank == 0) printf("no ports\n");
      MPI_Finalize();
      return 0;
    }
    char* arguments[] = {"child", connects ? port : NULL, NULL};
    MPI_Comm_spawn(argv[0], arguments, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
  }
  errors += wrong_together(others, child, &preloaded);
  MPI_Comm_disconnect(&others);
  if (connects) {
    if (child)
      MPI_Comm_connect(argv[2], MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others);
    else
      MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others);
    errors += wrong_together(others, child, &preloaded);
    MPI_Comm_disconnect(&others);
  }
  errors += wrong(MPI_COMM_WORLD);
  if (rank == 0 && !child) printf("%d of 4 with a library preloaded, %d errors\n", preloaded, errors);
  MPI_Finalize();
  return errors != 0;
}
