#include "elements.hpp"

#include <cstdint>
#include <cstring>

#include "payload/arithmetic/half.hpp"

namespace stretto::tests {
namespace {

using payload::Op;
using payload::Type;

// Small integers, of which every type holds sums and products exactly.
int number(int rank, std::size_t i) {
  return static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 5) % 3) - (i % 2 == 0 ? 1 : 0);
}

struct Complex {
  long re, im;
};

bool is_complex(Type t) { return t == Type::c64 || t == Type::c128; }
bool is_located(Type t) { return t == Type::f32_i32 || t == Type::f64_i32 || t == Type::i32_i32 || t == Type::i64_i32; }

template <class A, class B = A>
void put(std::byte* at, Pair v, std::size_t second_at) {
  const A a = static_cast<A>(v.first);
  std::memcpy(at, &a, sizeof(A));
  if (second_at == 0) return;
  const B b = static_cast<B>(v.second);
  std::memcpy(at + second_at, &b, sizeof(B));
}

template <class A, class B = A>
Pair get(const std::byte* at, std::size_t second_at) {
  A a;
  B b{};
  std::memcpy(&a, at, sizeof(A));
  if (second_at != 0) std::memcpy(&b, at + second_at, sizeof(B));
  return {static_cast<double>(a), static_cast<double>(b)};
}

// Small, so that products of many stay exact in two float32.
int imaginary(int rank) { return 1 + rank % 2; }

// The number of bits of an integer type; 0 for others. Unsigned types compute on what store() made of the number.
int bits_of(Type t) {
  switch (t) {
    case Type::i8:
    case Type::u8: return 8;
    case Type::i16:
    case Type::u16: return 16;
    case Type::i32:
    case Type::u32: return 32;
    case Type::i64:
    case Type::u64: return 64;
    case Type::f16:
    case Type::bf16:
    case Type::f32:
    case Type::f64:
    case Type::c64:
    case Type::c128:
    case Type::f32_i32:
    case Type::f64_i32:
    case Type::i32_i32:
    case Type::i64_i32: return 0;
  }
  return 0;
}

bool is_unsigned(Type t) { return t == Type::u8 || t == Type::u16 || t == Type::u32 || t == Type::u64; }

}  // namespace

void store(Type t, std::byte* at, Pair v) {
  switch (t) {
    case Type::i8: return put<std::int8_t>(at, v, 0);
    case Type::i16: return put<std::int16_t>(at, v, 0);
    case Type::i32: return put<std::int32_t>(at, v, 0);
    case Type::i64: return put<std::int64_t>(at, v, 0);
    case Type::u8:
      return put<std::uint8_t>(at, {static_cast<double>(static_cast<std::uint8_t>(static_cast<int>(v.first))), 0}, 0);
    case Type::u16:
      return put<std::uint16_t>(at, {static_cast<double>(static_cast<std::uint16_t>(static_cast<int>(v.first))), 0}, 0);
    case Type::u32:
      return put<std::uint32_t>(at, {static_cast<double>(static_cast<std::uint32_t>(static_cast<int>(v.first))), 0}, 0);
    case Type::u64: {
      const auto x = static_cast<std::uint64_t>(static_cast<std::int64_t>(v.first));
      std::memcpy(at, &x, sizeof x);
      return;
    }
    case Type::f16: {
      const auto h = payload::narrow_f16(static_cast<float>(v.first));
      std::memcpy(at, &h, 2);
      return;
    }
    case Type::bf16: {
      const auto h = payload::narrow_bf16(static_cast<float>(v.first));
      std::memcpy(at, &h, 2);
      return;
    }
    case Type::f32: return put<float>(at, v, 0);
    case Type::f64: return put<double>(at, v, 0);
    case Type::c64: return put<float>(at, v, 4);
    case Type::c128: return put<double>(at, v, 8);
    case Type::f32_i32: return put<float, std::int32_t>(at, v, 4);
    case Type::f64_i32: return put<double, std::int32_t>(at, v, 8);
    case Type::i32_i32: return put<std::int32_t, std::int32_t>(at, v, 4);
    case Type::i64_i32: return put<std::int64_t, std::int32_t>(at, v, 8);
  }
}

