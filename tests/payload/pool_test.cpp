#include "payload/pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace stretto::payload {
namespace {

TEST(Pool, GivesAlignedRoomForWhatIsAskedAndNotMuchMore) {
  Pool pool;
  for (std::size_t bytes = 1; bytes < 3000000; bytes = bytes * 9 / 8 + 1) {
    Buffer b;
    ASSERT_EQ(pool.take(bytes, &b), Status::ok);
    ASSERT_GE(b.capacity(), bytes);
    ASSERT_LE(b.capacity(), 256 + bytes + bytes / 3);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % 64, 0u);
    std::memset(b.data(), 1, b.capacity());
  }
}

TEST(Pool, GivesBackTheSameMemoryOnceTheLastReferenceIsGone) {
  Pool pool;
  Buffer a;
  ASSERT_EQ(pool.take(5000, &a), Status::ok);
  const std::byte* data = a.data();
  Buffer second = a;
  a = {};
  EXPECT_EQ(pool.idle_bytes(), 0u);
  Buffer other;
  ASSERT_EQ(pool.take(5000, &other), Status::ok);
  EXPECT_NE(other.data(), data);
  second = Buffer{};
  EXPECT_GT(pool.idle_bytes(), 0u);
  ASSERT_EQ(pool.take(4900, &a), Status::ok);
  EXPECT_EQ(a.data(), data);
  EXPECT_EQ(pool.idle_bytes(), 0u);
}

TEST(Pool, RefusesWhatNoMachineHas) {
  Pool pool;
  Buffer b;
  EXPECT_EQ(pool.take(SIZE_MAX, &b), Status::out_of_memory);
  EXPECT_FALSE(b);
}

}  // namespace
}  // namespace stretto::payload
