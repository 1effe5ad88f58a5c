// Groups with bases, slopes and widths that no encoder writes, made word by word.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "codec/stream/format.hpp"
#include "codec/stream/group.hpp"

namespace stretto::codec {

// The words of a full narrow group without exceptions; no block is wider than `widest`, at most 32 (31 without sign).
inline std::vector<std::uint32_t> hand_made_group(std::mt19937_64& random, int widest) {
  std::vector<std::uint32_t> words;
  const auto predictor = static_cast<std::uint32_t>(random() % 4);
  const bool is_short = predictor >= 2 && random() % 2;
  words.push_back(predictor | (is_short ? kShortBaseBit | static_cast<std::uint32_t>(random()) << 8 : 0) | 2u << 4);
  const auto number = [&] { return static_cast<std::uint32_t>(random() >> random() % 33); };
  if (predictor >= 2 && !is_short) words.push_back(number());
  if (predictor == 3) words.push_back(number());
  std::uint8_t width[kBlocks];
  for (auto& w : width) {
    w = static_cast<std::uint8_t>(random() % static_cast<unsigned>(widest + 1));
    for (int i = 0; i < w; ++i) words.push_back(number());
  }
  for (int i = 0; i < kBlocks; i += 4)
    words.push_back(std::bit_cast<std::uint32_t>(std::array{width[i], width[i + 1], width[i + 2], width[i + 3]}));
  return words;
}

// A stream of full groups, each of a GroupSpec `spec` and codes `q`. Its header tells the truth about the codes.
template <class Group>
std::vector<std::byte> hand_made_stream(Type type, double width, const std::vector<Group>& groups) {
  static constexpr Lanes kNone = {};
  constexpr std::size_t kRoom = 4 * (2 * kGroup + 64);
  const Layout layout(groups.size() * kGroup);
  std::vector<std::byte> s(layout.body + groups.size() * kRoom);
  auto* const base = reinterpret_cast<std::uint8_t*>(s.data());
  std::uint8_t* p = base + layout.body;
  Info info;
  info.type = type;
  info.count = layout.count;
  info.eps = 1;
  info.width = width;
  info.contributions = 1;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (g % kChunk == 0) store(base + kHeaderBytes + g / kChunk * 8, static_cast<std::uint64_t>(p - base));
    const std::size_t words = write_group(groups[g].spec, groups[g].q, kNone, {}, p, kRoom);
    store(base + layout.lengths + 2 * g, static_cast<std::uint16_t>(words));
    p += 4 * words;
    for (const std::int64_t q : groups[g].q)
      info.code_bound = std::max(info.code_bound, static_cast<std::uint64_t>(q < 0 ? -q : q));
  }
  s.resize(static_cast<std::size_t>(p - base));
  info.bytes = s.size();
  write_header(base, info);
  return s;
}

// A float64 stream of `groups` groups, all codes zero, bound 2^31 - 2, on compress()'s grid for eps 1. The first group
// has the maximum of 65,535 words: 960 exact sums behind 64 codes, and a base far from the first of these, which costs
// 31 planes. Later groups are empty.
inline std::vector<std::byte> longest_group(std::size_t groups) {
  constexpr std::size_t kSums = 960, kOthers = 36, kLonger = kMaxGroupWords - kOthers - 68 * kSums;
  std::vector<std::uint32_t> words = {0xc2, 1u << 30, 0x00400106};  // first differences; base; a run of 64
  for (std::size_t i = 0; i < kSums; ++i) {
    const std::uint32_t n = i < kLonger ? 68 : 67;
    words.push_back(n);
    words.push_back(1);
    words.insert(words.end(), n - 2, 0);
    words.push_back(1);
  }
  words.insert(words.end(), 30, 0);  // the planes of -2^30
  words.insert(words.end(), {1, 31, 1});
  const Layout layout(groups * kGroup);
  std::vector<std::byte> s(layout.body + 4 * words.size());
  auto* const base = reinterpret_cast<std::uint8_t*>(s.data());
  std::memcpy(base + layout.body, words.data(), 4 * words.size());
  for (std::uint64_t g = 0; g < groups; g += kChunk)
    store(base + kHeaderBytes + 8 * (g / kChunk), std::uint64_t{g == 0 ? layout.body : s.size()});
  store(base + layout.lengths, static_cast<std::uint16_t>(words.size()));
  Info info;
  info.type = Type::f64;
  info.count = layout.count;
  info.eps = 1;
  info.width = 0x1.ffp0;
  info.contributions = 1;
  info.code_bound = kNarrowLimit - 1;
  info.exceptions = kSums;
  info.bytes = s.size();
  write_header(base, info);
  return s;
}

}  // namespace stretto::codec
