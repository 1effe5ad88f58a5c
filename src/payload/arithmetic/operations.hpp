#pragma once

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "payload/arithmetic/half.hpp"
#include "payload/element_kinds.hpp"

namespace stretto::payload {

template <class T>
struct Located {
  T value;
  std::int32_t index;
};

template <class T>
concept Integer = std::integral<T>;
template <class T>
concept Half = std::same_as<T, F16> || std::same_as<T, BF16>;
template <class T>
concept Real = std::floating_point<T>;
template <class T>
concept Complex = std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;
template <class T>
concept Pair = requires(T t) {
  t.value;
  t.index;
};

constexpr F16 narrow(float x, F16) noexcept { return narrow_f16(x); }
constexpr BF16 narrow(float x, BF16) noexcept { return narrow_bf16(x); }

// Ties and NaN resolve on their bits, symmetrically: -0 is below +0.
template <bool greater, Real T>
constexpr T extreme(T a, T b) noexcept {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Bits x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  const Bits tie = greater && a == b ? (x & y) : (x | y);
  const bool first = greater ? a > b : a < b;
  const bool second = greater ? b > a : b < a;
  return std::bit_cast<T>(first ? x : second ? y : tie);
}

// `apply` exists for types that have the operation.
struct Sum {
  template <Integer T>
  static constexpr T apply(T a, T b) noexcept {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  }
  template <class T>
  requires Real<T> || Complex<T>
  static constexpr T apply(T a, T b) noexcept { return a + b; }
  template <Half T>
  static constexpr T apply(T a, T b) noexcept {
    return narrow(widen(a) + widen(b), T{});
  }
};

struct Prod {
  template <Integer T>
  static constexpr T apply(T a, T b) noexcept {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
  template <Real T>
  static constexpr T apply(T a, T b) noexcept {
    return a * b;
  }
  template <Complex T>
  static constexpr T apply(T a, T b) noexcept {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
  template <Half T>
  static constexpr T apply(T a, T b) noexcept {
    return narrow(widen(a) * widen(b), T{});
  }
};

template <bool greater>
struct Extreme {
  template <Integer T>
  static constexpr T apply(T a, T b) noexcept {
    return (greater ? a > b : a < b) ? a : b;
  }
  template <Real T>
  static constexpr T apply(T a, T b) noexcept {
    return extreme<greater>(a, b);
  }
  template <Half T>
  static constexpr T apply(T a, T b) noexcept {
    return narrow(extreme<greater>(widen(a), widen(b)), T{});
  }
};

template <bool greater>
struct ExtremeAt {
  template <Pair T>
  static constexpr T apply(T a, T b) noexcept {
    if (greater ? a.value > b.value : a.value < b.value) return a;
    if (greater ? b.value > a.value : b.value < a.value) return b;
    return a.index <= b.index ? a : b;
  }
};

struct LogicalAnd {
  template <Integer T>
  static constexpr T apply(T a, T b) noexcept {
    return static_cast<T>((a != 0) & (b != 0));
  }
};
struct LogicalOr {
  template <Integer T>
  static constexpr T apply(T a, T b) noexcept {
    return static_cast<T>((a != 0) | (b != 0));
  }
};
struct LogicalXor {
  template <Integer T>
  static constexpr T apply(T a, T b) noexcept {
    return static_cast<T>((a != 0) != (b != 0));
  }
};
struct BitAnd {
  template <Integer T>
  static constexpr T apply(T a, T b) noexcept {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <Integer T>
  static constexpr T apply(T a, T b) noexcept {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <Integer T>
  static constexpr T apply(T a, T b) noexcept {
    return static_cast<T>(a ^ b);
  }
};

template <class O, class T>
concept Defined = requires(T t) {
  O::apply(t, t);
};

template <class T>
concept Signable = Integer<T> || Real<T> || Complex<T> || Half<T>;

template <Signable T>
constexpr T negated(T x) noexcept {
  if constexpr (Integer<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(U{0} - static_cast<U>(x)));
  } else if constexpr (Half<T>) {
    return {static_cast<std::uint16_t>(x.bits ^ 0x8000u)};
  } else {
    return -x;
  }
}

template <class T>
requires Real<T> || Half<T>
constexpr T divided(T x, std::uint32_t divisor) noexcept {
  if constexpr (Half<T>)
    return narrow(widen(x) / static_cast<float>(divisor), T{});
  else
    return x / static_cast<T>(divisor);
}

template <class F>
auto with_type(Type type, F f) {
  switch (type) {
    case Type::i8: return f.template operator()<std::int8_t>();
    case Type::i16: return f.template operator()<std::int16_t>();
    case Type::i32: return f.template operator()<std::int32_t>();
    case Type::i64: return f.template operator()<std::int64_t>();
    case Type::u8: return f.template operator()<std::uint8_t>();
    case Type::u16: return f.template operator()<std::uint16_t>();
    case Type::u32: return f.template operator()<std::uint32_t>();
    case Type::u64: return f.template operator()<std::uint64_t>();
    case Type::f16: return f.template operator()<F16>();
    case Type::bf16: return f.template operator()<BF16>();
    case Type::f32: return f.template operator()<float>();
    case Type::f64: return f.template operator()<double>();
    case Type::c64: return f.template operator()<std::complex<float>>();
    case Type::c128: return f.template operator()<std::complex<double>>();
    case Type::f32_i32: return f.template operator()<Located<float>>();
    case Type::f64_i32: return f.template operator()<Located<double>>();
    case Type::i32_i32: return f.template operator()<Located<std::int32_t>>();
    case Type::i64_i32: return f.template operator()<Located<std::int64_t>>();
  }
  return f.template operator()<void>();
}

// Void for operations that are no function of two elements.
template <class F>
auto with_op(Op op, F f) {
  switch (op) {
    case Op::sum:
    case Op::difference:
    case Op::mean: return f.template operator()<Sum>();
    case Op::prod: return f.template operator()<Prod>();
    case Op::min: return f.template operator()<Extreme<false>>();
    case Op::max: return f.template operator()<Extreme<true>>();
    case Op::land: return f.template operator()<LogicalAnd>();
    case Op::lor: return f.template operator()<LogicalOr>();
    case Op::lxor: return f.template operator()<LogicalXor>();
    case Op::band: return f.template operator()<BitAnd>();
    case Op::bor: return f.template operator()<BitOr>();
    case Op::bxor: return f.template operator()<BitXor>();
    case Op::minloc: return f.template operator()<ExtremeAt<false>>();
    case Op::maxloc: return f.template operator()<ExtremeAt<true>>();
    case Op::user: return f.template operator()<void>();
  }
  return f.template operator()<void>();
}

}  // namespace stretto::payload
