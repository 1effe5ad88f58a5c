// Times from the first rank's start to the last rank's end, whatever clock the MPI gives to each process.
#include <mpi.h>

#include <cstdio>

#include "timing/mpi.hpp"

namespace {

using namespace stretto::timing;

constexpr int kRounds = 100;
int rank = 0, ranks = 1;

bool expect(bool is, const char* what) {
  if (!is) std::fprintf(stderr, "rank %d: %s\n", rank, what);
  return is;
}

// A reading travels through all ranks: each one's own is not earlier.
bool clock_never_goes_back() {
  const int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
  bool good = true;
  for (int round = 0; round < kRounds; ++round) {
    double earlier = 0, now = machine_clock();
    if (rank > 0) MPI_Recv(&earlier, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank > 0) now = machine_clock();
    MPI_Request sent = MPI_REQUEST_NULL;
    MPI_Isend(&now, 1, MPI_DOUBLE, after, 0, MPI_COMM_WORLD, &sent);
    if (rank == 0) MPI_Recv(&earlier, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    good &= expect(earlier <= machine_clock() && (rank == 0 || earlier <= now), "the clock goes back between ranks");
  }
  return good;
}

// Every rank's own time is within the span, and the span within the time around the call.
bool span_is_from_first_start_to_last_end() {
  bool good = true;
  for (int round = 0; round < kRounds; ++round) {
    double own = 0;
    const double begun = machine_clock();
    const double span = span_ms(MPI_COMM_WORLD, [&] {
      const double start = machine_clock();
      MPI_Barrier(MPI_COMM_WORLD);
      own = (machine_clock() - start) * 1e3;
    });
    const double around = (machine_clock() - begun) * 1e3;
    good &= expect(span >= largest(MPI_COMM_WORLD, own), "the span leaves out a rank");
    good &= expect(span <= around, "the span is longer than the call");
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool clock = clock_never_goes_back(), span = span_is_from_first_start_to_last_end();
  MPI_Finalize();
  return clock && span ? 0 : 1;
}
