/* Ring and recursive doubling as a standalone MPI program for the simulated time of SimGrid's SMPI. Another simulator's
 * times of the messages themselves check the model's predictions from a walk over schedules.
 *
 *   collectives ping BYTES...                    half a round trip between ranks 0 and 1, for each length
 *   collectives ring|doubling BYTES RATIO C D F  an allreduce of BYTES on every rank; messages are BYTES / RATIO long;
 *                                                C, D, F: seconds per byte to compress, decompress and combine
 *                                                (fused; or raw with RATIO 1, and C and D 0)
 *
 * Rank 0 prints "NAME BYTES SECONDS" by the simulated clock. Times do not depend on contents, so all ranks share one
 * buffer. Recursive doubling needs a power of two of ranks. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The platform's hosts compute at this rate, so that flops are seconds. */
#define FLOPS 1e9

static void spend(double seconds) {
  if (seconds > 0) smpi_execute_flops(seconds * FLOPS);
}

/* The slowest rank's time since `begun`. */
static double slowest(double begun) {
  double mine = MPI_Wtime() - begun, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static void exchange(char* data, double bytes, int to, int from) {
  const int n = (int)(bytes + 0.5);
  MPI_Sendrecv(data, n, MPI_BYTE, to, 0, data, n, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ping(char* data, int rank, int bytes) {
  enum { rounds = 4 };
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  for (int i = 0; i < rounds && rank < 2; ++i) {
    if (rank == 0) MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 0) printf("ping %d %.9g\n", bytes, (MPI_Wtime() - begun) / (2 * rounds));
}

struct Costs {
  double ratio, compress, decompress, combine;
};

static void ring(char* data, int rank, int p, double bytes, struct Costs c) {
  const double block = bytes / p;
  const int next = (rank + 1) % p, previous = (rank + p - 1) % p;
  spend(block * c.compress);
  for (int s = 1; s < p; ++s) {
    exchange(data, block / c.ratio, next, previous);
    spend(block * c.combine);
  }
  for (int s = 1; s < p; ++s) exchange(data, block / c.ratio, next, previous);
  spend(bytes * c.decompress);
}

static void doubling(char* data, int rank, int p, double bytes, struct Costs c) {
  spend(bytes * c.compress);
  for (int d = 1; d < p; d *= 2) {
    exchange(data, bytes / c.ratio, rank ^ d, rank ^ d);
    spend(bytes * c.combine);
  }
  spend(bytes * c.decompress);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, p = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  int wrong = argc < 3;
  if (!wrong && !strcmp(argv[1], "ping")) {
    int most = 1;
    for (int i = 2; i < argc; ++i) most = atoi(argv[i]) > most ? atoi(argv[i]) : most;
    char* data = SMPI_SHARED_MALLOC((size_t)most);
    for (int i = 2; i < argc; ++i) ping(data, rank, atoi(argv[i]));
    SMPI_SHARED_FREE(data);
  } else if (!wrong && argc == 7 && (!strcmp(argv[1], "ring") || !strcmp(argv[1], "doubling"))) {
    const double bytes = atof(argv[2]);
    const struct Costs costs = {atof(argv[3]), atof(argv[4]), atof(argv[5]), atof(argv[6])};
    char* data = SMPI_SHARED_MALLOC((size_t)bytes + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    (argv[1][0] == 'r' ? ring : doubling)(data, rank, p, bytes, costs);
    const double seconds = slowest(begun);
    if (rank == 0) printf("%s %s %.9g\n", argv[1], argv[2], seconds);
    SMPI_SHARED_FREE(data);
  } else {
    wrong = 1;
  }
  if (wrong && rank == 0) fprintf(stderr, "usage: collectives ping BYTES... | ring|doubling BYTES RATIO C D F\n");
  MPI_Finalize();
  return wrong ? 2 : 0;
}
