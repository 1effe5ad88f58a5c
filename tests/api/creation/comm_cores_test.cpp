// Communication cores with ranks as threads: started collectives progress without their caller, whatever else the ranks
// do.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <random>

#include "../ranks.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

class CommCores : public testing::Test {
 protected:
  void SetUp() override {
    const int core = sched_getcpu();
    ASSERT_STRETTO_OK(stretto_comm_cores(&core, 1));
  }
  void TearDown() override { EXPECT_EQ(stretto_comm_cores(nullptr, 0), STRETTO_OK); }
};

// Reads memory that another thread may be writing, as the program below does not.
__attribute__((no_sanitize("thread"))) double peek(const volatile double* at) { return *at; }

void end(stretto_request* r) {
  ASSERT_STRETTO_OK(stretto_wait(*r));
  ASSERT_STRETTO_OK(stretto_request_free(r));
}

}  // namespace

TEST_F(CommCores, MoveWhatWasStartedWithoutTheCaller) {
  on_ranks(3, [](stretto_comm comm, int, int ranks) {
    for (const double bound : {0.0, 1e-3}) {
      std::vector<double> x(100000, 1), y(100000, 0);
      stretto_options o = STRETTO_OPTIONS_INIT;
      o.bound_kind = bound > 0 ? STRETTO_BOUND_ABSOLUTE : STRETTO_BOUND_NONE;
      o.scope = STRETTO_SCOPE_CONTRIBUTION;
      o.bound = bound;
      stretto_request r = nullptr;
      ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), x.size(), STRETTO_F64, STRETTO_SUM, comm, &o, &r));
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (peek(&y.back()) < ranks - 0.1 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
      EXPECT_NEAR(peek(&y.back()), ranks, ranks * bound);
      end(&r);
    }
  });
}

TEST_F(CommCores, SwitchedOffAndOnMeanwhileLoseNothing) {
  std::atomic<bool> over{false};
  std::thread switches([&] {
    const int core = sched_getcpu();
    for (int n = 0; !over; n ^= 1) EXPECT_EQ(stretto_comm_cores(&core, n), STRETTO_OK);
  });
  on_ranks(3, [](stretto_comm comm, int rank, int ranks) {
    std::mt19937 own(static_cast<unsigned>(rank));
    for (int step = 0; step < 200; ++step) {
      std::vector<std::vector<float>> x, y;
      std::vector<stretto_request> r(4, nullptr);
      for (std::size_t k = 0; k < r.size(); ++k) {
        x.emplace_back(std::size_t{1} << (3 * k), float(rank + 1));
        y.emplace_back(x[k].size());
        ASSERT_STRETTO_OK(
            stretto_iallreduce(x[k].data(), y[k].data(), x[k].size(), STRETTO_F32, STRETTO_SUM, comm, nullptr, &r[k]));
      }
      float one = 1, all = 0;
      if (step % 3 == 0) {
        ASSERT_STRETTO_OK(stretto_allreduce(&one, &all, 1, STRETTO_F32, STRETTO_SUM, comm, nullptr));
        ASSERT_EQ(all, float(ranks));
      }
      const std::size_t first = own() % r.size();
      for (std::size_t k = 0; k < r.size(); ++k) end(&r[(first + k) % r.size()]);
      for (const auto& v : y) ASSERT_EQ(v.back(), float(ranks * (ranks + 1) / 2));
    }
  });
  over = true;
  switches.join();
}

TEST_F(CommCores, AreNotAskedOfTheEnvironmentWhereTheProgramSays) {
  ASSERT_EQ(setenv("STRETTO_COMM_CORES", "nonsense", 1), 0);
  on_ranks(2, [](stretto_comm comm, int, int) { EXPECT_EQ(stretto_barrier(comm, nullptr), STRETTO_OK); });
  unsetenv("STRETTO_COMM_CORES");
}
