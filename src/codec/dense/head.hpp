// All of a group in a dense chunk but widths and planes.
#pragma once

#include "codec/dense/coder.hpp"
#include "codec/stream/group.hpp"

namespace stretto::codec::dense {

inline constexpr std::size_t kMostHeadBytes = kMaxGroupBytes + 40;

struct Parts {
  Predictor predictor{};
  bool wide = false, verbatim = false;
  std::int64_t base = 0, slope = 0;
  const std::uint8_t* exceptions = nullptr;
  std::size_t exceptions_bytes = 0;
  const std::uint8_t* planes = nullptr;
  Widths widths{};
};
bool take_apart(const std::uint8_t* p, std::size_t words, int m, Type type, Parts* parts) noexcept;

std::uint8_t* write_head(const Parts& parts, std::int64_t* base, std::uint8_t* out) noexcept;

// Null: [p, end) holds no head.
const std::uint8_t* read_head(const std::uint8_t* p, const std::uint8_t* end, int m, Type type, std::int64_t* base,
                              Parts* parts) noexcept;

// Writes the fixed form up to its planes. Room: kMaxGroupBytes + 40.
std::uint8_t* begin_group(const Parts& parts, std::uint8_t* out) noexcept;

// Appends the widths at p, and completes word 0. Returns the words.
std::size_t end_group(const Parts& parts, const std::uint8_t* widths, std::uint8_t* out, std::uint8_t* p) noexcept;

}  // namespace stretto::codec::dense
