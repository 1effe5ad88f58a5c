// Error-free sums of floating-point numbers, as a reference: types by their bits, arbitrary values of them, and bound
// checks.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "stretto/stretto.h"

namespace api_test {

// Numbers of a type by their bits: value(), the bits of a truncated double, and half the distance to the next larger
// magnitude. `kFirst` is the unit of a preceding rounding of 16-bit results.
struct F16 {
  using Bits = std::uint16_t;
  static constexpr stretto_type kType = STRETTO_F16;
  static constexpr const char* kName = "f16";
  static constexpr double kUnit = 0x1p-11, kLargest = 65504;
  static double value(Bits b) {
    const int e = b >> 10 & 31, m = b & 1023;
    const double a = e == 31 ? (m ? NAN : INFINITY) : e == 0 ? std::ldexp(m, -24) : std::ldexp(1024 + m, e - 25);
    return b >> 15 ? -a : a;
  }
  static Bits cut(double v) {
    int e = 0;
    const double m = std::frexp(std::fabs(v), &e);
    if (v == 0 || e < -13) return 0;
    const int bits = (e + 14) << 10 | (static_cast<int>(std::ldexp(m, 11)) & 1023);
    return static_cast<Bits>(bits | (std::signbit(v) ? 0x8000 : 0));
  }
  static constexpr double kFirst = 0x1p-25;
};
struct BF16 {
  using Bits = std::uint16_t;
  static constexpr stretto_type kType = STRETTO_BF16;
  static constexpr const char* kName = "bf16";
  static constexpr double kUnit = 0x1p-8, kLargest = 0x1.fep127;
  static double value(Bits b) { return std::bit_cast<float>(std::uint32_t{b} << 16); }
  static Bits cut(double v) { return static_cast<Bits>(std::bit_cast<std::uint32_t>(static_cast<float>(v)) >> 16); }
  static constexpr double kFirst = 0x1p-25;
};
struct F32 {
  using Bits = float;
  static constexpr stretto_type kType = STRETTO_F32;
  static constexpr const char* kName = "f32";
  static constexpr double kUnit = 0x1p-24, kLargest = std::numeric_limits<float>::max();
  static double value(Bits b) { return b; }
  static Bits cut(double v) { return static_cast<float>(v); }
  static constexpr double kFirst = 0;
};
struct F64 {
  using Bits = double;
  static constexpr stretto_type kType = STRETTO_F64;
  static constexpr const char* kName = "f64";
  static constexpr double kUnit = 0x1p-53, kLargest = std::numeric_limits<double>::max();
  static double value(Bits b) { return b; }
  static Bits cut(double v) { return v; }
  static constexpr double kFirst = 0;
};

template <class T>
double half_ulp_in(typename T::Bits b) {
  using Bits = typename T::Bits;
  if constexpr (std::is_integral_v<Bits>) {
    const auto a = static_cast<Bits>(b & 0x7fff);
    return (T::value(static_cast<Bits>(a + 1)) - T::value(a)) / 2;
  } else {
    const Bits a = std::fabs(b);
    return static_cast<double>(std::nextafter(a, std::numeric_limits<Bits>::infinity()) - a) / 2;
  }
}

// An error-free sum of doubles, as a non-overlapping expansion; its sign is that of the largest number.
class Exact {
 public:
  void add(double x) {
    std::size_t kept = 0;
    for (double y : parts_) {
      if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
      const double high = x + y, low = y - (high - x);
      if (low != 0) parts_[kept++] = low;
      x = high;
    }
    parts_.resize(kept);
    parts_.push_back(x);
  }
  void add(double x, double times) {
    const double high = x * times;
    add(high);
    add(std::fma(x, times, -high));
  }
  double sign() const {
    for (auto p = parts_.rbegin(); p != parts_.rend(); ++p)
      if (*p != 0) return *p < 0 ? -1 : 1;
    return 0;
  }

 private:
  std::vector<double> parts_;
};

// True if |y - exact| <= the sum of `bounds`.
template <class T>
bool within_all(typename T::Bits y, const std::vector<double>& terms, stretto_op op,
                std::initializer_list<double> bounds) {
  const double p = op == STRETTO_MEAN ? static_cast<double>(terms.size()) : 1, v = T::value(y);
  if (!std::isfinite(v)) return false;
  Exact error;
  for (double x : terms) error.add(x);
  error.add(-v, p);
  const double sign = error.sign();
  Exact excess;
  for (double x : terms) excess.add(sign * x);
  excess.add(-sign * v, p);
  for (const double bound : bounds) excess.add(-bound, p);
  return excess.sign() <= 0;
}

// True if |y - exact| <= bound + half an ulp of y. Sums of f16 and bf16 are rounded to f32 before that.
template <class T>
bool within(typename T::Bits y, const std::vector<double>& terms, stretto_op op, double bound) {
  return within_all<T>(y, terms, op, {bound, half_ulp_in<T>(y), T::kFirst * std::fabs(T::value(y))});
}

// Contributions of all ranks, of either sign and several magnitudes.
template <class T>
std::vector<std::vector<typename T::Bits>> inputs(int ranks, std::size_t count, double scale, bool positive = false) {
  std::vector<std::vector<typename T::Bits>> all;
  for (int r = 0; r < ranks; ++r) {
    std::mt19937_64 random(static_cast<std::uint64_t>(r) * 77 + count);
    std::uniform_real_distribution<double> uniform(positive ? 0.0 : -1.0, 1.0);
    auto& x = all.emplace_back(count);
    for (auto& v : x) v = T::cut(uniform(random) * scale);
  }
  return all;
}

template <class T>
std::vector<double> terms_of(const std::vector<std::vector<typename T::Bits>>& all, std::size_t i, stretto_op op) {
  std::vector<double> terms;
  for (const auto& x : all)
    terms.push_back(op == STRETTO_DIFFERENCE && !terms.empty() ? -T::value(x[i]) : T::value(x[i]));
  return terms;
}

struct TypeNames {
  template <class T>
  static std::string GetName(int) {
    return T::kName;
  }
};

}  // namespace api_test
