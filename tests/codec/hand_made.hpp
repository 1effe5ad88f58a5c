// Groups with bases, slopes and widths that no encoder writes, made word by word.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "codec/format.hpp"

namespace stretto::codec {

// The words of a full narrow group without exceptions; no block is wider than `widest`, at most 32. (32 is too much without sign.)
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

// A float64 stream of `groups` groups, all codes zero, bound 2^31 - 2, on the grid that compress() has for eps 1. The first one has 65,535 words, as many as there may be: 960
// exact sums behind 64 codes, and a base far from the first of these, which costs 31 planes. Groups behind it are empty.
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
