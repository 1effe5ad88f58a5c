#pragma once

#include "codec/shape/differences.hpp"

namespace stretto::codec::shaped {

inline constexpr std::uint8_t kVersion = 3;
inline constexpr std::uint8_t kOneValueBit = 1;  // of the form
inline constexpr std::uint64_t kMostCode = std::uint64_t{1} << 31;

constexpr std::size_t shape_bytes(int axes) noexcept { return 8 + 8 * static_cast<std::size_t>(axes); }

struct View {
  Info info;
  Shape shape;
  Axes code_axes = 0, map_axes = 0;
  bool one_value = false;
  Bytes codes, map;  // streams; no map without exceptions
  const std::uint8_t* values = nullptr;
};

// Checks the header alone.
bool is_shaped(Bytes in) noexcept;

Status open(Bytes in, View* view) noexcept;

// Contracts: codec.hpp.
Status decompress_slice(Bytes in, std::uint64_t first, std::size_t n, void* y, const Options& options,
                        std::uint32_t divisor) noexcept;
Status validate(Bytes in) noexcept;

}  // namespace stretto::codec::shaped
