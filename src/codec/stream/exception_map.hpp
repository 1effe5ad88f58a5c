// docs/format.md, section 3.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "codec/stream/group.hpp"

namespace stretto::codec {

constexpr std::uint32_t lanes_below(int b, int m) noexcept {
  const int n = m - kBlock * b;
  return n >= kBlock ? ~0u : n <= 0 ? 0u : (1u << n) - 1;
}

constexpr bool is_exception_kind(std::uint8_t kind) noexcept {
  return kind <= 15 && (!(kind & kQuietNanBit) || (kind & (kUniformBit | kSumsBit)) == kUniformBit);
}

// 0 if malformed.
std::size_t parse_exception_map(const std::uint8_t* p, std::size_t left, int m, std::uint8_t* kind,
                                Lanes lanes) noexcept;

// `kind` gets its runs bit only. Bytes written; 0 if they do not fit.
std::size_t write_exception_map(const Lanes lanes, int m, std::uint8_t* out, std::size_t room) noexcept;

// 0 unless write_exception_map() would write these bytes and they fit.
std::size_t copy_exception_runs(const GroupView& from, std::uint8_t* out, std::size_t room) noexcept;

// Precondition: an exception exists.
inline int first_exception(const Lanes lanes) noexcept {
  int b = 0;
  while (lanes[b] == 0) ++b;
  return kBlock * b + std::countr_zero(lanes[b]);
}

// At least one exception; all have equal bits.
template <class T>
bool all_alike(const T* x, const Lanes lanes) noexcept {
  using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const auto bits = [x](int i) {
    U v;
    std::memcpy(&v, x + i, sizeof v);
    return v;
  };
  const U first = bits(first_exception(lanes));
  U others = 0;
  for (int b = 0; b < kBlocks; ++b) {
    if (lanes[b] == ~0u) {
      for (int i = kBlock * b; i < kBlock * (b + 1); ++i) others |= bits(i) ^ first;
    } else {
      for (std::uint32_t left = lanes[b]; left; left &= left - 1)
        others |= bits(kBlock * b + std::countr_zero(left)) ^ first;
    }
  }
  return others == 0;
}

// `size` is 4 or 8.
const std::uint8_t* quiet_nan_bytes(std::size_t size) noexcept;

}  // namespace stretto::codec
