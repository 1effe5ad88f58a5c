// Groups made of random words behind a plausible head: bases, slopes and widths that no encoder writes.
#pragma once

#include <array>
#include <bit>
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

}  // namespace stretto::codec
