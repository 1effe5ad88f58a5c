// Tables of frequencies: from counts, to bits and back. Integers only, so that every encoder gets the same ones.
#pragma once

#include "codec/dense/layout.hpp"

namespace stretto::codec::dense {

// Frequencies of the symbols 0..n, which add up to kOne. Symbols beyond have frequency 0 and start at kOne.
struct Table {
  alignas(64) std::uint16_t frequency[96];
  alignas(64) std::uint16_t start[96];      // sum of the frequencies before
  alignas(64) std::uint32_t threshold[32];  // of the first 32 symbols, start twice
  // Division by the first 32 frequencies: f times 2^shift has 16 bits; reciprocal = floor((2^32 - 1) / (f 2^shift)) - 2^16. The shift is in the four
  // lowest bits of `places`, and start above.
  alignas(64) std::uint16_t reciprocal[32], places[32];
  // The same in another form, for states below 2^31: x / f = (x inverse >> 32) >> s. Of a part bits 0-12 are what is added to a state, bits 13-25
  // are f, and the others s. With f = 1 the quotient is one too small, which what is added makes up for.
  alignas(64) std::uint32_t inverse[32], parts[32];
};

struct Tables {
  int widest = 0;                  // no width exceeds it
  std::uint64_t have_widths = 0;   // bit w - 1: widths[w] is there
  std::uint64_t have_classes = 0;  // bit w - 1: classes[w] is there
  Table widths[kMaxWidth + 1];     // of the widths of blocks, by their group's largest one
  Table classes[kMaxWidth + 1];    // of the classes of values, by their block's width
};

// Counts of a chunk.
struct Counts {
  std::uint32_t widths[kMaxWidth + 1][kMaxWidth + 1];  // by the group's largest width
  alignas(64)
      std::uint32_t at_least[kMaxWidth + 1][kMaxWidth];  // [w][k]: values of class k + 1 or more in blocks of width w
  std::uint32_t blocks[kMaxWidth + 1];                   // of width w
  int widest = kMaxWidth;                                // rows beyond it are 0
  // Sets the rows up to `widest`, then all, to 0.
  void clear() noexcept;
};

// The tables of these counts.
void make_tables(const Counts& counts, Tables* tables) noexcept;

// Bytes written at out, at most kMaxTableBytes.
inline constexpr std::size_t kMaxTableBytes = 2 * kMaxWidth * (kMaxWidth + 1) * 2 + 32;
std::size_t write_tables(const Tables& tables, std::uint8_t* out) noexcept;

// Bytes read, 0 if [p, end) does not begin with tables.
std::size_t read_tables(const std::uint8_t* p, const std::uint8_t* end, Tables* tables) noexcept;

}  // namespace stretto::codec::dense
