// Made by integer arithmetic, so that every encoder gets equal tables.
#pragma once

#include "codec/dense/layout.hpp"

namespace stretto::codec::dense {

// Frequencies of symbols 0..n, kOne together. Symbols beyond have frequency 0 and start at kOne.
struct Table {
  alignas(64) std::uint16_t frequency[96];
  alignas(64) std::uint16_t start[96];  // sum of the frequencies before
  alignas(64) std::uint32_t threshold[32];
  // Division by the first 32 frequencies: f 2^shift has 16 bits; reciprocal = floor((2^32 - 1) / (f 2^shift)) - 2^16.
  // `places`: bits 0-3 the shift, above them start.
  alignas(64) std::uint16_t reciprocal[32], places[32];
  // Division of states below 2^31: x / f = (x inverse >> 32) >> s. `parts`: bits 0-12 an addend of the state, bits
  // 13-25 f, above them s. For f = 1 the quotient is one too small, and the addend corrects the state.
  alignas(64) std::uint32_t inverse[32], parts[32];
};

struct Tables {
  int widest = 0;
  std::uint64_t have_widths = 0;
  std::uint64_t have_classes = 0;
  Table widths[kMaxWidth + 1];  // by the largest width of their group
  Table classes[kMaxWidth + 1];
};

struct Counts {
  std::uint32_t widths[kMaxWidth + 1][kMaxWidth + 1];
  // [w][k]: values of class k + 1 or more in blocks of width w, as sums of two parts, to which a kernel adds in turns,
  // so that a block waits for no sum.
  alignas(64) std::uint32_t at_least[2][kMaxWidth + 1][kMaxWidth];
  std::uint32_t blocks[kMaxWidth + 1];
  int widest = kMaxWidth;  // rows beyond it are 0
  void clear() noexcept;
};

void make_tables(const Counts& counts, Tables* tables) noexcept;

// Bytes written, at most kMaxTableBytes.
inline constexpr std::size_t kMaxTableBytes = 2 * kMaxWidth * (kMaxWidth + 1) * 2 + 32;
std::size_t write_tables(const Tables& tables, std::uint8_t* out) noexcept;

// Bytes read, 0 if malformed.
std::size_t read_tables(const std::uint8_t* p, const std::uint8_t* end, Tables* tables) noexcept;

}  // namespace stretto::codec::dense
