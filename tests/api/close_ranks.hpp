// What the tests of a host's shared memory share: a communicator of all launched ranks, which are on this host, and options that ask for it.
#pragma once

#include <string>
#include <vector>

#include "ranks.hpp"
#include "stretto/stretto_mpi.h"

namespace api_test {

class Close : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &comm));
    rank = stretto_comm_rank(comm);
    ranks = stretto_comm_size(comm);
    node.schedule = "node";
    node.report = &report;
  }
  void TearDown() override { ASSERT_STRETTO_OK(stretto_comm_free(comm)); }

  template <class T>
  std::vector<T> sums(std::size_t n) const {
    std::vector<T> all(n);
    for (std::size_t i = 0; i < n; ++i)
      for (int r = 0; r < ranks; ++r) all[i] += static_cast<T>(sample(r, i));
    return all;
  }

  stretto_comm comm = nullptr;
  stretto_report report = STRETTO_REPORT_INIT;
  stretto_options node = STRETTO_OPTIONS_INIT;
  int rank = 0, ranks = 1;
};

// A communicator for which no profile but the built-in one was measured.
inline void create_unmeasured(stretto_comm* comm) {
  setenv("STRETTO_PROFILE", "built-in", 1);
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, comm));
  unsetenv("STRETTO_PROFILE");
}

}  // namespace api_test
