#include "stack/page.hpp"

#include <gtest/gtest.h>

#include <string>

namespace stretto::stacking {
namespace {

TEST(Page, NamesOfFilesCannotBreakThePage) {
  EXPECT_EQ(escape("a<b>&\"c"), "a&lt;b&gt;&amp;&quot;c");
  Setting s;
  s.images = "from <script>";
  EXPECT_EQ(html_page(s, {Row{}}, "<script>").find("<script>"), std::string::npos);
}

TEST(Page, SaysWhatDoesNotHold) {
  Row bad{.schedule = "ring", .payload = "fused", .worst = 2, .promised = 1, .excess = 1, .in_code_space = true};
  EXPECT_NE(html_page({}, {bad}, "").find("passes its promise"), std::string::npos);
  bad.excess = -1;
  EXPECT_EQ(html_page({}, {bad}, "").find("passes its promise"), std::string::npos);
}

TEST(Page, HasOneFigureThatSaysHowToDrawIt) {
  const std::string page = html_page({}, {Row{}}, "build/demo");
  const std::size_t begin = page.find("<figure>");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_EQ(page.find("<figure>", begin + 1), std::string::npos);
  const std::size_t command = page.find("stretto draw build/demo", begin);
  ASSERT_NE(command, std::string::npos);
  EXPECT_GT(page.find("</figure>", begin), command);
}

}  // namespace
}  // namespace stretto::stacking
