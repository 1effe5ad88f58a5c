#include "carrier/threads.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace stretto::carrier {
namespace {

Completion next(Carrier& c) {
  Completion done;
  std::size_t n = 0;
  EXPECT_EQ(c.wait_any({&done, 1}, &n, 30), Status::ok);
  EXPECT_EQ(n, 1u);
  return done;
}

TEST(Threads, MessagesMatchByTagInAnyOrderAndReportTheirLength) {
  auto group = make_thread_group(2);
  auto a = make_thread_carrier(group, 0), b = make_thread_carrier(group, 1);
  const char first[] = "first", second[] = "second one";
  char x[64] = {}, y[64] = {};
  ASSERT_EQ(a->start_send(1, 7, first, sizeof first, 1), Status::ok);
  ASSERT_EQ(b->start_recv(0, 9, y, sizeof y, 2), Status::ok);
  ASSERT_EQ(b->start_recv(0, 7, x, sizeof x, 3), Status::ok);
  ASSERT_EQ(a->start_send(1, 9, second, sizeof second, 4), Status::ok);
  Completion done = next(*b);
  EXPECT_EQ(done.id, 3u);
  EXPECT_EQ(done.bytes, sizeof first);
  done = next(*b);
  EXPECT_EQ(done.id, 2u);
  EXPECT_EQ(done.bytes, sizeof second);
  EXPECT_STREQ(x, first);
  EXPECT_STREQ(y, second);
  EXPECT_EQ(next(*a).id, 1u);
  EXPECT_EQ(next(*a).id, 4u);
}

TEST(Threads, MessagesOfOneTagMeetInOrder) {
  auto group = make_thread_group(1);
  auto self = make_thread_carrier(group, 0);
  const int sent[] = {5, 6, 7};
  int got[3] = {};
  for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(self->start_send(0, 1, &sent[i], sizeof(int), i), Status::ok);
  for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(self->start_recv(0, 1, &got[i], sizeof(int), 10 + i), Status::ok);
  EXPECT_EQ(got[0], 5);
  EXPECT_EQ(got[1], 6);
  EXPECT_EQ(got[2], 7);
}

TEST(Threads, AMessageThatDoesNotFitIsReportedAndWritesNothing) {
  auto group = make_thread_group(2);
  auto a = make_thread_carrier(group, 0), b = make_thread_carrier(group, 1);
  const int sent[] = {1, 2, 3};
  int got[2] = {-1, -1};
  ASSERT_EQ(b->start_recv(0, 0, got, sizeof got, 1), Status::ok);
  ASSERT_EQ(a->start_send(1, 0, sent, sizeof sent, 2), Status::ok);
  EXPECT_EQ(next(*b).status, Status::incompatible);
  EXPECT_EQ(next(*a).status, Status::ok);
  EXPECT_EQ(got[0], -1);
}

TEST(Threads, EmptyMessagesArrive) {
  auto group = make_thread_group(2);
  auto a = make_thread_carrier(group, 0), b = make_thread_carrier(group, 1);
  ASSERT_EQ(a->start_send(1, 0, nullptr, 0, 1), Status::ok);
  ASSERT_EQ(b->start_recv(0, 0, nullptr, 0, 2), Status::ok);
  EXPECT_EQ(next(*b).bytes, 0u);
}

TEST(Threads, AWaitEndsAtItsLimit) {
  auto group = make_thread_group(2);
  auto a = make_thread_carrier(group, 0);
  int x = 0;
  ASSERT_EQ(a->start_recv(1, 0, &x, sizeof x, 1), Status::ok);
  Completion done;
  std::size_t n = 9;
  EXPECT_EQ(a->wait_any({&done, 1}, &n, 0.01), Status::ok);
  EXPECT_EQ(n, 0u);
}

TEST(Threads, WithdrawnTransfersAreNotReportedAndMeetNobody) {
  auto group = make_thread_group(2);
  auto a = make_thread_carrier(group, 0), b = make_thread_carrier(group, 1);
  int x = 1, y = 2, z = 0;
  ASSERT_EQ(a->start_send(1, 0, &x, sizeof x, 1), Status::ok);
  EXPECT_TRUE(a->cancel(1));
  ASSERT_EQ(b->start_recv(0, 0, &z, sizeof z, 2), Status::ok);
  EXPECT_TRUE(b->cancel(2));
  ASSERT_EQ(a->start_send(1, 0, &y, sizeof y, 3), Status::ok);
  ASSERT_EQ(b->start_recv(0, 0, &z, sizeof z, 4), Status::ok);
  EXPECT_TRUE(a->cancel(3));  // it has ended, and was not reported yet
  EXPECT_EQ(next(*b).id, 4u);
  EXPECT_EQ(z, 2);
  Completion done;
  std::size_t n = 9;
  EXPECT_EQ(a->wait_any({&done, 1}, &n, 0), Status::ok);
  EXPECT_EQ(n, 0u);
}

TEST(Threads, PeersOutsideTheGroupAreRefused) {
  auto a = make_thread_carrier(make_thread_group(2), 0);
  EXPECT_EQ(a->start_send(2, 0, nullptr, 0, 1), Status::invalid_argument);
  EXPECT_EQ(a->start_recv(-1, 0, nullptr, 0, 1), Status::invalid_argument);
}

TEST(Threads, AlarmsAreHeardOnceByEveryOtherRankAndTwoAreRaised) {
  constexpr int ranks = 3;
  auto group = make_thread_group(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      auto c = make_thread_carrier(group, r);
      Alarm alarm{r, Status::out_of_memory, 7, -1, {"why"}};
      if (r == 1) {
        c->raise(alarm);
        for (alarm.from = 3; alarm.from > 0; --alarm.from) c->raise(alarm);
        EXPECT_FALSE(c->hear(&alarm));
        return;
      }
      while (!c->hear(&alarm)) std::this_thread::yield();
      EXPECT_EQ(alarm.rank, 1);
      EXPECT_EQ(alarm.status, Status::out_of_memory);
      EXPECT_EQ(alarm.from, 7u);
      EXPECT_STREQ(alarm.text.data(), "why");
      while (!c->hear(&alarm)) std::this_thread::yield();
      EXPECT_EQ(alarm.from, 3u);
      EXPECT_FALSE(c->hear(&alarm));
    });
  }
  for (auto& t : threads) t.join();
}

