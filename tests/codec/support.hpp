// Shared by the codec's tests: streams as vectors, calls that must succeed, all instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "codec/codec.hpp"

namespace stretto::codec {

using Stream = std::vector<std::byte>;

// What an output holds before; none of it may show in a stream. Another byte at each call, so that what two kernels
// leave as it was differs.
inline std::byte before() {
  static thread_local unsigned char last = 0;
  return std::byte{last = static_cast<unsigned char>(last + 0x3b)};
}

template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, float>) return Type::f32;
  if constexpr (std::is_same_v<T, double>) return Type::f64;
  if constexpr (std::is_same_v<T, std::int32_t>) return Type::i32;
  return Type::i64;
}

// The instruction sets that this machine and build have, `reference` first.
const std::vector<Isa>& isas();

inline Options with(Isa isa) {
  Options o;
  o.isa = isa;
  return o;
}

// These functions expect success, and otherwise fail the test with the library's message. The output has exactly the
// bound's size, so that a sanitizer detects writes past it.
Stream compress_raw(Type t, const void* x, std::size_t n, double eps, const Options& options = {});
Stream combined(Combine op, const Stream& a, const Stream& b, const Options& options = {});
Stream with_values(const Stream& a, const void* x, std::size_t n, const Options& options = {});
Stream scaled(const Stream& a, std::int32_t k, const Options& options = {});
Stream sliced(const Stream& a, std::uint64_t first, std::size_t n, const Options& options = {});
Stream joined(const Stream& a, const Stream& b, const Options& options = {});
Info info_of(const Stream& a);

template <class T>
Stream compressed(const std::vector<T>& x, double eps, const Options& options = {}) {
  return compress_raw(type_of<T>(), x.data(), x.size(), eps, options);
}

template <class T>
std::vector<T> decoded(const Stream& a, const Options& options = {}, std::uint32_t divisor = 1) {
  std::vector<T> y(info_of(a).count);
  EXPECT_EQ(decompress(a, y.data(), y.size(), options, divisor), Status::ok) << message();
  return y;
}

// splitmix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) { return bits() % n; }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
  double symmetric() { return 2 * uniform() - 1; }

 private:
  std::uint64_t state_;
};

}  // namespace stretto::codec
