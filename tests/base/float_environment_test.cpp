#include "base/float_environment.hpp"

#include <cfenv>
#include <cstdlib>

#include <gtest/gtest.h>

namespace stretto {
namespace {

volatile double one = 1, three = 3, denormal = 1e-310;

// Not inline: compilers move arithmetic over changes of the environment.
[[gnu::noinline]] double third() { return one / three; }
[[gnu::noinline]] bool kept() { return denormal > 0; }

template <class Environment>
class Floats : public testing::Test {
 protected:
  void TearDown() override { std::fesetenv(FE_DFL_ENV); }
};
using Environments = testing::Types<FloatEnvironment, WholeFloatEnvironment>;
TYPED_TEST_SUITE(Floats, Environments);

TYPED_TEST(Floats, AreRoundedToTheNearestWithinAndAsBeforeAfterwards) {
  const double nearest = third();
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const double before = third();
    double within = 0;
    {
      const TypeParam environment;
      within = third();
    }
    EXPECT_EQ(within, nearest);
    EXPECT_EQ(third(), before);
    EXPECT_EQ(std::fegetround(), mode);
  }
}

TEST(WholeFloatEnvironment, IsThatInWhichNumbersAreRead) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    double read[2] = {};
    {
      const WholeFloatEnvironment environment;
      for (double& x : read) x = std::strtod(&x == read ? "0.1" : "0.7", nullptr);
    }
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(read[0], 0.1);
    EXPECT_EQ(read[1], 0.7);
  }
}

#if defined(__x86_64__)
TYPED_TEST(Floats, ThatAreDenormalAreKeptWithinAndFlushedAgainAfterwards) {
  constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
  ASSERT_TRUE(kept());
  _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
  bool within = false;
  {
    const TypeParam environment;
    within = kept();
  }
  EXPECT_TRUE(within);
  EXPECT_FALSE(kept());
}
#endif

}  // namespace
}  // namespace stretto
