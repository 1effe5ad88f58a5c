// Exceptions of the sum of two narrow groups, by sums of 256 bits where they suffice. ExactSum is the reference.
#pragma once

#include <cstdint>

#include "codec/stream/group.hpp"

namespace stretto::codec {

struct ExceptionSummand {
  const GroupView& group;
  const std::int32_t* codes;
};

// Operands with one value each for all exceptions, in 128 bits from word first_word of exact sums on. A code's value is
// code * factor * 2^shift, 0 < shift < 64.
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

// Returns the end of the sums, or null for lack of room.
using WriteUniformSums = std::uint8_t* (*)(const UniformSums& s, std::uint8_t* p, std::uint8_t* end);

// Writes the exceptions of a + b or a - b at `lanes`, the union of both, and returns the end. Null if [p, end) might be
// too short. `kernel` may be null.
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
