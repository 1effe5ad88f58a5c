// Which points of a measured curve are measured again.
#include "timing/steady.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace stretto::bench {
namespace {

TEST(Doubt, SteadySamplesVaryByLessThanTwo) {
  EXPECT_TRUE(timing::is_steady({1}));
  EXPECT_TRUE(timing::is_steady({1.9, 1, 1.5, 1.2, 1.9, 1.9, 1.1, 1}));
  EXPECT_TRUE(timing::is_steady({1, 1, 1, 1, 1, 1, 1, 90}));  // one disturbed sample does not move the timing::median
  EXPECT_FALSE(timing::is_steady({1, 90, 1, 90, 1, 90, 1, 90}));
  EXPECT_FALSE(timing::is_steady({1, 1, 1, 1, 1, 2, 2, 2}));
}

TEST(Doubt, PointsThatVaryOrExceedALongerVector) {
  EXPECT_EQ(timing::in_doubt({}), std::vector<bool>{});
  EXPECT_EQ(timing::in_doubt({{1, true}, {2, true}, {2, true}, {5, true}}),
            (std::vector<bool>{false, false, false, false}));
  EXPECT_EQ(timing::in_doubt({{1, true}, {355, true}, {12, true}, {193, true}, {40, true}}),
            (std::vector<bool>{false, true, false, true, false}));
  EXPECT_EQ(timing::in_doubt({{1, false}, {2, true}, {3, false}}), (std::vector<bool>{true, false, true}));
}

}  // namespace
}  // namespace stretto::bench
