// Values to codes and back, and their range.
#if defined(STRETTO_PORTABLE_VALUES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_VALUES_INL_H_
#undef STRETTO_PORTABLE_VALUES_INL_H_
#else
#define STRETTO_PORTABLE_VALUES_INL_H_
#endif

#include <limits>

#include "codec/grid.hpp"
#include "codec/portable/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

struct CodeRange {
  std::int32_t least = 1, most = 0;  // least > most: some value has no code that is good without looking
  bool good() const { return least <= most; }
  std::uint32_t bound() const {
    return most > -least ? static_cast<std::uint32_t>(most) : static_cast<std::uint32_t>(-least);
  }
};

// All codes of 1,024 values, if none exceeds safe_code. The codes are then those of quantise(): s = x * r + M, rounded once, is M
// plus the integer nearest to x * r, and that integer stands in the low bits of s; no look at the error is needed.
HWY_INLINE CodeRange Quantise(const float* x, const Grid<float>& grid, std::int16_t* q) {
  const auto safe = static_cast<std::int32_t>(grid.safe_code);  // at most 8191
  if (safe == 0) return {};
  constexpr std::int32_t kMagicBits = 0x4b400000;
  const Tag<float> d;
  const Tag<std::int32_t> di;
  const Tag<std::int16_t> d16;
  const auto magic = hn::Set(d, 0x1.8p23f), r = hn::Set(d, grid.r);
  // As integers the bits of s grow with s where s is positive; NaN, infinities and what is too large lie outside the range asked for.
  auto least = hn::Set(di, kMagicBits), most = least;
  for (std::size_t i = 0; i < kGroup; i += 2 * kLanes<float>) {
    const auto s0 = hn::BitCast(di, hn::MulAdd(hn::LoadU(d, x + i), r, magic));
    const auto s1 = hn::BitCast(di, hn::MulAdd(hn::LoadU(d, x + i + kLanes<float>), r, magic));
    least = hn::Min(least, hn::Min(s0, s1));
    most = hn::Max(most, hn::Max(s0, s1));
    hn::Store(hn::ConcatEven(d16, hn::BitCast(d16, s1), hn::BitCast(d16, s0)), d16, q + i);
  }
  const std::int32_t low = hn::GetLane(hn::MinOfLanes(di, least)), high = hn::GetLane(hn::MaxOfLanes(di, most));
  if (low < kMagicBits - safe || high > kMagicBits + safe) return {};
  return {low - kMagicBits, high - kMagicBits};
}

HWY_INLINE CodeRange Quantise(const double* x, const Grid<double>& grid, std::int32_t* q) {
  if (!(grid.safe_code > 0)) return {};
  const Tag<double> d;
  const Tag<std::uint64_t> du;
  const hn::Rebind<std::uint32_t, Tag<std::uint64_t>> half;
  const hn::RebindToSigned<decltype(half)> half_signed;
  const auto magic = hn::Set(d, 0x1.8p52), r = hn::Set(d, grid.r), safe = hn::Set(d, grid.safe_code);
  auto good = hn::Eq(safe, safe);
  auto least = hn::Zero(half_signed), most = least;
  for (std::size_t i = 0; i < kGroup; i += kLanes<double>) {
    const auto s = hn::MulAdd(hn::LoadU(d, x + i), r, magic);
    good = hn::And(good, hn::Le(hn::Abs(hn::Sub(s, magic)), safe));  // not NaN either
    const auto code = hn::BitCast(half_signed, hn::TruncateTo(half, hn::BitCast(du, s)));
    least = hn::Min(least, code);
    most = hn::Max(most, code);
    hn::Store(code, half_signed, q + i);
  }
  if (!hn::AllTrue(d, good)) return {};
  return {hn::GetLane(hn::MinOfLanes(half_signed, least)), hn::GetLane(hn::MaxOfLanes(half_signed, most))};
}

