/* Rank 1 leaves at a given point, and the others call on: the C program of deaths_test.py. usage: deaths HOW CALLS,
 * where HOW is killed, ended, stopped, started (killed within a nonblocking call) or unfinished (nobody leaves, and
 * MPI_Finalize comes while calls are in flight), and CALLS how many allreduces all ranks make before. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { elements = 4 << 20 };
static double x[elements], y[elements];

/* Stops this process. MPICH's launcher now and then leaves a stopped rank alone when another one aborts, and waits for
 * it forever; so a child kills the rank after 30 s, far beyond the others' limit. */
static void stop(void) {
  const pid_t rank = getpid();
  if (fork() == 0) {
    for (int file = 0; file < 1024; ++file) close(file);
    sleep(30);
    if (getppid() == rank) kill(rank, SIGKILL);
    _exit(0);
  }
  kill(rank, SIGSTOP);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int calls = atoi(argv[2]);
  double given = 1, got = 0;
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < calls; ++i) MPI_Allreduce(&given, &got, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Request request;
  if (strcmp(argv[1], "started") == 0) {
    MPI_Iallreduce(x, y, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    if (rank == 1) kill(getpid(), SIGKILL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (strcmp(argv[1], "unfinished") == 0) {
    for (int i = 0; i < 3; ++i) MPI_Iallreduce(x, y, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  } else if (rank == 1) {
    if (strcmp(argv[1], "killed") == 0) kill(getpid(), SIGKILL);
    if (strcmp(argv[1], "stopped") == 0) stop();
    _exit(0);
  }
  if (strcmp(argv[1], "unfinished") != 0)
    for (int i = 0; i < 3; ++i) MPI_Allreduce(&given, &got, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d came back\n", rank);
  MPI_Finalize();
  return 0;
}
