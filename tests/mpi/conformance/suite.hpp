// The communicators that the conformance tests run on, and values that every order of summation adds exactly.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace mpi_test {

struct Comm {
  std::string name;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 1;
};

// Made once, in the same order on all ranks: the world, a duplicate, the ranks backwards, halves, each rank alone.
inline const std::vector<Comm>& communicators() {
  static const std::vector<Comm> all = [] {
    std::vector<Comm> made(5);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    made[0] = {"world", MPI_COMM_WORLD};
    made[1] = {"dup"};
    MPI_Comm_dup(MPI_COMM_WORLD, &made[1].comm);
    made[2] = {"backwards"};
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &made[2].comm);
    made[3] = {"halves"};
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &made[3].comm);
    made[4] = {"self", MPI_COMM_SELF};
    for (Comm& c : made) {
      MPI_Comm_rank(c.comm, &c.rank);
      MPI_Comm_size(c.comm, &c.size);
    }
    return made;
  }();
  return all;
}

// Small integers, so that sums and products are exact in every type.
template <class T>
T value(int rank, std::size_t i) {
  return static_cast<T>((static_cast<std::size_t>(rank) * 7 + i * 3) % 5 + (i % 11 == 0 ? 0 : 1));
}

template <class T>
std::vector<T> values(int rank, std::size_t n) {
  std::vector<T> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = value<T>(rank, i);
  return all;
}

inline std::size_t size(int n) { return static_cast<std::size_t>(n); }

// Values that a bound makes short, and that no grid holds.
template <class T>
std::vector<T> rough(int rank, int count = 20'000) {
  std::vector<T> all(size(count));
  for (int i = 0; i < count; ++i) all[size(i)] = static_cast<T>(std::sin(0.37 * i + rank) + 0.01 * (i % 7));
  return all;
}

// The greatest.
template <class T>
double difference(const std::vector<T>& a, const std::vector<T>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(double(a[i]) - double(b[i])));
  return most;
}

// Every root of up to five ranks; of more the first two, the middle and the last.
inline std::vector<int> roots(int ranks) {
  if (ranks > 5) return {0, 1, ranks / 2, ranks - 1};
  std::vector<int> all(size(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace mpi_test
