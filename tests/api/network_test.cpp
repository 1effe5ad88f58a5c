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
