// Along the slower axes of an array of codes, in place and modulo 2^32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/shape/shape.hpp"

namespace stretto::codec::shaped {

using Axes = std::uint8_t;

inline constexpr int kMostDifferences = 2;

std::uint64_t stride(const Shape& shape, int axis) noexcept;

void take_differences(const Shape& shape, Axes axes, std::int32_t* q, const Parallel* parallel) noexcept;
void sum_differences(const Shape& shape, Axes axes, std::int32_t* q, const Parallel* parallel) noexcept;

// For the n places from `first` on.
void differences_at(const Shape& shape, Axes axes, const std::int32_t* q, std::uint64_t first, int n,
                    std::int32_t* d) noexcept;

}  // namespace stretto::codec::shaped
