// Maps of exceptions as docs/format.md, section 3, has them.
#include "codec/stream/exception_map.hpp"

#include <algorithm>
#include <cstring>

#include "../support.hpp"

namespace stretto::codec {
namespace {

bool is_set(const Lanes lanes, int i) { return lanes[i / kBlock] >> (i % kBlock) & 1; }

// The map in plain words: runs if they take at most 255 bytes and no more words than lanes.
std::vector<std::uint8_t> wanted_map(const Lanes lanes, int m) {
  std::vector<std::uint8_t> runs;
  for (int i = 0, begin = 0; i < m; ++i) {
    if (is_set(lanes, i) == (i > 0 && is_set(lanes, i - 1))) continue;
    int length = i - begin;
    for (; length >= 255; length -= 255) runs.push_back(255);
    runs.push_back(static_cast<std::uint8_t>(length));
    begin = i;
  }
  std::uint32_t some = 0, all = 0;
  std::vector<std::uint32_t> words = {0, 0, 0};
  for (int b = 0; b < kBlocks; ++b) {
    if (lanes[b] == 0) continue;
    some |= 1u << b;
    if (lanes[b] == lanes_below(b, m))
      all |= 1u << b;
    else
      words.push_back(lanes[b]);
  }
  words[1] = some;
  words[2] = all;
  const std::size_t by_runs = (2 + runs.size() + 3) / 4 * 4;
  std::vector<std::uint8_t> map(4 * words.size());
  std::memcpy(map.data(), words.data(), map.size());
  if (runs.size() > 255 || by_runs > map.size()) return map;
  map.assign(by_runs, 0);
  map[0] = kRunsBit;
  map[1] = static_cast<std::uint8_t>(runs.size());
  std::copy(runs.begin(), runs.end(), map.begin() + 2);
  return map;
}

// The map of a group of m values that was read, as bytes of its own stream.
std::vector<std::uint8_t> copied(const std::vector<std::uint8_t>& read, const Lanes lanes, int m) {
  GroupView g;
  g.m = m;
  std::memcpy(g.lanes, lanes, sizeof g.lanes);
  g.runs = read.data();
  g.runs_bytes = read.size();
  std::vector<std::uint8_t> map(read.size());
  EXPECT_EQ(copy_exception_runs(g, map.data(), map.size() - 1), 0u);
  map.resize(copy_exception_runs(g, map.data(), map.size()));
  return map;
}

void expect_map(const Lanes lanes, int m) {
  if (std::all_of(lanes, lanes + kBlocks, [](std::uint32_t v) { return v == 0; })) return;
  const auto wanted = wanted_map(lanes, m);
  std::vector<std::uint8_t> map(wanted.size());  // no byte to spare
  ASSERT_EQ(write_exception_map(lanes, m, map.data(), map.size()), wanted.size()) << m;
  ASSERT_EQ(map, wanted) << m;
  EXPECT_EQ(write_exception_map(lanes, m, map.data(), map.size() - 1), 0u);
  std::uint8_t kind = 0;
  Lanes read = {};
  ASSERT_EQ(parse_exception_map(map.data(), map.size(), m, &kind, read), map.size()) << m;
  EXPECT_EQ(kind & ~kRunsBit, 0);
  EXPECT_EQ(std::memcmp(read, lanes, sizeof read), 0) << m;
  if (kind & kRunsBit) {
    EXPECT_EQ(copied(map, lanes, m), wanted);
  }
}

TEST(ExceptionMap, IsTheSmallerOfRunsAndLanesAndReadsBack) {
  Random r(95);
  for (const int m : {1, 2, 31, 32, 33, 63, 64, 65, 254, 255, 256, 257, 700, 1000, 1022, 1023, 1024})
    for (int trial = 0; trial < 400; ++trial) {
      // Runs of lengths about one size, from single places to most of the group.
      const std::uint64_t mean = std::uint64_t{1} << r.below(11);
      Lanes lanes = {};
      bool inside = r.below(2) != 0;
      for (int i = 0; i < m; ++i) {
        if (r.below(mean) == 0) inside = !inside;
        if (inside) lanes[i / kBlock] |= 1u << (i % kBlock);
      }
      ASSERT_NO_FATAL_FAILURE(expect_map(lanes, m)) << trial;
    }
}

TEST(ExceptionMap, TakesRunsAboutTheLengthsThatFillAByte) {
  for (const int m : {766, 1023, 1024})
    for (const int begin : {0, 1, 254, 255, 256, 509, 510, 511, 765})
      for (const int length : {1, 254, 255, 256, 509, 510, 511, 765, 1024}) {
        Lanes lanes = {};
        for (int i = begin; i < std::min(begin + length, m); ++i) lanes[i / kBlock] |= 1u << (i % kBlock);
        ASSERT_NO_FATAL_FAILURE(expect_map(lanes, m)) << begin << ", " << length;
      }
}

// Single places in nearly all blocks, whose lanes take 128 bytes and more: the largest number for which runs are no
// longer, and one more. Also more runs than a map can count.
TEST(ExceptionMap, TakesRunsWhereTheyAreNoLongerThanLanes) {
  for (const int changes : {130, 134, 135, 136, 137, 138, 139, 140, 144, 252, 253, 254, 255, 256, 257, 258})
    for (const int begin : {0, 1})
      for (const int step : {1, 2, 3, 4, 14}) {
        Lanes lanes = {};
        for (int k = 0; k < changes / 2 && begin + step * k < kGroup; ++k)
          lanes[(begin + step * k) / kBlock] |= 1u << ((begin + step * k) % kBlock);
        if (changes % 2)
          for (int i = 900; i < kGroup; ++i) lanes[i / kBlock] |= 1u << (i % kBlock);
        ASSERT_NO_FATAL_FAILURE(expect_map(lanes, kGroup)) << changes << ", " << begin << ", " << step;
      }
}

// Any bytes: an error, or places below m that a map may name, whose canonical map says the same.
TEST(ExceptionMap, OfAnyBytesIsRefusedOrNamesPlacesOfTheGroup) {
  Random r(96);
  int taken = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const int m = static_cast<int>(1 + r.below(kGroup));
    std::vector<std::uint8_t> bytes(4 + r.below(80));
    for (auto& b : bytes) b = static_cast<std::uint8_t>(r.below(4) ? r.below(20) : r.bits());
    bytes[0] = kRunsBit;
    bytes[1] = static_cast<std::uint8_t>(r.below(bytes.size()));
    for (std::size_t i = 2 + bytes[1]; i < bytes.size(); ++i) bytes[i] = 0;
    std::uint8_t kind = 0;
    Lanes lanes = {};
    const std::size_t n = parse_exception_map(bytes.data(), bytes.size(), m, &kind, lanes);
    if (n == 0) continue;
    ++taken;
    ASSERT_LE(n, bytes.size());
    bool any = false;
    for (int b = 0; b < kBlocks; ++b) {
      ASSERT_EQ(lanes[b] & ~lanes_below(b, m), 0u);
      any = any || lanes[b] != 0;
    }
    ASSERT_TRUE(any);
    const auto canonical = wanted_map(lanes, m);
    bytes.resize(n);
    if (canonical[0] & kRunsBit) {
      ASSERT_EQ(bytes, canonical);
    } else {
      ASSERT_TRUE(copied(bytes, lanes, m).empty());  // runs that are longer than lanes
    }
  }
  EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace stretto::codec
