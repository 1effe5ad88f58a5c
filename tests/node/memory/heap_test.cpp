#include "node/arena/heap.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace stretto::node::arena {
namespace {

constexpr std::uint32_t kUnits = 1000;

struct Fixture : testing::Test {
  std::vector<std::uint32_t> tables = std::vector<std::uint32_t>(Heap::tables_for(kUnits) / 4);
  Heap heap;
  void SetUp() override { heap.start(tables.data(), kUnits); }
};
using ArenaHeap = Fixture;

TEST_F(ArenaHeap, AllocatesAllMemoryAndThenNone) {
  EXPECT_EQ(heap.allocate(kUnits, 1), 0u);
  EXPECT_EQ(heap.allocate(1, 1), Heap::kNone);
  const auto run = heap.release(0);
  EXPECT_EQ(run.length, kUnits);
  EXPECT_EQ(heap.allocate(kUnits + 1, 1), Heap::kNone);
  EXPECT_EQ(heap.allocate(0, 1), Heap::kNone);
}

TEST_F(ArenaHeap, GrowsAndShrinksInPlaceWithRoom) {
  const auto a = heap.allocate(10, 1), b = heap.allocate(10, 1);
  EXPECT_FALSE(heap.grow(a, 11));
  EXPECT_TRUE(heap.grow(b, 20));
  EXPECT_EQ(heap.length(b), 20u);
  heap.shrink(a, 4);
  EXPECT_EQ(heap.length(a), 4u);
  EXPECT_TRUE(heap.grow(a, 10));
  EXPECT_FALSE(heap.grow(a, 11));
}

// Runs never overlap, are aligned as asked, and when all are given back the heap is one run again.
TEST_F(ArenaHeap, AnySequenceOfCallsKeepsRunsApart) {
  std::mt19937 random(7);
  std::map<std::uint32_t, std::uint32_t> live;
  for (int k = 0; k < 20000; ++k) {
    const auto choice = random() % 4;
    if (choice < 2 || live.empty()) {
      const std::uint32_t n = 1 + random() % 60, alignment = 1u << random() % 4;
      const auto at = heap.allocate(n, alignment);
      if (at == Heap::kNone) continue;
      ASSERT_EQ(at % alignment, 0u);
      const auto next = live.lower_bound(at);
      ASSERT_LE(at + n, next == live.end() ? kUnits : next->first);
      ASSERT_LE(next == live.begin() ? 0 : std::prev(next)->first + std::prev(next)->second, at);
      live[at] = n;
    } else {
      auto it = live.begin();
      std::advance(it, random() % live.size());
      if (choice == 2) {
        heap.release(it->first);
        live.erase(it);
      } else if (const std::uint32_t n = 1 + random() % 80; n < it->second) {
        heap.shrink(it->first, n);
        it->second = n;
      } else if (heap.grow(it->first, n)) {
        it->second = n;
        const auto next = std::next(it);
        ASSERT_LE(it->first + n, next == live.end() ? kUnits : next->first);
      }
    }
    for (const auto& [at, n] : live) ASSERT_TRUE(heap.used(at) && heap.length(at) == n);
  }
  for (const auto& [at, n] : live) heap.release(at);
  EXPECT_EQ(heap.allocate(kUnits, 1), 0u);
}

}  // namespace
}  // namespace stretto::node::arena
