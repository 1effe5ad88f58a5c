// Distinct communicators over MPI, each used by its own thread at the same time: every form on each gives the same
// result as alone. Also a communication core beside a blocked caller. Skipped (status 77) unless the MPI supports
// several threads.
#include <mpi.h>
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "../../launched.hpp"
#include "../forms/forms.hpp"
#include "../ranks.hpp"
#include "stretto/stretto_mpi.h"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

constexpr int kSkipped = 77;

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

// A communication core blocks no rank: it leaves blocking steps to its caller. Ranks call it before and after they wait
// for a long collective, which must progress meanwhile.
TEST(Threads, ACommunicationCoreDoesNotBlock) {
  const int core = sched_getcpu();
  stretto_comm x = nullptr, y = nullptr;
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &x));
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &y));
  ASSERT_STRETTO_OK(stretto_comm_cores(&core, 1));
  const int rank = stretto_comm_rank(x), ranks = stretto_comm_size(x);
  stretto_options o = defaults(), messages = defaults();
  o.timeout = messages.timeout = 20;
  messages.schedule = "ring";
  const std::vector<double> in(1 << 20, rank + 1);
  std::vector<double> sum(in.size()), brief(10), now(10);
  for (int round = 0; round < 20; ++round) {
    stretto_request of_x = nullptr, of_y = nullptr;
    ASSERT_STRETTO_OK(
        stretto_iallreduce(in.data(), sum.data(), in.size(), STRETTO_F64, STRETTO_SUM, y, &messages, &of_y));
    if (rank > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that rank 0 blocks behind it
    ASSERT_STRETTO_OK(stretto_iallreduce(in.data(), brief.data(), 10, STRETTO_F64, STRETTO_SUM, x, &o, &of_x));
    if (rank > 0) {
      ASSERT_STRETTO_OK(stretto_wait(of_y));
    }
    ASSERT_STRETTO_OK(stretto_allreduce(in.data(), now.data(), 10, STRETTO_F64, STRETTO_SUM, x, &o));
    ASSERT_STRETTO_OK(stretto_wait(of_y));
    ASSERT_STRETTO_OK(stretto_wait(of_x));
    EXPECT_EQ(sum.back(), ranks * (ranks + 1) / 2);
    EXPECT_EQ(brief, now);
    ASSERT_STRETTO_OK(stretto_request_free(&of_x));
    ASSERT_STRETTO_OK(stretto_request_free(&of_y));
  }
  EXPECT_EQ(stretto_comm_cores(nullptr, 0), STRETTO_OK);
  EXPECT_EQ(stretto_comm_free(x), STRETTO_OK) << stretto_message();
  EXPECT_EQ(stretto_comm_free(y), STRETTO_OK) << stretto_message();
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (rank == 0) std::printf("skipped: this MPI provides no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return kSkipped;
  }
  testing::InitGoogleTest(&argc, argv);
  const int any = failed_anywhere(RUN_ALL_TESTS());
  MPI_Finalize();
  return any;
}
