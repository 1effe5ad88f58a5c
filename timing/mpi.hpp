// Shared by benchmarks of MPI programs: the MPI's name, and timing of collectives from the users' view.
#pragma once

#include <mpi.h>
#include <time.h>

#include <cctype>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "timing/rows.hpp"

namespace stretto::timing {

// "Open MPI", "MPICH", or the first word of the library's version string.
inline std::string mpi_flavour() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<std::size_t>(length));
  for (const char* name : {"Open MPI", "MPICH"}) {
    if (all.find(name) != std::string::npos) return name;
  }
  return all.substr(0, all.find_first_of(" \t\n"));
}

// The flavour and its version: "Open MPI 5.0.11".
inline std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<std::size_t>(length));
  const std::size_t from = all.find_first_of("0123456789");
  if (from == std::string::npos) return mpi_flavour();
  return mpi_flavour() + " " + all.substr(from, all.find_first_not_of("0123456789.", from) - from);
}

// Collective. Milliseconds of `work`, which every rank calls: the median over `repeats` of the slowest rank's time,
// after one uncounted call. `after` is called on every rank after each counted call.
template <class Work, class After>
double slowest_median_ms(MPI_Comm comm, int repeats, const Work& work, const After& after) {
  std::vector<double> samples;
  for (int k = 0; k <= repeats; ++k) {
    MPI_Barrier(comm);
    const double start = MPI_Wtime();
    work();
    double seconds = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
    if (k == 0) continue;
    samples.push_back(seconds * 1e3);
    after();
  }
  return median(std::move(samples));
}

// Seconds since the machine's start, on all its processes and network namespaces. MPI_Wtime may start anew in each
// process, as Open MPI 5's does.
inline double machine_clock() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Collective over ranks of one machine. Milliseconds from the first rank's start of `work` to the last rank's end.
template <class Work>
double span_ms(MPI_Comm comm, const Work& work) {
  MPI_Barrier(comm);
  double ends[2] = {-machine_clock(), 0};
  work();
  ends[1] = machine_clock();
  MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MAX, comm);
  return (ends[0] + ends[1]) * 1e3;
}

// Collective. The largest of all ranks' values.
inline double largest(MPI_Comm comm, double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm);
  return value;
}

}  // namespace stretto::timing