HWY_INLINE void Narrow(const std::int32_t* from, std::int16_t* to) {
  const Tag<std::int32_t> d;
  const Tag<std::int16_t> d16;
  for (std::size_t i = 0; i < kGroup; i += kLanes<std::int16_t>)
    hn::Store(hn::ConcatEven(d16, hn::BitCast(d16, hn::Load(d, from + i + kLanes<std::int32_t>)),
                             hn::BitCast(d16, hn::Load(d, from + i))),
              d16, to + i);
}
HWY_INLINE void Widen(const std::int16_t* from, std::int32_t* to) {
  const Tag<std::int32_t> d;
  const hn::Rebind<std::int16_t, Tag<std::int32_t>> half;
  for (std::size_t i = 0; i < kGroup; i += kLanes<std::int32_t>)
    hn::Store(hn::PromoteTo(d, hn::Load(half, from + i)), d, to + i);
}

// Vectors to y: aligned addresses may be written past the caches.
template <bool kStream, class D, class V>
HWY_INLINE void Put(V v, D d, hn::TFromD<D>* y) {
  if constexpr (kStream)
    hn::Stream(v, d, y);
  else
    hn::StoreU(v, d, y);
}

// Values in single precision.
template <bool kStream, class Q>
HWY_INLINE void PutSingle(const Q* q, const Grid<float>& grid, float* y) {
  const Tag<float> d;
  const Tag<std::int32_t> di;
  const auto w = hn::Set(d, grid.w);
  for (std::size_t i = 0; i < kGroup; i += kLanes<float>) {
    const auto code = [&]() HWY_ATTR {
      if constexpr (sizeof(Q) == 2)
        return hn::PromoteTo(di, hn::Load(hn::Rebind<std::int16_t, Tag<std::int32_t>>(), q + i));
      else
        return hn::Load(di, q + i);
    }();
    Put<kStream>(hn::Mul(hn::ConvertTo(d, code), w), d, y + i);
  }
}

// Values, or means, by way of float64.
template <bool kStream, class T>
HWY_INLINE void PutDouble(const std::int32_t* q, const Grid<T>& grid, std::uint32_t divisor, T* y) {
  const Tag<double> d;
  const hn::Rebind<std::int32_t, Tag<double>> half;
  const auto w = hn::Set(d, grid.width), n = hn::Set(d, static_cast<double>(divisor));
  for (std::size_t i = 0; i < kGroup; i += kLanes<double>) {
    auto v = hn::Mul(hn::PromoteTo(d, hn::Load(half, q + i)), w);
    if (divisor > 1) v = hn::Div(v, n);
    if constexpr (sizeof(T) == 8) {
      Put<kStream>(v, d, y + i);
    } else {
      const hn::Rebind<float, Tag<double>> single;
      hn::StoreU(hn::DemoteTo(single, v), single, y + i);
    }
  }
}

// Smallest and largest finite of n values; the infinities the wrong way round if there is none.
template <class T>
HWY_INLINE void Range(const T* x, std::size_t n, T* lo, T* hi) {
  const Tag<T> d;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const auto infinity = hn::Set(d, kInfinity), minus = hn::Neg(infinity);
  auto least = infinity, most = minus;
  std::size_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    const auto v = hn::LoadU(d, x + i);
    const auto finite = hn::Lt(hn::Abs(v), infinity);
    least = hn::Min(least, hn::IfThenElse(finite, v, infinity));
    most = hn::Max(most, hn::IfThenElse(finite, v, minus));
  }
  *lo = hn::GetLane(hn::MinOfLanes(d, least));
  *hi = hn::GetLane(hn::MaxOfLanes(d, most));
  for (; i < n; ++i) {
    if (!(x[i] < kInfinity && x[i] > -kInfinity)) continue;
    if (x[i] < *lo) *lo = x[i];
    if (x[i] > *hi) *hi = x[i];
  }
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of a file that is included once for each target
