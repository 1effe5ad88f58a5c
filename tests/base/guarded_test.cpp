#include "base/guarded.hpp"

#include <array>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Guarded, WorkThatDoesNotThrowGivesItsStatus) {
  bool ran = false;
  EXPECT_EQ(guarded("for a list", [&] { ran = true; }), Status::ok);
  EXPECT_TRUE(ran);
  EXPECT_EQ(guarded("for a list", [] { return fail(Status::overflow, "{} is too large", 7); }), Status::overflow);
  EXPECT_STREQ(message(), "7 is too large");
}

TEST(Guarded, WithoutMemoryTheMessageNamesThePurpose) {
  const auto lacks = [] { throw std::bad_alloc(); };
  EXPECT_EQ(guarded("for a list of {braces}", lacks), Status::out_of_memory);
  EXPECT_STREQ(message(), "no memory for a list of {braces}");
  EXPECT_EQ(guarded({"to list {} messages", 3}, lacks), Status::out_of_memory);
  EXPECT_STREQ(message(), "no memory to list 3 messages");
  const auto no_threads = []() -> Status { throw std::system_error(EAGAIN, std::generic_category()); };
  EXPECT_EQ(guarded("for a thread", no_threads), Status::out_of_memory);
}

TEST(Guarded, OtherExceptionsAreInternalAndTellTheirText) {
  const auto fails = [] { throw std::invalid_argument("stoi"); };
  EXPECT_EQ(guarded({"to list {} messages", 3}, fails), Status::internal);
  EXPECT_STREQ(message(), "an exception where memory was wanted to list 3 messages: stoi");
  const auto no_file = []() -> Status { throw std::system_error(ENOENT, std::generic_category(), "open"); };
  EXPECT_EQ(guarded("for a file", no_file), Status::internal);
  EXPECT_NE(std::string(message()).find("for a file: open: No such file"), std::string::npos) << message();
  EXPECT_EQ(guarded("for a list", [] { throw 7; }), Status::internal);
  EXPECT_STREQ(message(), "an exception where memory was wanted for a list: of an unknown type");
  EXPECT_EQ(guarded("for a list", [] { throw std::length_error("vector::reserve"); }), Status::out_of_memory);
}

TEST(Guarded, AttemptTellsWhetherWorkCameToItsEnd) {
  bool ran = false;
  EXPECT_TRUE(attempt([&] { ran = true; }));
  EXPECT_TRUE(ran);
  EXPECT_FALSE(attempt([] { throw std::bad_alloc(); }));
}

TEST(Messages, ACopyIsCutToFitAndTerminated) {
  static_cast<void>(fail(Status::internal, "abcdefgh"));
  std::array<char, 5> few;
  few.fill('x');
  copy_message(few);
  EXPECT_STREQ(few.data(), "abcd");
  std::array<char, 16> many;
  many.fill('x');
  copy_message(many);
  EXPECT_STREQ(many.data(), "abcdefgh");
  copy_message({});
}

}  // namespace
}  // namespace stretto