Pair fetch(Type t, const std::byte* at) {
  switch (t) {
    case Type::i8: return get<std::int8_t>(at, 0);
    case Type::i16: return get<std::int16_t>(at, 0);
    case Type::i32: return get<std::int32_t>(at, 0);
    case Type::i64: return get<std::int64_t>(at, 0);
    case Type::u8: return get<std::uint8_t>(at, 0);
    case Type::u16: return get<std::uint16_t>(at, 0);
    case Type::u32: return get<std::uint32_t>(at, 0);
    case Type::u64: return get<std::uint64_t>(at, 0);
    case Type::f16: {
      payload::F16 h;
      std::memcpy(&h, at, 2);
      return {payload::widen(h), 0};
    }
    case Type::bf16: {
      payload::BF16 h;
      std::memcpy(&h, at, 2);
      return {payload::widen(h), 0};
    }
    case Type::f32: return get<float>(at, 0);
    case Type::f64: return get<double>(at, 0);
    case Type::c64: return get<float>(at, 4);
    case Type::c128: return get<double>(at, 8);
    case Type::f32_i32: return get<float, std::int32_t>(at, 4);
    case Type::f64_i32: return get<double, std::int32_t>(at, 8);
    case Type::i32_i32: return get<std::int32_t, std::int32_t>(at, 4);
    case Type::i64_i32: return get<std::int64_t, std::int32_t>(at, 8);
  }
  return {};
}

Pair contribution(Type t, int rank, std::size_t i) {
  return {static_cast<double>(number(rank, i)), static_cast<double>(is_complex(t) ? imaginary(rank) : rank)};
}

Pair reduced(Op op, Type t, int p, std::size_t i) {
  const auto operand = [&](int r) {
    std::int64_t x = number(r, i);
    if (is_unsigned(t) && bits_of(t) < 64) x &= (std::int64_t{1} << bits_of(t)) - 1;
    return x;
  };
  std::int64_t s = operand(0);
  Complex z{number(0, i), imaginary(0)};
  int at = 0;
  for (int r = 1; r < p; ++r) {
    const std::int64_t x = operand(r);
    const bool below = is_unsigned(t) ? static_cast<std::uint64_t>(x) < static_cast<std::uint64_t>(s) : x < s;
    switch (op) {
      case Op::sum:
      case Op::mean:
        s += x;
        z = {z.re + number(r, i), z.im + imaginary(r)};
        break;
      case Op::difference:
        s -= x;
        z = {z.re - number(r, i), z.im - imaginary(r)};
        break;
      case Op::prod:
        s *= x;
        z = {z.re * number(r, i) - z.im * imaginary(r), z.re * imaginary(r) + z.im * number(r, i)};
        break;
      case Op::min:
      case Op::minloc:
        at = below ? r : at;
        s = below ? x : s;
        break;
      case Op::max:
      case Op::maxloc:
        at = !below && x != s ? r : at;
        s = below ? s : x;
        break;
      case Op::land: s = s != 0 && x != 0; break;
      case Op::lor: s = s != 0 || x != 0; break;
      case Op::lxor: s = (s != 0) != (x != 0); break;
      case Op::band: s &= x; break;
      case Op::bor: s |= x; break;
      case Op::bxor: s ^= x; break;
      case Op::user: break;
    }
  }
  if (p == 1 && (op == Op::land || op == Op::lor || op == Op::lxor)) s = number(0, i);  // nothing was combined
  if (is_complex(t)) return {static_cast<double>(z.re), static_cast<double>(z.im)};
  if (is_located(t)) return {static_cast<double>(s), static_cast<double>(at)};
  switch (t) {
    case Type::i8: s = static_cast<std::int8_t>(s); break;
    case Type::u8: s = static_cast<std::uint8_t>(s); break;
    case Type::u16: s = static_cast<std::uint16_t>(s); break;
    case Type::u32: s = static_cast<std::uint32_t>(s); break;
    case Type::u64: return {static_cast<double>(static_cast<std::uint64_t>(s)), 0};
    case Type::i16:
    case Type::i32:
    case Type::i64:
    case Type::f16:
    case Type::bf16:
    case Type::f32:
    case Type::f64:
    case Type::c64:
    case Type::c128:
    case Type::f32_i32:
    case Type::f64_i32:
    case Type::i32_i32:
    case Type::i64_i32: break;
  }
  return {static_cast<double>(s), 0};
}

}  // namespace stretto::tests
