// Says why, where the tests that this one stands beside have nothing to compare.
#include "support.hpp"

namespace stretto::codec {
namespace {

TEST(Avx512Emulated, IsAmongTheInstructionSetsThatAreCompared) {
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vnni"))
    GTEST_SKIP() << "a processor without AVX-512 (BW, VNNI)";
  EXPECT_EQ(best_isa(), Isa::avx512);
}

}  // namespace
}  // namespace stretto::codec
