// Shared by both soak programs: arguments, the dying rank, cycles, and rank 0's final line.
#pragma once

#include <mpi.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "usage.hpp"

namespace soak {

using Clock = std::chrono::steady_clock;

inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}
inline int ranks_in(MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  return ranks;
}

// SECONDS SEED [DIES_AFTER]: duration, random seed, and the seconds after which the last rank kills itself.
struct Arguments {
  Arguments(int argc, char** argv)
      : seconds(argc > 1 ? std::atof(argv[1]) : 1),
        seed(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1),
        dies_after(argc > 3 ? std::atof(argv[3]) : 0) {}
  double seconds;
  std::uint64_t seed;
  double dies_after;  // 0: no rank dies
};

// SplitMix64: the same draws on all ranks.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t n) {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % n;
  }

 private:
  std::uint64_t state_;
};

// In the midst of whatever this rank does then.
inline void die_after(double seconds) {
  std::thread([seconds] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    raise(SIGKILL);
  }).detach();
}

// One answer for all ranks: whether the time is over, by rank 0's clock.
inline bool over(Clock::time_point begun, double seconds) {
  int done = std::chrono::duration<double>(Clock::now() - begun).count() >= seconds ? 1 : 0;
  PMPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return done != 0;
}

// The most of all ranks.
inline long most(long mine) {
  long all = 0;
  PMPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

inline void print(const Usage& usage, long calls, long communicators) {
  const Held before = usage.before(), after = usage.after();
  const long live = most(after.live - before.live), resident = most(after.resident - before.resident);
  const long descriptors = most(after.descriptors - before.descriptors), largest = most(after.resident);
  if (rank_in(MPI_COMM_WORLD) != 0) return;
  std::printf(
      "{\"cycles\": %zu, \"calls\": %ld, \"communicators\": %ld, \"resident\": %ld, \"resident_grew\": %ld, "
      "\"live_grew\": %ld, \"descriptors_grew\": %ld}\n",
      usage.cycles(), calls, communicators, largest, resident, live, descriptors);
  std::fflush(stdout);
}

// The program. If a rank dies, doomed(draws) runs until it ends the program. Otherwise each cycle splits all ranks into
// a drawn number of parts, and wrong(comm, draws, &calls) returns a part's wrong results. Returns the exit status.
template <class Doomed, class Wrong>
int soak(const Arguments& arguments, const Doomed& doomed, const Wrong& wrong) {
  const int rank = rank_in(MPI_COMM_WORLD), ranks = ranks_in(MPI_COMM_WORLD);
  const Clock::time_point begun = Clock::now();
  Draws draws(arguments.seed);
  if (arguments.dies_after > 0) {
    if (rank == ranks - 1) die_after(arguments.dies_after);
    while (std::chrono::duration<double>(Clock::now() - begun).count() < arguments.seconds) doomed(draws);
    std::fprintf(stderr, "rank %d outlived the time\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  Usage usage;
  long calls = 0, communicators = 0, all_wrong = 0;
  while (!over(begun, arguments.seconds)) {
    const int part = rank % (1 + static_cast<int>(draws.below(static_cast<std::uint64_t>(ranks))));
    Draws own(draws.below(~0ull) + static_cast<std::uint64_t>(part));
    MPI_Comm some = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, part, rank, &some);
    all_wrong += wrong(some, own, &calls);
    ++communicators;
    MPI_Comm_free(&some);
    usage.look();
  }
  print(usage, calls, communicators);
  return most(all_wrong) > 0 ? 1 : 0;
}

}  // namespace soak
