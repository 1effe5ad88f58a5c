// Shared by tests over an MPI: a communicator of all launched ranks.
#pragma once

#include <cstdlib>
#include <vector>

#include "../ranks.hpp"
#include "stretto/stretto_mpi.h"

namespace api_test {

class LaunchedRanks : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &comm));
    rank = stretto_comm_rank(comm);
    ranks = stretto_comm_size(comm);
  }
  void TearDown() override { ASSERT_STRETTO_OK(stretto_comm_free(comm)); }

  template <class T>
  T sum_at(std::size_t i) const {
    T s = 0;
    for (int r = 0; r < ranks; ++r) s += static_cast<T>(sample(r, i));
    return s;
  }

  template <class T>
  std::vector<T> sums(std::size_t n) const {
    std::vector<T> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = sum_at<T>(i);
    return all;
  }

  stretto_options by(const char* schedule) {
    stretto_options o = STRETTO_OPTIONS_INIT;
    o.schedule = schedule;
    o.report = &report;
    return o;
  }

  stretto_comm comm = nullptr;
  stretto_report report = STRETTO_REPORT_INIT;
  int rank = 0, ranks = 1;
};

// A communicator for which no profile but the built-in one was measured.
inline void create_unmeasured(stretto_comm* comm) {
  setenv("STRETTO_PROFILE", "built-in", 1);
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, comm));
  unsetenv("STRETTO_PROFILE");
}

}  // namespace api_test
