// Values for gpu_check.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace stretto::codec {

struct Random {  // splitmix64
  std::uint64_t state;
  std::uint64_t bits() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
};

// Values of a kind: smooth, noisy, of any bits, with holes, fills and large ones.
template <class T>
void fill(std::vector<T>& x, int kind, double eps, Random& r) {
  using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const double unit = eps * std::ldexp(1.0, static_cast<int>(r.bits() % 24)), phase = r.uniform() * 100;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double smooth = unit * std::sin(phase + static_cast<double>(i) * 0.01), noise = unit * (2 * r.uniform() - 1);
    const U any = static_cast<U>(r.bits());
    T v = static_cast<T>(smooth);
    switch (kind) {
      case 0: break;
      case 1: v = static_cast<T>(noise); break;
      case 2: std::memcpy(&v, &any, sizeof v); break;
      case 3: v = static_cast<T>(i / 100 % 4 == 1 ? 1e20 : smooth); break;
      case 4: v = i / 77 % 3 ? v : std::numeric_limits<T>::quiet_NaN(); break;
      case 5: v = r.bits() % 50 ? static_cast<T>(noise) : static_cast<T>(1e25 * noise); break;
      case 6: v = static_cast<T>(eps * 2e9 * (2 * r.uniform() - 1)); break;
      default: v = static_cast<T>(std::floor(noise / eps) * eps + 0.5 * eps); break;
    }
    x[i] = v;
  }
}
constexpr int kKinds = 8;

}  // namespace stretto::codec
