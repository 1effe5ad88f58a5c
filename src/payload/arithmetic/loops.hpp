// Compiled per instruction set. All give equal bits with rounding to nearest, except the choice between two NaN in a
// sum. In other modes some round all float16 sums to nearest, others those below 2^-14 by the mode: ranks on unlike
// processors may differ.
#pragma once

#include <cstddef>
#include <cstdint>

#include "payload/element.hpp"

namespace stretto::payload {

using CombineLoop = void (*)(const void* left, const void* right, void* out, std::size_t count) noexcept;
using DivideLoop = void (*)(void* values, std::size_t count, std::uint32_t divisor) noexcept;

using ConvertLoop = void (*)(const void* from, void* to, std::size_t count) noexcept;

// Null: undefined, or a user operation.
CombineLoop combine_loop(Op op, Type type) noexcept;
DivideLoop divide_loop(Type type) noexcept;
ConvertLoop narrow_loop() noexcept;  // float32 to bfloat16
ConvertLoop widen_loop() noexcept;

const char* loops_target() noexcept;

// For tests; null: the best. False: unknown name.
bool choose_loops_target(const char* name) noexcept;

}  // namespace stretto::payload
