#include "base/waiting.hpp"

#include <gtest/gtest.h>

#include <string>

namespace stretto {
namespace {

TEST(WaitMode, IsOneOfThreeWords) {
  WaitMode mode = WaitMode::spin;
  EXPECT_EQ(parse_wait_mode("", &mode), Status::ok);
  EXPECT_EQ(mode, WaitMode::automatic);
  EXPECT_EQ(parse_wait_mode("sleep", &mode), Status::ok);
  EXPECT_EQ(mode, WaitMode::sleep);
  EXPECT_EQ(parse_wait_mode("spin", &mode), Status::ok);
  EXPECT_EQ(mode, WaitMode::spin);
  EXPECT_EQ(parse_wait_mode("auto", &mode), Status::ok);
  EXPECT_EQ(mode, WaitMode::automatic);
}

TEST(WaitMode, NamesAWordThatItDoesNotKnow) {
  WaitMode mode = WaitMode::spin;
  EXPECT_EQ(parse_wait_mode("doze", &mode), Status::invalid_argument);
  EXPECT_EQ(std::string(message()), "STRETTO_WAIT is 'doze'; it takes auto, spin or sleep");
}

TEST(Waiting, SleepsLongerTheLongerItHasWaited) {
  Waiting waiting(false);
  const double begin = 100;
  EXPECT_EQ(waiting.next(begin), 0);
  const double first = waiting.next(begin + 1e-3);
  EXPECT_GT(first, 0);
  EXPECT_LE(first, 2e-4);
  EXPECT_GT(waiting.next(begin + 4e-3), first);
  EXPECT_EQ(waiting.next(begin + 1), longest_blind_sleep);
}

TEST(Waiting, SleepsInOneGoWhereItIsWoken) {
  Waiting waiting(false, 0.5);
  EXPECT_EQ(waiting.next(100), 0);
  EXPECT_EQ(waiting.next(100.001), 0.5);
  waiting.reset();
  EXPECT_EQ(waiting.next(200), 0);
}

}  // namespace
}  // namespace stretto
