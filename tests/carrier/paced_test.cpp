#include "carrier/paced.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "carrier/threads.hpp"

namespace stretto::carrier {
namespace {

// A rank whose link is slow, and one that takes its messages.
struct Pair {
  explicit Pair(double gbit) : from(make_paced(make_thread_carrier(group, 0), gbit)) {}
  std::shared_ptr<ThreadGroup> group = make_thread_group(2);
  std::unique_ptr<Carrier> from, to = make_thread_carrier(group, 1);
};

std::size_t look(Carrier& c, double seconds, std::span<Completion> done) {
  std::size_t n = 0;
  EXPECT_EQ(c.wait_any(done, &n, seconds), Status::ok);
  return n;
}

TEST(Paced, AMessageTakesAsLongAsItsBytesOnTheLink) {
  Pair p(0.1);
  std::vector<char> sent(250'000, 'x'), got(sent.size());  // 20 ms
  std::array<Completion, 2> done;
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(p.to->start_recv(0, 3, got.data(), got.size(), 1), Status::ok);
  ASSERT_EQ(p.from->start_send(1, 3, sent.data(), sent.size(), 2), Status::ok);
  EXPECT_EQ(look(*p.from, 30, done), 1u);
  EXPECT_EQ(done[0].id, 2u);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
  EXPECT_EQ(look(*p.to, 30, done), 1u);
  EXPECT_EQ(got, sent);
}

TEST(Paced, MessagesOfOneTagStayInOrderEvenIfOneIsEmpty) {
  Pair p(1);
  const int sent[] = {5, 6};
  std::array<int, 3> got{};
  std::array<Completion, 4> done;
  for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(p.to->start_recv(0, 1, &got[i], sizeof(int), i), Status::ok);
  ASSERT_EQ(p.from->start_send(1, 1, &sent[0], sizeof(int), 0), Status::ok);
  ASSERT_EQ(p.from->start_send(1, 1, nullptr, 0, 1), Status::ok);
  ASSERT_EQ(p.from->start_send(1, 1, &sent[1], sizeof(int), 2), Status::ok);
  for (std::size_t n = 0; n < 3;) n += look(*p.from, 30, done);
  std::array<std::size_t, 3> bytes{};
  for (std::size_t n = 0; n < 3;) {
    const std::size_t more = look(*p.to, 30, done);
    for (std::size_t i = 0; i < more; ++i) bytes[done[i].id] = done[i].bytes;
    n += more;
  }
  EXPECT_EQ(bytes, (std::array<std::size_t, 3>{4, 0, 4}));
  EXPECT_EQ(got, (std::array<int, 3>{5, 0, 6}));
}

TEST(Paced, AMessageThatHasNotLeftCanBeWithdrawn) {
  Pair p(1e-9);
  const std::array<char, 1000> sent{};
  std::array<Completion, 1> done;
  ASSERT_EQ(p.from->start_send(1, 1, sent.data(), sent.size(), 7), Status::ok);
  EXPECT_EQ(look(*p.from, 0, done), 0u);
  Arrival arrival;
  EXPECT_FALSE(p.to->peek(0, &arrival));
  EXPECT_TRUE(p.from->cancel(7));
  EXPECT_EQ(look(*p.from, 0, done), 0u);
}

TEST(Paced, ARankDoesNotWaitForItself) {
  Pair p(1e-9);
  const int sent = 5;
  int got = 0;
  std::array<Completion, 2> done;
  ASSERT_EQ(p.from->start_send(0, 1, &sent, sizeof sent, 1), Status::ok);
  ASSERT_EQ(p.from->start_recv(0, 1, &got, sizeof got, 2), Status::ok);
  for (std::size_t n = 0; n < 2;) n += look(*p.from, 30, done);
  EXPECT_EQ(got, 5);
}

TEST(Paced, TheEnvironmentGivesTheRate) {
  auto carrier = make_thread_carrier(make_thread_group(1), 0);
  const Carrier* const plain = carrier.get();
  EXPECT_EQ(pace(&carrier), Status::ok);
  EXPECT_EQ(carrier.get(), plain);
  for (const char* wrong : {"fast", "0", "-3", "25x"}) {
    setenv("STRETTO_LINK_GBIT", wrong, 1);
    EXPECT_EQ(pace(&carrier), Status::invalid_argument);
    EXPECT_NE(std::string(message()).find(std::string("STRETTO_LINK_GBIT is '") + wrong + "'"), std::string::npos);
    EXPECT_EQ(carrier.get(), plain);
  }
  setenv("STRETTO_LINK_GBIT", "12.5", 1);
  EXPECT_TRUE(is_paced());
  EXPECT_EQ(pace(&carrier), Status::ok);
  EXPECT_NE(carrier.get(), plain);
  unsetenv("STRETTO_LINK_GBIT");
}

}  // namespace
}  // namespace stretto::carrier
