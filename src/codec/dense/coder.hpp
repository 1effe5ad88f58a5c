// The entropy stage, from residuals in planes to classes, low bits and states, and back. coder.cpp is the kernels'
// reference.
#pragma once

#include "codec/dense/bits.hpp"
#include "codec/dense/tables.hpp"

namespace stretto::codec::dense {

// Blocks of width 0 have no classes.
struct Widths {
  std::uint8_t of[kBlocks];
  std::uint8_t widest;
};

// The 32 states of a set in halves of 16 bits, the upper one below 2^12.
struct States {
  alignas(64) std::uint16_t low[kMaxSets][kLanes];
  alignas(64) std::uint16_t high[kMaxSets][kLanes];
};
void start(States* states) noexcept;
bool ended(const States& states, int sets) noexcept;
void write_states(const States& states, int sets, std::uint8_t* out) noexcept;
bool read_states(const std::uint8_t* p, int sets, States* states) noexcept;

// Bytes behind their output that functions and kernels may touch.
inline constexpr std::size_t kCoderSlack = 128;
// For a group, without states: a word a lane and step.
inline constexpr std::size_t kMostWordBytes = (kBlocks + 1) * std::size_t{kLanes} * 2;

// Counts widths and classes of a group; writes low bits to `low`, and a byte for each value's class to `classes`.
// counts->widest >= widths.widest > 0.
void scan(const std::uint8_t* planes, const Widths& widths, bool is_unsigned, std::uint8_t* classes, Counts* counts,
          BitWriter* low) noexcept;

// The last group first. Returns the end of the output.
std::uint8_t* encode(const Widths* groups, int n, const std::uint8_t* classes, const Tables& tables, int sets,
                     States* states, std::uint8_t* out) noexcept;

// Nothing outside [begin, end) is read.
struct Decoder {
  States states;
  const Tables* tables;
  int sets;
  const std::uint8_t *begin, *end;
  const std::uint8_t *words, *floor;  // words not yet taken are in [floor, words)
  const std::uint8_t* low;
  std::uint64_t bit, bits;
};

// Widths and planes of the next group, into room for kMostPlaneBytes. Returns the planes' bytes, or kMalformed.
// `widest` is in 1..kMaxWidth.
inline constexpr std::size_t kMalformed = ~std::size_t{0};
inline constexpr std::size_t kMostPlaneBytes = kBlocks * std::size_t{kMaxWidth} * 4 + 64;
std::size_t decode(Decoder* d, int widest, bool is_unsigned, std::uint8_t* planes, std::uint8_t* widths) noexcept;

void scan_block(const std::uint8_t* planes, int width, bool is_unsigned, std::uint8_t* classes, Counts* counts,
                BitWriter* low) noexcept;
std::uint8_t* encode_step(const Table& table, const std::uint8_t* symbols, int set, States* states,
                          std::uint8_t* out) noexcept;
bool decode_step(Decoder* d, const Table& table, int last, int set, std::uint8_t* symbols) noexcept;
bool read_block(Decoder* d, const std::uint8_t* classes, int width, bool is_unsigned, std::uint8_t* planes) noexcept;

}  // namespace stretto::codec::dense
