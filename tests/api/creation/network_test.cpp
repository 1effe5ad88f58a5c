// How the seconds of a probe's messages become the network's speed.
#include "api/creation/network.hpp"

#include <gtest/gtest.h>

#include <vector>

using namespace stretto::api;

namespace {

MessageTimes taken(const std::vector<double>& brief, const std::vector<double>& whole) {
  MessageTimes times;
  times.take(brief, brief, whole);
  return times;
}

}  // namespace

TEST(NetworkProbe, DelayedMessagesDoNotChangeTheSpeed) {
  const std::vector<double> brief{2e-5, 9e-3, 1e-5, 1e-5}, alike{1.01e-3, 1.01e-3, 1.01e-3},
      delayed{3e-3, 1.01e-3, 2e-2};
  const NetworkSpeed speed = taken(brief, alike).speed(1000, 100000);
  EXPECT_EQ(speed.latency, 1e-5);
  EXPECT_NEAR(speed.byte, 1e-8, 1e-16);
  EXPECT_EQ(taken(brief, delayed).speed(1000, 100000).byte, speed.byte);
}

TEST(NetworkProbe, ALongMessageFasterThanAShortOneHasAKnownSpeed) {
  EXPECT_TRUE(taken({1e-3}, {1e-4}).speed(1000, 100000).known());
}

TEST(NetworkProbe, BurstsShowInMessagesOfSomeKilobytes) {
  const auto speed = [](double medium) {
    MessageTimes times;
    times.take(std::vector{3e-5, 2e-5}, std::vector{medium, 9e-5}, std::vector{1.02e-3, 1.1e-3});
    return times.speed(2000, 100000);
  };
  EXPECT_NEAR(speed(2.4e-5).short_byte, 2e-9, 1e-16);
  EXPECT_TRUE(speed(2.4e-5).has_bursts());
  EXPECT_FALSE(speed(4e-5).has_bursts());
}

TEST(NetworkProbe, GoesOnUntilTwoMessagesAgree) {
  const std::vector<double> brief{1e-5};
  MessageTimes times = taken(brief, {9e-3, 4e-3, 2.2e-3, 8e-3});
  EXPECT_FALSE(times.settled());
  times.take(brief, brief, std::vector{6e-3, 1.01e-3, 7e-3, 4e-3});
  EXPECT_FALSE(times.settled());
  times.take(brief, brief, std::vector{5e-3, 1.2e-3, 8e-3, 4e-3});
  EXPECT_TRUE(times.settled());
  EXPECT_NEAR(times.speed(1000, 100000).byte, 1e-8, 1e-16);
  EXPECT_TRUE(taken(brief, {4.5e-3, 2.2e-3, 4.6e-3, 2.3e-3}).settled()) << "the other direction delays every second";
  EXPECT_FALSE(taken(brief, {1e-3}).settled());
}

TEST(NetworkProbe, CoreTimesAreThoseOfOneEnd) {
  NetworkSpeed speed;
  set_core_times(std::vector<double>{3e-5, 1e-5}, std::vector<double>{9e-5, 7e-5}, 100000, &speed);
  EXPECT_NEAR(speed.core_message, 5e-6, 1e-12);
  EXPECT_NEAR(speed.core_byte, 3e-10, 1e-16);
}

TEST(NetworkProbe, WorkThatMessagesDoNotLengthenHasNoCoreTime) {
  NetworkSpeed speed;
  set_core_times(std::vector<double>{-1e-6}, std::vector<double>{-2e-6}, 1000, &speed);
  EXPECT_EQ(speed.core_message, 0);
  EXPECT_EQ(speed.core_byte, 0);
}
