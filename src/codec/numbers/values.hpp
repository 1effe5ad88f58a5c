#pragma once

#include "codec/numbers/half.hpp"
#include "codec/stream/format.hpp"

namespace stretto::codec {

template <class F>
auto with_stored_type(Type t, F f) {
  switch (t) {
    case Type::f32:
    case Type::f16:
    case Type::bf16: break;
    case Type::f64: return f(static_cast<double*>(nullptr));
    case Type::i32: return f(static_cast<std::int32_t*>(nullptr));
    case Type::i64: return f(static_cast<std::int64_t*>(nullptr));
  }
  return f(static_cast<float*>(nullptr));
}

template <class T>
const T* group_values(Type t, const void* x, std::uint64_t first, int m, T* buffer) noexcept {
  if constexpr (sizeof(T) == 4) {
    if (t == Type::f16 || t == Type::bf16) {
      const auto* h = static_cast<const std::uint16_t*>(x) + first;
      for (int i = 0; i < m; ++i) {
        const std::uint16_t bits = element(h, i);
        buffer[i] = static_cast<T>(t == Type::f16 ? widen_f16(bits) : widen_bf16(bits));
      }
      return buffer;
    }
  }
  return static_cast<const T*>(x) + first;
}

template <class T>
void put_values(Type t, const T* v, void* y, std::uint64_t first, std::size_t n) noexcept {
  if constexpr (sizeof(T) == 4) {
    if (t == Type::f16 || t == Type::bf16) {
      auto* h = static_cast<std::uint16_t*>(y) + first;
      for (std::size_t i = 0; i < n; ++i)
        set_element(h, i, t == Type::f16 ? round_f16(static_cast<float>(v[i])) : round_bf16(static_cast<float>(v[i])));
      return;
    }
  }
  std::memcpy(static_cast<std::uint8_t*>(y) + first * sizeof(T), v, n * sizeof(T));
}

}  // namespace stretto::codec
