// Buffers that the ranks of a host see: aligned, writable, of any size, freed from wherever they came.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ranks.hpp"

using namespace api_test;

TEST(Memory, IsAlignedAndWritableForAnyNumberOfBytes) {
  std::vector<void*> all;
  for (const std::size_t bytes : {0, 1, 63, 4096, 65537, 1 << 22}) {
    void* buffer = nullptr;
    ASSERT_STRETTO_OK(stretto_alloc(bytes, &buffer));
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 64, 0u);
    std::memset(buffer, 0x5a, bytes);
    all.push_back(buffer);
  }
  for (void* buffer : all) ASSERT_STRETTO_OK(stretto_free(buffer));
  ASSERT_STRETTO_OK(stretto_free(nullptr));
}

TEST(Memory, RefusesWhatNobodyHasAndNamesIt) {
  void* buffer = &buffer;
  const std::size_t most = ~std::size_t{0} / 2;
  EXPECT_EQ(stretto_alloc(most, &buffer), STRETTO_OUT_OF_MEMORY);
  EXPECT_NE(std::string(stretto_message()).find(std::to_string(most)), std::string::npos) << stretto_message();
  EXPECT_EQ(buffer, nullptr);
  EXPECT_EQ(stretto_alloc(8, nullptr), STRETTO_INVALID_ARGUMENT);
}

namespace {

// In a process whose arena has one megabyte.
void allocate_beyond_the_arena() {
  setenv("STRETTO_ARENA_SIZE", "1M", 1);
  void *inside = nullptr, *outside = nullptr;
  if (stretto_alloc(1 << 16, &inside) != STRETTO_OK || stretto_alloc(1 << 22, &outside) != STRETTO_OK) std::_Exit(1);
  std::memset(outside, 1, 1 << 22);
  if (stretto_free(outside) != STRETTO_OK || stretto_free(inside) != STRETTO_OK) std::_Exit(2);
  std::_Exit(0);
}

}  // namespace

TEST(Memory, BeyondTheArenaIsOrdinary) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // a process of its own, from the start
  EXPECT_EXIT(allocate_beyond_the_arena(), testing::ExitedWithCode(0), "");
}
