// Fast writer of the exceptions section of a sum of two narrow groups. A group's numbers are so similar in magnitude
// that 256 bits, starting at the last bit of the grid's width, nearly always hold them. ExactSum, the reference, takes
// the others.
#pragma once

#include <cstdint>

#include "codec/stream/group.hpp"

namespace stretto::codec {

// An operand. `codes` are its codes as sums use them; not needed if both operands have the same exceptions.
struct ExceptionSummand {
  const GroupView& group;
  const std::int32_t* codes;
};

// Operands with one value each for all their exceptions, in 128 bits, two's complement, starting at word first_word of
// exact sums. A code's value is code * factor * 2^shift, 0 < shift < 64.
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

// A kernel for UniformSums: writes the sums of all places at p. Returns their end, or null as below.
using WriteUniformSums = std::uint8_t* (*)(const UniformSums& s, std::uint8_t* p, std::uint8_t* end);

// Writes the section for a + b or a - b; `lanes` are the exceptions of either operand, at least one. Returns its end.
// Null if [p, end) might be too short, which is checked with a margin before each sum or block of sums. `kernel` may be
// null.
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
