// One group: parsing it, its codes, and writing it (docs/format.md, section 3). Scalar; the definition that the fast
// kernels are compared with.
#pragma once

#include <cstdint>

#include "codec/stream/format.hpp"

namespace stretto::codec {

using Codes = std::int64_t[kGroup];
using Lanes = std::uint32_t[kBlocks];  // bit j of word b: place 32 b + j is an exception

// A group's parts, checked: everything lies inside [begin, begin + 4 words).
struct GroupView {
  int m = 0;  // values
  Predictor predictor = Predictor::none_unsigned;
  bool wide = false;
  bool verbatim = false;    // form 7
  bool exceptions = false;  // of any kind; set for verbatim groups too
  bool uniform = false;
  bool sums = false;
  std::int64_t base = 0, slope = 0;
  std::uint8_t width[kBlocks] = {};
  const std::uint8_t* planes = nullptr;
  const std::uint8_t* values = nullptr;  // of the exceptions
  std::size_t values_bytes = 0;
  Lanes lanes = {};
  int exception_count = 0;
  const std::uint8_t* runs = nullptr;  // the map, if it is one of runs: kind, n and all
  std::size_t runs_bytes = 0;
  bool exception(int i) const noexcept { return lanes[i / kBlock] >> (i % kBlock) & 1; }
};

// False if the words are no group of m values of this type. `like`, if any: a group of as many values that often has the same places for exceptions.
bool parse_group(const std::uint8_t* p, std::size_t words, int m, Type type, GroupView* g,
                 const GroupView* like = nullptr) noexcept;

// Residuals e_0..e_1023 of the group as stored (sign extended), modulo 2^32 or 2^64.
void read_residuals(const GroupView& g, Codes e) noexcept;

// Codes of all m places (those of exceptions are their fill), 0 beyond.
void read_codes(const GroupView& g, Codes q) noexcept;

// Gives every exception its fill.
void fill_codes(const Lanes lanes, int m, Codes q) noexcept;

// The order of prediction (0, 1, 2) that the format prescribes for these codes.
int choose_order(const Codes q, int m, bool wide) noexcept;
Predictor choose_predictor(const Codes q, int m, bool wide) noexcept;

// Base and slope that the format prescribes for a fresh group.
void fresh_base(const Codes q, int m, Predictor p, bool wide, std::int64_t* base, std::int64_t* slope) noexcept;

// Writes `v` to places that are exceptions, in order; the encoder asks for them one by one.
struct ExceptionSource {
  // Writes the value of place i to out (at most `room` bytes); bytes written, 0 if it does not fit.
  std::size_t (*write)(void* self, int i, std::uint8_t* out, std::size_t room) = nullptr;
  void* self = nullptr;
  bool uniform = false;  // known beforehand: all places have the first one's value
};

struct GroupSpec {
  int m = 0;
  Predictor predictor{};
  bool wide = false;
  bool sums = false;
  std::int64_t base = 0, slope = 0;
};

// Writes the widths of a group as they stand at its end, in the form that the format prescribes. Bytes written; kMostWidthBytes may be touched.
inline constexpr std::size_t kMostWidthBytes = 36;
std::size_t write_widths(const std::uint8_t* width, std::uint8_t* out, Form* form) noexcept;

// Words written, 0 for an all-zero group; kNoRoom if it does not fit in `room` bytes or in 65,535 words.
inline constexpr std::size_t kNoRoom = ~std::size_t{0};
std::size_t write_group(const GroupSpec& spec, const Codes q, const Lanes lanes, const ExceptionSource& source,
                        std::uint8_t* out, std::size_t room) noexcept;

}  // namespace stretto::codec
