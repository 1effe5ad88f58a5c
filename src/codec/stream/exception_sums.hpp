// The exceptions section of a sum of two narrow groups, quickly. Numbers of a group lie so close together that 256
// bits, from the last bit of the grid's width on, nearly always hold them. Other numbers are left to ExactSum, whose
// bytes are the definition.
#pragma once

#include <cstdint>

#include "codec/stream/group.hpp"

namespace stretto::codec {

// One of the operands. Codes are those of its places as sums take them; not needed where all exceptions of the two stand in the same places.
struct ExceptionSummand {
  const GroupView& group;
  const std::int32_t* codes;
};

// Operands each of which has one value for all that it lacks: in 128 bits, two's complement, from a certain word of exact sums on. There
// code * factor * 2^shift is a code's value, 0 < shift < 64.
struct UniformSums {
  struct Missing {
    std::uint64_t low, high;
    std::uint32_t flags;
  } a, b;
  const std::uint32_t *lanes_a, *lanes_b;
  const std::int32_t *codes_a, *codes_b;
  bool negate_b;
  std::int32_t factor;
  unsigned shift;
  int first_word;
};

// A kernel for these: writes the sums of all places at p. Where they end; null as below.
using WriteUniformSums = std::uint8_t* (*)(const UniformSums& s, std::uint8_t* p, std::uint8_t* end);

// Writes the section for a + b or a - b, `lanes` being the places that are exceptions in either, of which there are some. Where it
// ends; null if [p, end) might be too short, which is judged before each sum or each block of them with room to spare. `kernel` may be null.
template <class T>
std::uint8_t* write_exception_sums(const ExceptionSummand& a, const ExceptionSummand& b, bool negate_b,
                                   const Lanes lanes, double width, std::uint8_t* p, std::uint8_t* end,
                                   WriteUniformSums kernel) noexcept;

extern template std::uint8_t* write_exception_sums<float>(const ExceptionSummand&, const ExceptionSummand&, bool,
                                                          const Lanes, double, std::uint8_t*, std::uint8_t*,
                                                          WriteUniformSums) noexcept;
extern template std::uint8_t* write_exception_sums<double>(const ExceptionSummand&, const ExceptionSummand&, bool,
                                                           const Lanes, double, std::uint8_t*, std::uint8_t*,
                                                           WriteUniformSums) noexcept;

}  // namespace stretto::codec
