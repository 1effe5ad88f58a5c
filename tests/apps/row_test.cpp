#include "stack/row.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace stretto::stacking {
namespace {

std::vector<Row> good() {
  return {Row{.schedule = "MPI_Allreduce", .payload = "-", .ms = 4, .hash = 1, .in_code_space = false},
          Row{.schedule = "ring",
              .payload = "homomorphic",
              .ms = 2,
              .sent = 1000000,
              .compression = 12.5,
              .worst = 1e-3,
              .promised = 2e-3,
              .excess = -1e-3,
              .psnr = 80,
              .hash = 0xabc,
              .in_code_space = true},
          Row{.schedule = "ring",
              .payload = "fused",
              .ms = 8,
              .sent = 1000000,
              .compression = 12.5,
              .worst = 1e-3,
              .promised = 2e-3,
              .excess = -1e-3,
              .psnr = 80,
              .hash = 0xabc,
              .in_code_space = true}};
}

TEST(Row, NothingIsWrongWithPromisesKeptAndEqualHashes) { EXPECT_TRUE(violations(good()).empty()); }

TEST(Row, ABrokenPromiseIsNamed) {
  std::vector<Row> rows = good();
  rows[1].excess = 1e-9;
  ASSERT_EQ(violations(rows).size(), 1U);
  EXPECT_NE(violations(rows)[0].find("ring homomorphic"), std::string::npos);
  rows[1].excess = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(violations(rows).size(), 1U);
}

TEST(Row, HashesThatDifferInCodeSpaceAreNamedAndOthersMayDiffer) {
  std::vector<Row> rows = good();
  rows[2].hash = 0xabd;
  ASSERT_EQ(violations(rows).size(), 1U);
  EXPECT_NE(violations(rows)[0].find("0000000000000abd"), std::string::npos);
  rows = good();
  rows[0].hash = 7;
  EXPECT_TRUE(violations(rows).empty());
}

TEST(Row, RanksThatDisagreeAreNamedWhateverThePayload) {
  std::vector<Row> rows = good();
  rows[0].ranks_agree = false;
  EXPECT_EQ(violations(rows).size(), 1U);
}

TEST(Row, NonFiniteValuesFillValuesAndTooLargeBoundsAreNoted) {
  Setting s;
  s.count = 2;
  s.values = 100;
  s.eps = 5;
  EXPECT_EQ(notes(s, good()), "");
  s.not_finite = 3;
  s.usual = 12;
  EXPECT_NE(notes(s, good()).find("At 3 of 100 values"), std::string::npos);
  EXPECT_EQ(notes(s, good()).find("The bound is larger"), std::string::npos);
  EXPECT_EQ(notes(s, good()).find("a fill value"), std::string::npos);
  s.fills = 40;
  EXPECT_NE(notes(s, good()).find("At 40 of 100 values an image holds 1e15 or more"), std::string::npos);
  s.usual = 10;
  EXPECT_NE(notes(s, good()).find("The bound is larger than half of the values: a stack may be off by 1.000e+01"),
            std::string::npos);
  s.range = 6;
  EXPECT_NE(notes(s, good()).find("Their range is 6.000e+00: a smaller bound"), std::string::npos);
  s.range = 5e4;
  EXPECT_NE(notes(s, good()).find("Few large values make such a range (5.000e+04)"), std::string::npos);
}

TEST(Row, TableHasALineARowAndTimesAgainstTheFirst) {
  const std::string t = text_table(good());
  EXPECT_EQ(std::count(t.begin(), t.end(), '\n'), 2 + 3);
  EXPECT_NE(t.find("2.00x"), std::string::npos);
  EXPECT_NE(t.find("0.50x"), std::string::npos);
  EXPECT_NE(t.find("0000000000000abc"), std::string::npos);
  const std::string h = html_table(good());
  EXPECT_NE(h.find("<td class=\"w\">fused</td>"), std::string::npos);
}

}  // namespace
}  // namespace stretto::stacking
