#include "streams/passes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

// These targets add no instructions that such loops could use.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "streams/passes.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which sets the target for all that follow.
#include "base/highway.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace stretto::python::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using payload::BF16;
using payload::F16;

HWY_INLINE float Wide(float x) { return x; }
HWY_INLINE double Wide(double x) { return x; }
HWY_INLINE float Wide(F16 x) { return payload::widen(x); }
HWY_INLINE float Wide(BF16 x) { return payload::widen(x); }

template <class T, class W>
HWY_INLINE T Narrowed(W x) {
  if constexpr (std::is_same_v<T, F16>) {
    return payload::narrow_f16(x);
  } else if constexpr (std::is_same_v<T, BF16>) {
    return payload::narrow_bf16(x);
  } else {
    return x;
  }
}

template <class W>
HWY_INLINE bool IsFinite(W x) {
  return std::abs(x) <= std::numeric_limits<W>::max();
}

constexpr std::size_t kLanes = 32;  // sums at a time, so that none waits for the addition before

template <class T, class W>
HWY_INLINE T Sum(W left, W x) {
  return Narrowed<T>((IsFinite(left) ? left : W{0}) + x);
}

#if HWY_HAVE_SCALABLE || HWY_TARGET == HWY_SCALAR
template <bool kAdds>
std::size_t AddVectors(const float*, float*, std::size_t, double*) {
  return 0;
}
#else
// Adds squares to kLanes sums, and returns the number of values.
template <bool kAdds>
std::size_t AddVectors(const float* HWY_RESTRICT x, float* HWY_RESTRICT left, std::size_t n, double* sums) {
  const hn::CappedTag<double, 8> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  constexpr std::size_t width = hn::MaxLanes(wide);
  hn::Vec<decltype(wide)> all[kLanes / width];
  for (auto& sum : all) sum = hn::Zero(wide);
  [[maybe_unused]] const auto most = hn::Set(narrow, std::numeric_limits<float>::max());
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma GCC unroll 16  // HWY_UNROLL and IsFinite are in Highway from 1.0 on
    for (std::size_t j = 0; j < kLanes / width; ++j) {
      auto value = hn::LoadU(narrow, left + i + j * width);
      if constexpr (kAdds) {
        value = hn::Add(hn::IfThenElseZero(hn::Le(hn::Abs(value), most), value), hn::LoadU(narrow, x + i + j * width));
        hn::StoreU(value, narrow, left + i + j * width);
      }
      const auto promoted = hn::PromoteTo(wide, value);
      all[j] = hn::MulAdd(promoted, promoted, all[j]);  // squares of float32 are exact
    }
  }
  for (std::size_t j = 0; j < kLanes / width; ++j) hn::StoreU(all[j], wide, sums + j * width);
  return i;
}
#endif

// The squares of `left`, to which x is added before.
template <bool kAdds, class T>
double AddAll(const T* HWY_RESTRICT x, T* HWY_RESTRICT left, std::size_t n) {
  double sums[kLanes] = {};
  std::size_t i = 0;
  if constexpr (std::is_same_v<T, float>) i = AddVectors<kAdds>(x, left, n, sums);
  for (; i < n; i += kLanes) {
    const std::size_t count = std::min(kLanes, n - i);
    for (std::size_t j = 0; j < count; ++j) {
      if constexpr (kAdds) left[i + j] = Sum<T>(Wide(left[i + j]), Wide(x[i + j]));
      const double value = Wide(left[i + j]);
      sums[j] += value * value;
    }
  }
  double all = 0;
  for (const double sum : sums) all += sum;
  return all;
}

template <class T>
double Squares(const T* x, std::size_t n) {
  return AddAll<false, T>(nullptr, const_cast<T*>(x), n);
}

template <class T>
double Add(const T* x, T* left, std::size_t n) {
  return AddAll<true>(x, left, n);
}

template <class T>
void Subtract(const T* kept, const T* decoded, T* left, std::size_t n) {
  using W = decltype(Wide(T{}));
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const W mine = Wide(kept[i]);
    const W rest = mine - Wide(decoded[i]);
    left[i] = Narrowed<T>(IsFinite(mine) ? rest : W{0});
  }
}

void Narrow(const float* HWY_RESTRICT x, BF16* HWY_RESTRICT out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = payload::narrow_bf16(x[i]);
}

void Widen(const BF16* HWY_RESTRICT x, float* HWY_RESTRICT out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = payload::widen(x[i]);
}

template <class T>
void Mean(const BF16* HWY_RESTRICT rows, std::size_t ranks, std::size_t n, T* HWY_RESTRICT out) {
  constexpr std::size_t piece = 1024;
  float sums[piece];
  const auto divisor = static_cast<float>(ranks);
  for (std::size_t first = 0; first < n; first += piece) {
    const std::size_t count = std::min(piece, n - first);
    for (std::size_t i = 0; i < count; ++i) sums[i] = payload::widen(rows[first + i]);
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      const BF16* const row = rows + rank * n + first;
      for (std::size_t i = 0; i < count; ++i) sums[i] += payload::widen(row[i]);
    }
    for (std::size_t i = 0; i < count; ++i) out[first + i] = Narrowed<T>(sums[i] / divisor);
  }
}

template <class Work>
auto WithType(stretto_type type, const Work& work) {
  if (type == STRETTO_F64) return work(double{});
  if (type == STRETTO_F16) return work(F16{});
  if (type == STRETTO_BF16) return work(BF16{});
  return work(float{});
}

double SquaresOf(stretto_type type, const void* x, std::size_t n) {
  return WithType(type, [=]<class T>(T) { return Squares(static_cast<const T*>(x), n); });
}

double AddOf(stretto_type type, const void* x, void* left, std::size_t n) {
  return WithType(type, [=]<class T>(T) { return Add(static_cast<const T*>(x), static_cast<T*>(left), n); });
}

void SubtractOf(stretto_type type, const void* kept, const void* decoded, void* left, std::size_t n) {
  WithType(type, [=]<class T>(T) {
    Subtract(static_cast<const T*>(kept), static_cast<const T*>(decoded), static_cast<T*>(left), n);
  });
}

const Passes* All() {
  static constexpr Passes kAll{&SquaresOf, &AddOf, &SubtractOf, &Narrow, &Widen, &Mean<BF16>, &Mean<float>};
  return &kAll;
}

}  // namespace stretto::python::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stretto::python {
namespace {

constexpr Compiled<const Passes*()> kCompiled[] = STRETTO_COMPILED(All);

}  // namespace

const Passes& passes() noexcept {
  static const Passes* const best = best_of(kCompiled)();
  return *best;
}

bool has_passes(stretto_type type) noexcept {
  return type == STRETTO_F32 || type == STRETTO_F64 || type == STRETTO_F16 || type == STRETTO_BF16;
}

}  // namespace stretto::python
#endif  // HWY_ONCE
