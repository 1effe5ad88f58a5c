// Ranks that wait for each other on two communicators, without communication cores: a wait on one communicator advances
// collectives started on the other. A fault ends at the timeout. `progress_mpi_test multiple`: with
// MPI_THREAD_MULTIPLE.
#include <cstring>

#include "../../launched.hpp"
#include "../ranks.hpp"
#include "stretto/stretto_mpi.h"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

// Two communicators over all ranks, and a vector for each.
class Progress : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    for (Side* s : {&x, &y}) {
      ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &s->comm));
      s->in.assign(kN, stretto_comm_rank(s->comm) + 1);
      s->out.resize(kN);
      s->options.timeout = 20;
    }
    x.options.schedule = GetParam();
    y.options.schedule = "ring";
    rank = stretto_comm_rank(x.comm);
    ranks = stretto_comm_size(x.comm);
  }
  void TearDown() override {
    for (Side* s : {&x, &y}) EXPECT_EQ(stretto_comm_free(s->comm), STRETTO_OK) << stretto_message();
  }

  struct Side {
    void start() {
      ASSERT_STRETTO_OK(
          stretto_iallreduce(in.data(), out.data(), kN, STRETTO_F64, STRETTO_SUM, comm, &options, &request));
    }
    void block() {
      ASSERT_STRETTO_OK(stretto_allreduce(in.data(), out.data(), kN, STRETTO_F64, STRETTO_SUM, comm, &options));
    }
    void wait() { ASSERT_STRETTO_OK(stretto_wait(request)); }
    void free() { ASSERT_STRETTO_OK(stretto_request_free(&request)); }
    stretto_comm comm = nullptr;
    stretto_request request = nullptr;
    stretto_options options = defaults();
    std::vector<double> in, out;
  };

  void expect_sums() const {
    const double sum = ranks * (ranks + 1) / 2;
    for (const Side* s : {&x, &y}) EXPECT_EQ(s->out, std::vector<double>(kN, sum));
  }

  static constexpr std::size_t kN = 100'000;
  Side x, y;
  int rank = 0, ranks = 1;
};

}  // namespace

TEST_P(Progress, ABlockingCallAdvancesAnotherCommunicatorsRequest) {
  for (int round = 0; round < 10; ++round) {
    y.start();
    if (rank != round % ranks) y.wait();
    x.block();
    y.wait();
    y.free();
    expect_sums();
  }
}

TEST_P(Progress, RequestsOfTwoCommunicatorsAreWaitedForInAnyOrder) {
  for (int round = 0; round < 10; ++round) {
    x.start();
    y.start();
    const bool turned = (rank + round) % 2 != 0;
    (turned ? y : x).wait();
    (turned ? x : y).wait();
    x.free();
    y.free();
    expect_sums();
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, Progress, testing::Values("ring", "recursive_doubling", "node"));

int main(int argc, char** argv) {
  const bool multiple = argc > 1 && std::strcmp(argv[1], "multiple") == 0;
  return run_on_launched_ranks(argc, argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED);
}
