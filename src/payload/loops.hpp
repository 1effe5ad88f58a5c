// The loops over many elements, compiled once for each instruction set that makes a difference; the processor's best is
// taken at run time. All give the same bits where the processor rounds to nearest, but for the choice between two NaN
// in a sum. In other modes some round all sums of float16 to nearest, others those below 2^-14 by the mode. A
// communicator's ranks on unlike processors may then differ.
#pragma once

#include <cstddef>
#include <cstdint>

#include "payload/element.hpp"

namespace stretto::payload {

using CombineLoop = void (*)(const void* left, const void* right, void* out, std::size_t count) noexcept;
using DivideLoop = void (*)(void* values, std::size_t count, std::uint32_t divisor) noexcept;

// Null where the operation is not defined on the type, and for user operations.
CombineLoop combine_loop(Op op, Type type) noexcept;
// The loop that divides sums, for types that have a mean.
DivideLoop divide_loop(Type type) noexcept;

// As Highway names the instruction set in use: "AVX2", say.
const char* loops_target() noexcept;

// Takes that of the given name, for tests; null: the best again. False: there is none of this name here.
bool choose_loops_target(const char* name) noexcept;

}  // namespace stretto::payload
