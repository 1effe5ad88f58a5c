// Distinct communicators over MPI, each used by a thread of its own at the same time: every form on each gives what it gives alone. Skipped
// (status 77) where the MPI does not let several threads call it.
#include <mpi.h>

#include <cstdio>
#include <thread>

#include "../launched.hpp"
#include "forms.hpp"
#include "ranks.hpp"
#include "stretto/stretto_mpi.h"

using namespace api_test;

namespace {

constexpr int skipped = 77;

TEST(Threads, UseDistinctCommunicatorsAtTheSameTime) {
  stretto_comm comms[3] = {};
  for (auto& comm : comms) ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &comm));
  std::vector<std::string> wrong[std::size(comms)];
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < std::size(comms); ++k)
    threads.emplace_back([&, k] { wrong[k] = run_forms(comms[k], 20 + k); });
  for (auto& t : threads) t.join();
  for (std::size_t k = 0; k < std::size(comms); ++k) {
    for (const auto& w : wrong[k]) ADD_FAILURE() << "thread " << k << ": " << w;
    EXPECT_EQ(stretto_comm_free(comms[k]), STRETTO_OK) << stretto_message();
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (rank == 0) std::printf("skipped: this MPI provides no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return skipped;
  }
  testing::InitGoogleTest(&argc, argv);
  const int any = failed_anywhere(RUN_ALL_TESTS());
  MPI_Finalize();
  return any;
}
