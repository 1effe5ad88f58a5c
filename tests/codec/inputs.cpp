#include "inputs.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "support.hpp"

namespace stretto::codec {
namespace {

constexpr std::size_t kCount = 3 * 1024 + 333;

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
T with_bits(std::uint64_t b) {
  return std::bit_cast<T>(static_cast<Bits<T>>(b));
}

// Any bit pattern: every exponent, denormals, NaN with payloads, infinities.
template <class T>
T any_bits(Random& r) {
  return with_bits<T>(r.bits());
}

template <class T>
T quiet_nan() {
  return std::numeric_limits<T>::quiet_NaN();
}

// A NaN with a payload, signalling or quiet, of either sign.
template <class T>
T some_nan(Random& r) {
  const Bits<T> exponent = std::bit_cast<Bits<T>>(std::numeric_limits<T>::infinity());
  const Bits<T> payload = static_cast<Bits<T>>(r.bits()) & ~exponent;
  return std::bit_cast<T>(static_cast<Bits<T>>(exponent | payload | 1));
}

template <class T, class F>
std::vector<T> filled(std::size_t n, F f) {
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(f(i));
  return x;
}

template <class T>
T wave(std::size_t i, double scale) {
  return static_cast<T>(scale *
                        (std::sin(static_cast<double>(i) * 0.01) + 0.3 * std::sin(static_cast<double>(i) * 0.037)));
}

template <class T>
std::vector<Input<T>> make_inputs() {
  constexpr T inf = std::numeric_limits<T>::infinity(), largest = std::numeric_limits<T>::max(),
              least = std::numeric_limits<T>::denorm_min(), normal = std::numeric_limits<T>::min();
  std::vector<Input<T>> all;
  Random r(sizeof(T));
  const auto add = [&](std::string name, double eps, auto f, std::size_t count = kCount) {
    all.push_back({std::move(name), filled<T>(count, f), eps});
  };

  for (const double eps : {1e-5, 1e-6, 1e-7, 1e-9, 0.25})
    add("uniform in [0,1)", eps, [&](std::size_t) { return r.uniform(); });
  for (const double eps : {1e-2, 1e-4, 1e-6}) {
    add("smooth", eps, [&](std::size_t i) { return wave<T>(i, 1); });
    add("smooth on an offset", eps, [&](std::size_t i) { return 273 + wave<T>(i, 20); });
    add("noise", eps, [&](std::size_t) { return r.symmetric() * r.symmetric(); });
    add("steps", eps, [&](std::size_t i) { return static_cast<double>(i / 100) * 0.125 - 2; });
  }
  add("ramp", 1e-3, [](std::size_t i) { return static_cast<double>(i) * 0.7 - 500; });
  add("parabola", 1e-3, [](std::size_t i) { return static_cast<double>(i) * static_cast<double>(i) * 1e-3; });
  add("zeros", 1e-3, [](std::size_t) { return 0; });
  add("zeros of both signs", 1e-3, [](std::size_t i) { return i % 3 ? -0.0 : 0.0; });
  add("constant", 1e-3, [](std::size_t) { return 3.25; });
  add("negative constant", 1e-3, [](std::size_t) { return -3.25; });
  add("one spike", 1e-3, [](std::size_t i) { return i == 2000 ? 5 : 0; });
  for (const double eps : {1e-30, 1e-3, 1e6, 3e38}) add("any bits", eps, [&](std::size_t) { return any_bits<T>(r); });
  add("close to halves of the grid", 0.5, [&](std::size_t i) {
    return std::nextafter(static_cast<T>(static_cast<double>(i) + 0.5), static_cast<T>(r.below(2) ? 1e9 : -1e9));
  });
  add("close to halves of a fine grid", 1e-3, [&](std::size_t) {
    const T mid = static_cast<T>((static_cast<double>(r.below(1 << 20)) + 0.5) * 2e-3 * (1 - 0x1p-9));
    return std::nextafter(mid, static_cast<T>(r.below(2) ? 1e9 : -1e9));
  });
  add("at the end of the codes", 1e-6,
      [&](std::size_t) { return (2147483647.0 + r.symmetric() * 40) * 2e-6 * (1 - 0x1p-9); });
  add("denormals", static_cast<double>(least), [&](std::size_t) { return least * static_cast<T>(r.below(100)); });
  add("denormals, bound below them",
      static_cast<double>(least) / 4 > 0 ? static_cast<double>(least) / 4 : static_cast<double>(least),
      [&](std::size_t i) { return (i % 2 ? -1 : 1) * least * static_cast<T>(r.below(100)); });
  add("around the least normal", static_cast<double>(normal) / 64,
      [&](std::size_t) { return normal * static_cast<T>(r.symmetric() * 4); });
  add("huge", 1e30, [&](std::size_t) { return largest * static_cast<T>(r.symmetric()); });
  add("huge, coarse bound", static_cast<double>(largest) / 16,
      [&](std::size_t) { return largest * static_cast<T>(r.symmetric()); });
  // Grid points beyond the largest number are no codes of values just below it.
  for (const double part : {3e-5, 1e-2, 0.15})
    add("just below the largest", part * static_cast<double>(largest), [&](std::size_t i) {
      return (i % 2 ? -1 : 1) * largest * static_cast<T>(1 - 1e-4 * static_cast<double>(i % 200));
    });
  add("largest and smallest", 1e-3, [&](std::size_t i) {
    return i % 3 == 0 ? largest : i % 3 == 1 ? -largest : least;
  });
  for (const double eps : {1e-2, 1e-6})
    add("fills of 1e20 in runs", eps,
        [&](std::size_t i) { return i / 97 % 3 == 1 ? static_cast<T>(1e20) : wave<T>(i, 1); });
  add("fills of 1e20 scattered", 1e-3,
      [&](std::size_t i) { return r.below(5) == 0 ? static_cast<T>(1e20) : wave<T>(i, 1); });
  add("fills alone", 1e-3, [](std::size_t) { return static_cast<T>(1e20); });
  add("quiet NaN in runs", 1e-3, [&](std::size_t i) { return i / 300 % 2 ? quiet_nan<T>() : wave<T>(i, 1); });
  add("quiet NaN alone", 1e-3, [](std::size_t) { return quiet_nan<T>(); });
  add("infinities scattered", 1e-3, [&](std::size_t i) {
    return r.below(9) ? wave<T>(i, 1) : r.below(2) ? inf : -inf;
  });
  add("large ones scattered", 1e-6,
      [&](std::size_t i) { return r.below(9) ? wave<T>(i, 1) : static_cast<T>(1e15 * r.symmetric()); });
  add("one large one at the start", 1e-3, [](std::size_t i) { return i % 1024 == 0 ? 1e30 : wave<T>(i, 1); });
  add("one large one at the end", 1e-3, [](std::size_t i) { return i % 1024 == 1023 ? 1e30 : wave<T>(i, 1); });
  add("whole blocks of NaN", 1e-3, [&](std::size_t i) { return i / 32 % 2 ? quiet_nan<T>() : wave<T>(i, 1); });
  add("wide and narrow in turn", 1e-4,
      [&](std::size_t i) { return i / 1024 % 2 ? 1e5 * r.symmetric() : wave<T>(i, 1); });
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{15}, std::size_t{16}, std::size_t{31},
        std::size_t{127}, std::size_t{128}, std::size_t{1023}, std::size_t{1024}, std::size_t{1025}}) {
    add(
        std::to_string(count) + " values", 1e-4, [](std::size_t i) { return wave<T>(i, 1); }, count);
    add(
        std::to_string(count) + " rough values", 1e-4, [&](std::size_t) { return any_bits<T>(r); }, count);
  }
  // Signalling NaN do not survive arithmetic, nor a call in some conventions: written in place.
  std::vector<T> x(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const T v = r.below(4) ? wave<T>(i, 1) : some_nan<T>(r);
    std::memcpy(&x[i], &v, sizeof v);
  }
  all.push_back({"NaN with payloads", std::move(x), 1e-3});
  return all;
}

}  // namespace

