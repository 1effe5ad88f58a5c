// The exceptions section of a sum of two narrow groups, quickly: numbers of one group lie so close together that 256 bits, from the last one
// of the grid's width on, nearly always hold them. What these do not hold takes the long way through ExactSum, whose bytes are the definition.
#pragma once

#include <cstdint>

#include "codec/group.hpp"

namespace stretto::codec {

// One of the operands. Codes are those of its places as sums take them; not needed where all exceptions of the two stand in the same places.
struct ExceptionSummand {
  const GroupView& group;
  const std::int32_t* codes;
};

// Writes the section for a + b or a - b, `lanes` being the places that are exceptions in either, of which there are some. Where it
// ends; null if [p, end) might be too short, which is judged before each sum or each block of them with room to spare.
template <class T>
std::uint8_t* write_exception_sums(const ExceptionSummand& a, const ExceptionSummand& b, bool negate_b,
                                   const Lanes lanes, double width, std::uint8_t* p, std::uint8_t* end) noexcept;

extern template std::uint8_t* write_exception_sums<float>(const ExceptionSummand&, const ExceptionSummand&, bool,
                                                          const Lanes, double, std::uint8_t*, std::uint8_t*) noexcept;
extern template std::uint8_t* write_exception_sums<double>(const ExceptionSummand&, const ExceptionSummand&, bool,
                                                           const Lanes, double, std::uint8_t*, std::uint8_t*) noexcept;

}  // namespace stretto::codec
