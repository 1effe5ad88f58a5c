#include "base/status.hpp"

#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Status, EveryStatusHasAShortNameOfItsOwn) {
  std::set<std::string> names;
  for (int s = static_cast<int>(Status::ok); s <= static_cast<int>(Status::internal); ++s) {
    names.insert(name(static_cast<Status>(s)));
  }
  EXPECT_EQ(names.size(), 12U);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(Status, FailReturnsTheStatusAndLeavesTheMessageWithItsValues) {
  EXPECT_EQ(fail(Status::invalid_bound, "bound {} is not positive", -1.5), Status::invalid_bound);
  EXPECT_STREQ(message(), "bound -1.5 is not positive");
}

TEST(Status, TheMessageIsThatOfTheThreadThatFailed) {
  EXPECT_EQ(fail(Status::timeout, "here"), Status::timeout);
  std::string elsewhere = "not read";
  std::thread([&] { elsewhere = message(); }).join();
  EXPECT_EQ(elsewhere, "");
  EXPECT_STREQ(message(), "here");
}

TEST(Status, AMessageLongerThanTheBufferIsCutAndStaysTerminated) {
  const std::string text(10'000, 'x');
  EXPECT_EQ(fail(Status::internal, "{}", text), Status::internal);
  const std::string kept = message();
  EXPECT_GT(kept.size(), 100U);
  EXPECT_LT(kept.size(), text.size());
  EXPECT_EQ(text.compare(0, kept.size(), kept), 0);
}

}  // namespace
}  // namespace stretto
