// Loops that the compiler vectorises for each instruction set. The order of a point's sum is fixed, so all give equal
// bits.
#include "sweep.hpp"

#include <algorithm>
#include <vector>

#if defined(__x86_64__) && defined(__GNUC__)
#define STRETTO_EACH_SET __attribute__((target_clones("avx512f", "avx2", "default")))
#define STRETTO_INLINE inline __attribute__((always_inline))  // so that each clone inlines the loop
#else
#define STRETTO_EACH_SET
#define STRETTO_INLINE inline
#endif

namespace stretto::programs {
namespace {

// Four planes of this size stay in the last-level cache during a sweep. Smaller ones would fit an inner cache, but
// interrupt the hardware prefetcher's streams.
constexpr std::size_t kPlaneBytes = std::size_t{2} << 20;

template <class T>
STRETTO_INLINE T larger(T change, T before, T after) {
  const T moved = after > before ? after - before : before - after;
  return moved > change ? moved : change;
}

template <bool Measures, class T>
STRETTO_INLINE void row(int count, std::size_t y, std::size_t z, const T* __restrict in, const T* __restrict f,
                        T* __restrict out, T* __restrict change) {
  const T sixth = T(1) / T(6);
  for (int i = 0; i < count; ++i) {
    const T value = (in[i - 1] + in[i + 1] + in[i - y] + in[i + y] + in[i - z] + in[i + z] + f[i]) * sixth;
    out[i] = value;
    if constexpr (Measures) change[i] = larger(change[i], in[i], value);
  }
}

// One row of two adjacent planes: each shared point is read once.
template <bool Measures, class T>
STRETTO_INLINE void two_rows(int count, std::size_t y, std::size_t z, const T* __restrict in, const T* __restrict f,
                             T* __restrict out, T* __restrict change) {
  const T sixth = T(1) / T(6);
  T* __restrict upper_out = out + z;
  for (int i = 0; i < count; ++i) {
    const T lower = in[i], upper = in[i + z];
    const T lower_value = (in[i - 1] + in[i + 1] + in[i - y] + in[i + y] + in[i - z] + upper + f[i]) * sixth;
    const T upper_value =
        (in[i + z - 1] + in[i + z + 1] + in[i + z - y] + in[i + z + y] + lower + in[i + 2 * z] + f[i + z]) * sixth;
    out[i] = lower_value;
    upper_out[i] = upper_value;
    if constexpr (Measures) change[i] = larger(larger(change[i], lower, lower_value), upper, upper_value);
  }
}

// Strips of rows, so that the planes around a point are still cached when the next plane needs them.
template <bool Measures, class T>
STRETTO_INLINE double strips(const Block& block, const Box& box, const T* in, const T* f, T* out) {
  if (box.empty()) return 0;
  const int count = box.to[2] - box.from[2];
  const std::size_t y = block.stride(1), z = block.stride(0);
  const int rows = std::max(1, static_cast<int>(kPlaneBytes / (y * sizeof(T))));
  std::vector<T> change(Measures ? static_cast<std::size_t>(count) : 0);
  for (int first = box.from[1]; first < box.to[1]; first += rows) {
    const int last = std::min(first + rows, box.to[1]);
    for (int plane = box.from[0]; plane < box.to[0]; plane += 2) {
      const bool two = plane + 1 < box.to[0];
      for (int line = first; line < last; ++line) {
        const std::size_t at = block.at(plane, line, box.from[2]);
        if (two) {
          two_rows<Measures>(count, y, z, in + at, f + at, out + at, change.data());
        } else {
          row<Measures>(count, y, z, in + at, f + at, out + at, change.data());
        }
      }
    }
  }
  return Measures ? static_cast<double>(*std::max_element(change.begin(), change.end())) : 0;
}

template <class T>
STRETTO_INLINE void stream(std::size_t count, const T* __restrict in, const T* __restrict f, T* __restrict out) {
  const T factor = T(0.5);
  for (std::size_t i = 0; i < count; ++i) out[i] = in[i] + factor * f[i];
}

}  // namespace

STRETTO_EACH_SET void sweep(const Block& block, const Box& box, const double* in, const double* f, double* out) {
  strips<false>(block, box, in, f, out);
}
STRETTO_EACH_SET void sweep(const Block& block, const Box& box, const float* in, const float* f, float* out) {
  strips<false>(block, box, in, f, out);
}
STRETTO_EACH_SET double sweep_measuring(const Block& block, const Box& box, const double* in, const double* f,
                                        double* out) {
  return strips<true>(block, box, in, f, out);
}
STRETTO_EACH_SET double sweep_measuring(const Block& block, const Box& box, const float* in, const float* f,
                                        float* out) {
  return strips<true>(block, box, in, f, out);
}
STRETTO_EACH_SET void triad(std::size_t count, const double* in, const double* f, double* out) {
  stream(count, in, f, out);
}
STRETTO_EACH_SET void triad(std::size_t count, const float* in, const float* f, float* out) {
  stream(count, in, f, out);
}

}  // namespace stretto::programs
