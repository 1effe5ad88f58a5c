#include "base/text/printable.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/status.hpp"

namespace stretto {
namespace {

using namespace std::string_view_literals;

TEST(Printable, TextWithoutControlCharactersStaysAsItIs) {
  for (const std::string_view text : {""sv, "rel:1e-4"sv, "a \\x1b b"sv, "é, 日本, 𝛼"sv})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("\x1b[2J\n\t\r\x7f\0."sv), "\\x1b[2J\\x0a\\x09\\x0d\\x7f\\x00.");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // U+009B begins a sequence as ESC [ does
}

TEST(Printable, BytesThatAreNoUtf8AreEscaped) {
  // A lone byte, a cut character, an overlong one, a surrogate, and one beyond Unicode.
  EXPECT_EQ(printable("\x9b."), "\\x9b.");
  EXPECT_EQ(printable("\xe6\x97"), "\\xe6\\x97");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(printable("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Printable, WhatIsPrintableStaysSo) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(printable(printable(all)), printable(all));
}

TEST(Printable, AShortBufferEndsWithAWholeCharacter) {
  char out[8] = "-------";
  EXPECT_EQ(printable("ab\x1b", out, 5), 2u);
  EXPECT_EQ(std::string_view(out, 3), "ab-");
  EXPECT_EQ(printable("ab日", out, 4), 2u);
  EXPECT_EQ(printable("ab日", out, 5), 5u);
}

TEST(Printable, AMessageIs) {
  EXPECT_EQ(fail(Status::invalid_argument, "'{}' is no schedule", "\x1b]0;x\a"), Status::invalid_argument);
  EXPECT_STREQ(message(), "'\\x1b]0;x\\x07' is no schedule");
  EXPECT_EQ(fail(Status::invalid_argument, message()), Status::invalid_argument);
  EXPECT_STREQ(message(), "'\\x1b]0;x\\x07' is no schedule");
}

}  // namespace
}  // namespace stretto
