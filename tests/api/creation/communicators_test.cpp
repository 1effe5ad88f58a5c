// Communicators: creation agrees, errors are the same on every rank, and distinct ones are independent.
#include <string>

#include "../ranks.hpp"

using namespace api_test;

TEST(Communicators, CreationFailsOnAllRanksWhenOneIsTakenTwice) {
  stretto_thread_group group = nullptr;
  ASSERT_STRETTO_OK(stretto_thread_group_create(3, &group));
  std::vector<std::thread> threads;
  for (int rank : {0, 1, 1})
    threads.emplace_back([group, rank] {
      stretto_comm comm = nullptr;
      EXPECT_EQ(stretto_comm_create_threads(group, rank, &comm), STRETTO_INVALID_ARGUMENT);
      EXPECT_STREQ(stretto_message(), "rank 1 is taken twice");
      EXPECT_EQ(comm, nullptr);
    });
  for (auto& t : threads) t.join();
  ASSERT_STRETTO_OK(stretto_thread_group_free(group));
}

TEST(Communicators, BadArgumentOfOneRankFailsCreationOnAllRanks) {
  stretto_thread_group group = nullptr;
  ASSERT_STRETTO_OK(stretto_thread_group_create(2, &group));
  for (bool null : {false, true}) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([=] {
        stretto_comm comm = nullptr;
        const int rank = null || i == 0 ? i : 2;
        EXPECT_EQ(stretto_comm_create_threads(group, rank, null && i == 1 ? nullptr : &comm), STRETTO_INVALID_ARGUMENT);
        EXPECT_STREQ(stretto_message(), null ? "comm is NULL on rank 1" : "rank 2 is not in [0, 2)");
      });
    for (auto& t : threads) t.join();
  }
  ASSERT_STRETTO_OK(stretto_thread_group_free(group));
}

TEST(Communicators, CoresThatOnlyTheProfilingLibraryFindsAreNone) {
  ASSERT_EQ(setenv("STRETTO_COMM_CORES", "auto", 1), 0);
  on_ranks(2, [](stretto_comm comm, int, int) { EXPECT_EQ(stretto_barrier(comm, nullptr), STRETTO_OK); });
  unsetenv("STRETTO_COMM_CORES");
}

TEST(Communicators, AGroupServesSeveralInTurn) {
  stretto_thread_group group = nullptr;
  ASSERT_STRETTO_OK(stretto_thread_group_create(3, &group));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([=] {
      stretto_comm a = nullptr, b = nullptr;
      ASSERT_STRETTO_OK(stretto_comm_create_threads(group, rank, &a));
      ASSERT_STRETTO_OK(stretto_comm_create_threads(group, rank, &b));
      const int one = 1;
      int sum = 0;
      for (stretto_comm c : {b, a, b}) {
        ASSERT_STRETTO_OK(stretto_allreduce(&one, &sum, 1, STRETTO_I32, STRETTO_SUM, c, nullptr));
        EXPECT_EQ(sum, 3);
      }
      ASSERT_STRETTO_OK(stretto_comm_free(a));
      ASSERT_STRETTO_OK(stretto_allreduce(&one, &sum, 1, STRETTO_I32, STRETTO_SUM, b, nullptr));
      ASSERT_STRETTO_OK(stretto_comm_free(b));
    });
  for (auto& t : threads) t.join();
  ASSERT_STRETTO_OK(stretto_thread_group_free(group));
}

// Each rank drives two communicators from two threads at the same time; run under ThreadSanitizer too.
TEST(Communicators, ThreadsUseDistinctOnesAtTheSameTime) {
  constexpr int ranks = 3;
  stretto_thread_group groups[2] = {};
  for (auto& g : groups) ASSERT_STRETTO_OK(stretto_thread_group_create(ranks, &g));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    for (int which = 0; which < 2; ++which)
      threads.emplace_back([=, &groups] {
        stretto_comm comm = nullptr;
        ASSERT_STRETTO_OK(stretto_comm_create_threads(groups[which], rank, &comm));
        const auto x = wave(rank + which, 20000);
        std::vector<float> y(x.size());
        const stretto_options o = bounded(1e-3);
        for (int i = 0; i < 5; ++i) {
          ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), y.size(), STRETTO_F32, STRETTO_SUM, comm, &o));
          double exact = 0;
          for (int r = 0; r < ranks; ++r) exact += wave(r + which, 101)[100];
          ASSERT_NEAR(y[100], exact, 3.001e-3);
        }
        // Messages belong to their thread.
        EXPECT_EQ(
            stretto_allreduce(x.data(), y.data(), 1, STRETTO_F32, which ? STRETTO_BAND : STRETTO_USER, comm, nullptr),
            which ? STRETTO_UNSUPPORTED : STRETTO_INVALID_ARGUMENT);
        EXPECT_NE(std::string(stretto_message()).find(which ? "band" : "user_function"), std::string::npos);
        ASSERT_STRETTO_OK(stretto_comm_free(comm));
      });
  for (auto& t : threads) t.join();
  for (auto g : groups) ASSERT_STRETTO_OK(stretto_thread_group_free(g));
}

TEST(Communicators, NullsAndBadSizesAreErrors) {
  stretto_thread_group group = nullptr;
  stretto_comm comm = nullptr;
  EXPECT_EQ(stretto_thread_group_create(0, &group), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_thread_group_create(1, nullptr), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_comm_create_threads(nullptr, 0, &comm), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_comm_free(nullptr), STRETTO_OK);
  EXPECT_EQ(stretto_thread_group_free(nullptr), STRETTO_OK);
  EXPECT_EQ(stretto_comm_size(nullptr), -1);
  EXPECT_EQ(stretto_comm_rank(nullptr), -1);
}