template <class T>
const std::vector<Input<T>>& inputs() {
  static const std::vector<Input<T>> all = make_inputs<T>();
  return all;
}
template const std::vector<Input<float>>& inputs<float>();
template const std::vector<Input<double>>& inputs<double>();

template <class T>
std::vector<std::vector<T>> summands(std::size_t count, double eps, std::size_t how_many, std::uint64_t seed) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  Random r(seed);
  std::vector<std::vector<T>> fields;
  for (std::size_t k = 0; k < how_many; ++k) {
    const double unit = eps * 1000 * (1 + r.uniform());
    const std::uint64_t kind = k < 12 ? k : r.below(12);
    const std::uint64_t phase = r.below(4000);
    fields.push_back(filled<T>(count, [&](std::size_t i) -> T {
      const T smooth = wave<T>(i + phase, unit);
      const std::uint64_t group = i / 1024;
      switch (kind) {
        case 0: return smooth;
        case 1: return static_cast<T>(unit * r.symmetric());
        case 2: return static_cast<T>(unit * (static_cast<double>(i) - 100));
        case 3: return static_cast<T>(unit);
        case 4: return 0;
        case 5: return i / 100 % 4 == 1 ? static_cast<T>(1e20) : smooth;  // fills, in the same places
        case 6: return i / 100 % 4 == 1 ? static_cast<T>(1e20) : static_cast<T>(-2) * smooth;
        case 7: return r.below(20) ? smooth : r.below(3) ? quiet_nan<T>() : r.below(2) ? inf : -inf;
        case 8: return group % 2 ? any_bits<T>(r) : smooth;  // verbatim groups
        case 9: return r.below(30) ? smooth : static_cast<T>(1e25 * r.symmetric());
        case 10: return static_cast<T>(eps * 2e9 * r.symmetric());  // codes that widen sums
        default:
          return group % 3 == 2 ? static_cast<T>(1e20) : static_cast<T>(unit * std::sqrt(static_cast<double>(i)));
      }
    }));
  }
  return fields;
}
template std::vector<std::vector<float>> summands<float>(std::size_t, double, std::size_t, std::uint64_t);
template std::vector<std::vector<double>> summands<double>(std::size_t, double, std::size_t, std::uint64_t);

}  // namespace stretto::codec
