// How the seconds of a probe's messages become the network's speed.
#include "api/creation/network.hpp"

#include <gtest/gtest.h>

#include <vector>

using namespace stretto::api;

TEST(NetworkProbe, DelayedMessagesDoNotChangeTheSpeed) {
  const std::vector<double> brief{2e-5, 9e-3, 1e-5, 1e-5}, alike{1.01e-3, 1.01e-3, 1.01e-3},
      delayed{3e-3, 1.01e-3, 2e-2};
  const NetworkSpeed speed = speed_of(brief, alike, 100000);
  EXPECT_EQ(speed.latency, 1e-5);
  EXPECT_NEAR(speed.byte, 1e-8, 1e-16);
  EXPECT_EQ(speed_of(brief, delayed, 100000).byte, speed.byte);
}

TEST(NetworkProbe, ALongMessageFasterThanAShortOneHasAKnownSpeed) {
  EXPECT_TRUE(speed_of(std::vector<double>{1e-3}, std::vector<double>{1e-4}, 100000).known());
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
