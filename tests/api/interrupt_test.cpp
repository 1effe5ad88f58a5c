// Waits that the caller ends: on the rank that asks, and on those that wait for it.
#include <atomic>
#include <string>

#include "ranks.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

int says_yes(void*) { return 1; }

int count_question(void* context) {
  ++*static_cast<std::atomic<int>*>(context);
  return 0;
}

}  // namespace

TEST(Interrupt, EndsAWaitForARankThatDoesNotCome) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    if (rank == 1) return;
    ASSERT_STRETTO_OK(stretto_interrupt_by(rank == 0 ? &says_yes : nullptr, nullptr));
    double x = 1, y = 0;
    EXPECT_EQ(stretto_allreduce(&x, &y, 1, STRETTO_F64, STRETTO_SUM, comm, nullptr), STRETTO_TIMEOUT);
    EXPECT_NE(std::string(stretto_message()).find("interrupted in "), std::string::npos) << stretto_message();
  });
}

TEST(Interrupt, EndsTheWaitForARequest) {
  on_ranks(2, [](stretto_comm comm, int rank, int) {
    if (rank == 1) return;
    ASSERT_STRETTO_OK(stretto_interrupt_by(&says_yes, nullptr));
    double x = 1, y = 0;
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(&x, &y, 1, STRETTO_F64, STRETTO_SUM, comm, nullptr, &r));
    EXPECT_EQ(stretto_wait(r), STRETTO_TIMEOUT);
    EXPECT_NE(std::string(stretto_message()).find("interrupted in "), std::string::npos) << stretto_message();
    ASSERT_STRETTO_OK(stretto_request_free(&r));
  });
}

TEST(Interrupt, AnAnswerOfZeroLetsTheWaitGoOn) {
  std::atomic<int> asked = 0;
  on_ranks(2, [&](stretto_comm comm, int rank, int) {
    double x = 1, y = 0;
    if (rank == 0) {
      ASSERT_STRETTO_OK(stretto_interrupt_by(&count_question, &asked));
    } else {
      while (asked < 2) std::this_thread::yield();  // it waits meanwhile
    }
    ASSERT_STRETTO_OK(stretto_allreduce(&x, &y, 1, STRETTO_F64, STRETTO_SUM, comm, nullptr));
    EXPECT_EQ(y, 2);
  });
}
