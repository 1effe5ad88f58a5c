#include "payload/arithmetic/arithmetic.hpp"

#include <algorithm>
#include <array>

#include "payload/arithmetic/loops.hpp"
#include "payload/arithmetic/operations.hpp"

namespace stretto::payload {
namespace {

Status not_defined(const char* what, Type type) noexcept {
  return fail(Status::unsupported, "{} is not defined on {}", what, name(type));
}

}  // namespace

bool defined(Op op, Type t) noexcept {
  if (op == Op::user) return size_of(t) != 0;
  if (op == Op::mean) return t == Type::f16 || t == Type::bf16 || t == Type::f32 || t == Type::f64;
  return combine_loop(op, t) != nullptr;
}

Status combine_values(Op op, Type type, const void* left, const void* right, void* out, std::size_t count) noexcept {
  const CombineLoop loop = combine_loop(op, type);
  if (loop == nullptr) return not_defined(name(op), type);
  loop(left, right, out, count);
  return Status::ok;
}

Status negate_values(Type type, const void* in, void* out, std::size_t count) noexcept {
  const bool known = with_type(type, [=]<class T>() {
    if constexpr (Signable<T>) {
      const T* x = static_cast<const T*>(in);
      T* y = static_cast<T*>(out);
#pragma GCC ivdep
      for (std::size_t i = 0; i < count; ++i) y[i] = negated(x[i]);
      return true;
    } else {
      return false;
    }
  });
  return known ? Status::ok : not_defined("negation", type);
}

void narrow_values(const void* x, void* halves, std::size_t count) noexcept { narrow_loop()(x, halves, count); }

void widen_values(const void* halves, void* x, std::size_t count) noexcept { widen_loop()(halves, x, count); }

void round_to_bfloat16(void* x, std::size_t count) noexcept {
  std::array<std::uint16_t, 4096> halves;
  float* const values = static_cast<float*>(x);
  for (std::size_t done = 0; done < count; done += halves.size()) {
    const std::size_t n = std::min(halves.size(), count - done);
    narrow_values(values + done, halves.data(), n);
    widen_values(halves.data(), values + done, n);
  }
}

Status divide_values(Type type, void* values, std::size_t count, std::uint32_t divisor) noexcept {
  const DivideLoop loop = divide_loop(type);
  if (loop == nullptr) return not_defined("mean", type);
  loop(values, count, divisor);
  return Status::ok;
}

}  // namespace stretto::payload