TEST(Threads, ManyMessagesCrossBetweenThreads) {
  constexpr int ranks = 5;
  constexpr unsigned many = 300;
  auto group = make_thread_group(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      auto c = make_thread_carrier(group, r);
      std::vector<std::vector<int>> in(ranks, std::vector<int>(many)), out(ranks, std::vector<int>(many));
      std::uint64_t id = 0;
      for (unsigned k = 0; k < many; ++k) {
        for (int p = 0; p < ranks; ++p) {
          const auto i = static_cast<std::size_t>(p);
          out[i][k] = r * 1000000 + p * 10000 + static_cast<int>(k);
          ASSERT_EQ(c->start_send(p, k, &out[i][k], sizeof(int), id++), Status::ok);
          ASSERT_EQ(c->start_recv(p, many - 1 - k, &in[i][many - 1 - k], sizeof(int), id++), Status::ok);
        }
      }
      for (std::uint64_t left = id; left > 0; --left) EXPECT_EQ(next(*c).status, Status::ok);
      for (int p = 0; p < ranks; ++p) {
        for (unsigned k = 0; k < many; ++k)
          EXPECT_EQ(in[static_cast<std::size_t>(p)][k], p * 1000000 + r * 10000 + static_cast<int>(k));
      }
    });
  }
  for (auto& t : threads) t.join();
}

}  // namespace
}  // namespace stretto::carrier
