#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "picture/canvas.hpp"
#include "picture/colour.hpp"
#include "picture/figure.hpp"
#include "picture/font.hpp"
#include "picture/page.hpp"

namespace stretto::stacking {
namespace {

bool same(Colour a, Colour b) { return a.r == b.r && a.g == b.g && a.b == b.b; }

std::vector<std::byte> bytes_of(const std::string& s) {
  std::vector<std::byte> out;
  for (const char c : s) out.push_back(static_cast<std::byte>(c));
  return out;
}

void expect_png_gives_back(const Canvas& c) {
  const std::vector<std::byte> file = c.png();
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_memory(&image, file.data(), file.size()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  ASSERT_EQ(image.width, static_cast<unsigned>(c.width()));
  ASSERT_EQ(image.height, static_cast<unsigned>(c.height()));
  std::vector<std::uint8_t> rgb(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, rgb.data(), 0, nullptr), 0) << image.message;
  std::size_t i = 0;
  for (int y = 0; y < c.height(); ++y) {
    for (int x = 0; x < c.width(); ++x, i += 3) {
      ASSERT_TRUE(same(c.at(x, y), {rgb[i], rgb[i + 1], rgb[i + 2]})) << x << ' ' << y;
    }
  }
}

TEST(Canvas, WhatIsDrawnComesBackFromThePng) {
  Canvas c(31, 17);
  c.fill(3, 4, 10, 5, {200, 10, 30});
  c.text(1, 1, "a1", ink, 1);
  expect_png_gives_back(c);
}

TEST(Canvas, AsManyColoursAsThereArePixelsComeBackToo) {
  for (const int colours : {255, 256, 257, 40 * 40}) {
    Canvas c(40, 40);
    for (int i = 0; i < 40 * 40; ++i) {
      const int k = i % colours;
      c.set(i % 40, i / 40, {static_cast<std::uint8_t>(k % 251), static_cast<std::uint8_t>(k / 251), 7});
    }
    expect_png_gives_back(c);
  }
}

TEST(Canvas, DrawingOutsideIsLeftOut) {
  Canvas c(4, 4);
  c.fill(-10, -10, 100, 11, ink);
  c.text(3, -3, "clipped", ink, 3);
  EXPECT_TRUE(same(c.at(0, 0), ink));
  EXPECT_TRUE(same(c.at(0, 3), white));
}

TEST(Font, PrintableCharactersAreDifferentAndOthersAreQuestionMarks) {
  std::set<Glyph> seen;
  for (char c = ' '; c <= '~'; ++c) seen.insert(glyph(c));
  EXPECT_EQ(seen.size(), 95U);
  EXPECT_EQ(glyph('\n'), glyph('?'));
  EXPECT_EQ(glyph(static_cast<char>(0xe9)), glyph('?'));
  EXPECT_EQ(Canvas::text_width("ab", 2), 22);
}

TEST(Font, TailsHangBelowTheLineAndBodiesStandOnIt) {
  const auto rows = [](const char* text) {
    Canvas c(10, 20);
    c.text(2, 2, text, ink, 1);
    std::pair<int, int> ends{20, -1};
    for (int y = 0; y < 20; ++y)
      for (int x = 0; x < 10; ++x)
        if (same(c.at(x, y), ink)) ends = {std::min(ends.first, y), y};
    return ends;
  };
  const auto [top, line] = rows("o");
  for (const char* tailed : {"g", "p", "q", "y"}) EXPECT_EQ(rows(tailed), std::pair(top, line + 2)) << tailed;
  for (const char* plain : {"a", "e", "n", "s", "u", "x"}) EXPECT_EQ(rows(plain), std::pair(top, line)) << plain;
}

TEST(Colour, ScalesAreClippedAndPassThroughTheirMiddle) {
  EXPECT_TRUE(same(grey(-5), {0, 0, 0}));
  EXPECT_TRUE(same(grey(5), white));
  EXPECT_TRUE(same(blue_red(0), white));
  EXPECT_TRUE(same(blue_red(2), blue_red(1)));
  EXPECT_GT(blue_red(1).r, blue_red(1).b);
  EXPECT_LT(blue_red(-1).r, blue_red(-1).b);
}

TEST(Figure, EveryPixelOfAnImageIsSeenAndMissingValuesDiffer) {
  Panel p{.title = "t", .unit = "u", .values = std::vector<float>(6, 0.0F), .limit = 1, .scale = grey};
  p.values[5] = std::numeric_limits<float>::quiet_NaN();
  p.values[0] = 1;
  const Canvas c = draw({p, p}, 2, 3, {});
  int missing = 0, black = 0;
  for (int y = 0; y < c.height(); ++y) {
    for (int x = 0; x < c.width(); ++x) {
      const Colour k = c.at(x, y);
      if (same(k, {168, 190, 168})) ++missing;
      if (same(k, {0, 0, 0})) ++black;
    }
  }
  EXPECT_EQ(missing, 2 * 8 * 8);  // enlarged eight times, on both panels
  EXPECT_GT(black, 0);            // the bar's lower end
}

TEST(Figure, LargeImagesAreThinnedToAPageAndKeepTheirOutliers) {
  Panel p{.title = "", .unit = "", .values = std::vector<float>(10 * 5000, 0.0F), .limit = 1, .scale = blue_red};
  p.values[3 * 5000 + 4321] = -1;
  const Canvas c = draw({p}, 10, 5000, {});
  EXPECT_LT(c.width(), 1600);
  int blue = 0;
  for (int x = 130; x < 124 + 1000; ++x) {
    for (int y = 0; y < c.height(); ++y) blue += same(c.at(x, y), blue_red(-1)) ? 1 : 0;
  }
  EXPECT_EQ(blue, 1);
}

TEST(Figure, QuantilesIgnoreWhatIsNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(quantile_of_magnitude({-4, 1, nan, 2, -3, 0}, 1.0), 4.0);
  EXPECT_EQ(quantile_of_magnitude({-4, 1, nan, 2, -3, 0}, 0.5), 2.0);
  EXPECT_EQ(quantile_of_magnitude({nan}, 0.5), 0.0);
}

TEST(Figure, TicksAreRoundNumbersAndNotTooMany) {
  EXPECT_DOUBLE_EQ(tick_step(5.12, 6), 1.0);
  EXPECT_DOUBLE_EQ(tick_step(941, 9), 200.0);
  EXPECT_DOUBLE_EQ(tick_step(2.5, 5), 0.5);
  for (const double span : {0.003, 1.0, 7.7, 99.0, 12345.0}) EXPECT_LE(span / tick_step(span, 6), 6.000001);
}

TEST(Page, Base64IsThatOfTheStandard) {
  EXPECT_EQ(base64(bytes_of("")), "");
  EXPECT_EQ(base64(bytes_of("f")), "Zg==");
  EXPECT_EQ(base64(bytes_of("fo")), "Zm8=");
  EXPECT_EQ(base64(bytes_of("foo")), "Zm9v");
  EXPECT_EQ(base64(bytes_of("foobar")), "Zm9vYmFy");
  EXPECT_EQ(base64({std::byte{0xff}, std::byte{0xfe}, std::byte{0xfd}}), "//79");
}

TEST(Page, NamesOfFilesCannotBreakThePage) {
  EXPECT_EQ(escape("a<b>&\"c"), "a&lt;b&gt;&amp;&quot;c");
  Setting s;
  s.images = "from <script>";
  EXPECT_EQ(html_page(s, {Row{}}, {}, "").find("<script>"), std::string::npos);
}

TEST(Page, SaysWhatDoesNotHold) {
  Row bad{.schedule = "ring", .payload = "fused", .worst = 2, .promised = 1, .excess = 1, .in_code_space = true};
  EXPECT_NE(html_page({}, {bad}, {}, "").find("passes its promise"), std::string::npos);
  bad.excess = -1;
  EXPECT_EQ(html_page({}, {bad}, {}, "").find("passes its promise"), std::string::npos);
}

}  // namespace
}  // namespace stretto::stacking
