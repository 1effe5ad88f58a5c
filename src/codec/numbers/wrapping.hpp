// Arithmetic modulo 2^n: codes of damaged streams may leave their type.
#pragma once

#include <concepts>
#include <type_traits>

namespace stretto::codec {

template <std::signed_integral T>
constexpr T wrapping_sum(T u, T v) noexcept {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(u) + static_cast<U>(v));
}

template <std::signed_integral T>
constexpr T wrapping_difference(T u, T v) noexcept {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(u) - static_cast<U>(v));
}

}  // namespace stretto::codec
