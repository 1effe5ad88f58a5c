#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "payload/element.hpp"

namespace stretto::payload {

// out[i] = left[i] (op) right[i]; op neither user nor difference. out may be left or right, or apart from both. Integer
// sums and products wrap. Floating-point min and max are NaN if an operand is. They and sums commute to the last bit,
// except the choice between two NaN in a sum.
Status combine_values(Op op, Type type, const void* left, const void* right, void* out, std::size_t count) noexcept;

// in may be out. Unsigned types wrap.
Status negate_values(Type type, const void* in, void* out, std::size_t count) noexcept;

// Float32 to bfloat16, to nearest even, and back. Overflow gives an infinity, NaN stays NaN, whatever the caller's
// float environment. Any alignment serves.
void narrow_values(const void* x, void* halves, std::size_t count) noexcept;
void widen_values(const void* halves, void* x, std::size_t count) noexcept;

// In place, as narrow_values() and widen_values().
void round_to_bfloat16(void* x, std::size_t count) noexcept;

// Floating point only.
Status divide_values(Type type, void* y, std::size_t count, std::uint32_t divisor) noexcept;

}  // namespace stretto::payload
