#if defined(STRETTO_PORTABLE_VALUES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_VALUES_INL_H_
#undef STRETTO_PORTABLE_VALUES_INL_H_
#else
#define STRETTO_PORTABLE_VALUES_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "codec/numbers/grid.hpp"
#include "codec/numbers/quantise.hpp"
#include "codec/portable/planes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

struct CodeRange {
  std::int32_t least = 1, most = 0;  // least > most: some value needs a check
  bool far = false;                  // checked, and has no code of more bits either
  bool good() const { return least <= most; }
  std::uint32_t bound() const {
    return most > -least ? static_cast<std::uint32_t>(most) : static_cast<std::uint32_t>(-least);
  }
};

// Values checked together. A bad code wastes little more than its step.
inline constexpr std::size_t kQuantiseStep = 8 * kBlock;

// No code may exceed safe_code. The low bits of s = x * r + M, rounded once, hold the integer nearest to x * r. The
// error needs no check.
HWY_INLINE CodeRange Quantise(const float* x, const Grid<float>& grid, std::int16_t* q) {
  const auto safe = static_cast<std::int32_t>(grid.safe_code);
  if (safe == 0) return {};
  constexpr std::int32_t kMagicBits = 0x4b400000;
  const Tag<float> d;
  const Tag<std::int32_t> di;
  const Tag<std::int16_t> d16;
  const auto magic = hn::Set(d, 0x1.8p23f), r = hn::Set(d, grid.r);
  const auto low = hn::Set(di, kMagicBits - safe), high = hn::Set(di, kMagicBits + safe);
  // Positive s compare as integers. NaN, infinities and large values lie outside.
  auto least = hn::Set(di, kMagicBits), most = least;
  bool good = true;
  for (std::size_t step = 0; good && step < kGroup; step += kQuantiseStep) {
    for (std::size_t i = step; i < step + kQuantiseStep; i += 2 * kLanes<float>) {
      const auto s0 = hn::BitCast(di, hn::MulAdd(hn::LoadU(d, x + i), r, magic));
      const auto s1 = hn::BitCast(di, hn::MulAdd(hn::LoadU(d, x + i + kLanes<float>), r, magic));
      least = hn::Min(least, hn::Min(s0, s1));
      most = hn::Max(most, hn::Max(s0, s1));
      hn::Store(hn::ConcatEven(d16, hn::BitCast(d16, s1), hn::BitCast(d16, s0)), d16, q + i);
    }
    good = hn::AllFalse(di, hn::Or(hn::Lt(least, low), hn::Gt(most, high)));
  }
  const std::int32_t from = hn::GetLane(hn::MinOfLanes(di, least)), to = hn::GetLane(hn::MaxOfLanes(di, most));
  const auto limit = static_cast<std::int32_t>(grid.safe_code32);
  if (!good) return {1, 0, from < kMagicBits - limit || to > kMagicBits + limit};
  return {from - kMagicBits, to - kMagicBits};
}

HWY_INLINE CodeRange Quantise(const float* x, const Grid<float>& grid, std::int32_t* q) {
  const auto safe = static_cast<std::int32_t>(grid.safe_code32);
  if (safe == 0) return {};
  const Tag<float> d;
  const Tag<std::int32_t> di;
  const auto magic = hn::Set(d, 0x1.8p23f), r = hn::Set(d, grid.r);
  const auto zero = hn::BitCast(di, magic);
  // Negative sums wrap around.
  const auto low = hn::Set(di, -safe), high = hn::Set(di, safe);
  auto least = hn::Zero(di), most = least;
  for (std::size_t step = 0; step < kGroup; step += kQuantiseStep) {
    for (std::size_t i = step; i < step + kQuantiseStep; i += kLanes<float>) {
      const auto code = hn::Sub(hn::BitCast(di, hn::MulAdd(hn::LoadU(d, x + i), r, magic)), zero);
      least = hn::Min(least, code);
      most = hn::Max(most, code);
      hn::Store(code, di, q + i);
    }
    if (!hn::AllFalse(di, hn::Or(hn::Lt(least, low), hn::Gt(most, high)))) return {};
  }
  return {hn::GetLane(hn::MinOfLanes(di, least)), hn::GetLane(hn::MaxOfLanes(di, most))};
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
    good = hn::And(good, hn::Le(hn::Abs(hn::Sub(s, magic)), safe));
    const auto code = hn::BitCast(half_signed, hn::TruncateTo(half, hn::BitCast(du, s)));
    least = hn::Min(least, code);
    most = hn::Max(most, code);
    hn::Store(code, half_signed, q + i);
  }
  if (!hn::AllTrue(d, good)) return {};
  return {hn::GetLane(hn::MinOfLanes(half_signed, least)), hn::GetLane(hn::MaxOfLanes(half_signed, most))};
}

// With the checks of quantise(). Values without a code get 0, and a bit in `lanes`. False if a code needs more than 32
// bits.
template <class T>
HWY_INLINE bool QuantiseChecked(const T* x, const Grid<T>& grid, std::int32_t* q, Lanes lanes) {
  constexpr bool kSingle = sizeof(T) == 4;
  // Products below direct_below are exact enough, and their codes decode to finite numbers. From kHopeless on there is
  // no code.
  const T direct_below = static_cast<T>(std::min(kSingle ? 0x1p21 - 2 : 0x1p51, grid.finite_code));
  constexpr T kHopeless = kSingle ? T(0x1p33) : T(0x1p51);
  const Tag<T> d;
  const hn::Rebind<std::int32_t, Tag<T>> di;
  const auto magic = hn::Set(d, kSingle ? T(0x1.8p23) : T(0x1.8p52)), r = hn::Set(d, grid.r), w = hn::Set(d, grid.w);
  const auto eps_e = hn::Set(d, grid.eps_e), eps_y = hn::Set(d, grid.eps_y);
  auto most = hn::Zero(d);
  std::uint32_t missing = 0;
  for (std::size_t i = 0; i < kGroup; i += kLanes<T>) {
    const auto v = hn::LoadU(d, x + i), size = hn::Abs(hn::Mul(v, r));
    const auto direct = hn::Lt(size, hn::Set(d, direct_below)), hopeful = hn::Lt(size, hn::Set(d, kHopeless));
    const auto n = hn::IfThenElseZero(direct, hn::Sub(hn::MulAdd(v, r, magic), magic));
    const auto e = hn::Abs(hn::NegMulAdd(n, w, v)), error = hn::Abs(hn::Sub(v, hn::Mul(n, w)));
    const auto good = hn::And(direct, hn::And(hn::Le(e, eps_e), hn::Le(error, eps_y)));
    std::uint32_t bad = 0;
    if (hn::AllFalse(d, hn::AndNot(good, hopeful))) {
      const auto codes = hn::IfThenElseZero(good, n);
      most = hn::Max(most, hn::Abs(codes));
      if constexpr (kSingle)
        hn::Store(hn::ConvertTo(di, codes), di, q + i);
      else
        hn::Store(hn::DemoteTo(di, codes), di, q + i);
      bad = ~MaskBits(d, good) & ((1u << kLanes<T>)-1);
    } else {  // rare: beyond this arithmetic, or a code other than the nearest
      for (std::size_t j = 0; j < kLanes<T>; ++j) {
        std::int64_t code = 0;
        const bool is_code = codec::quantise(element(x, i + j), grid, &code);
        if (is_code && (code > std::int64_t{kNarrowLimit} || code < -std::int64_t{kNarrowLimit})) return false;
        q[i + j] = is_code ? static_cast<std::int32_t>(code) : 0;
        bad |= static_cast<std::uint32_t>(!is_code) << j;
      }
    }
    missing |= bad << (i % kBlock);
    if ((i + kLanes<T>) % kBlock == 0) {
      lanes[i / kBlock] = missing;
      missing = 0;
    }
  }
  return hn::AllTrue(d, hn::Le(most, hn::Set(d, static_cast<T>(kNarrowLimit))));
}

HWY_INLINE CodeRange RangeOf(const std::int32_t* q) {
  const Tag<std::int32_t> d;
  auto least = hn::Zero(d), most = least;
  for (std::size_t i = 0; i < kGroup; i += kLanes<std::int32_t>) {
    const auto v = hn::Load(d, q + i);
    least = hn::Min(least, v);
    most = hn::Max(most, v);
  }
  return {hn::GetLane(hn::MinOfLanes(d, least)), hn::GetLane(hn::MaxOfLanes(d, most))};
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

template <bool kStream, class D, class V>
HWY_INLINE void Put(V v, D d, hn::TFromD<D>* y) {
  if constexpr (kStream)
    hn::Stream(v, d, y);
  else
    hn::StoreU(v, d, y);
}

template <bool kStream>
HWY_INLINE void PutSingle(const std::int32_t* q, const Grid<float>& grid, float* y) {
  const Tag<float> d;
  const auto w = hn::Set(d, grid.w);
  for (std::size_t i = 0; i < kGroup; i += kLanes<float>)
    Put<kStream>(hn::Mul(hn::ConvertTo(d, hn::Load(Tag<std::int32_t>(), q + i)), w), d, y + i);
}

template <bool kStream, class T>
HWY_INLINE void PutDouble(const std::int32_t* q, const Grid<T>& grid, std::uint32_t divisor, T* y) {
  const Tag<double> d;
  const hn::Rebind<std::int32_t, Tag<double>> half;
  const auto w = hn::Set(d, grid.width), n = hn::Set(d, static_cast<double>(divisor)),
             inverse = hn::Set(d, 1 / static_cast<double>(divisor));
  for (std::size_t i = 0; i < kGroup; i += kLanes<double>) {
    const auto codes = hn::PromoteTo(d, hn::Load(half, q + i));
    auto v = hn::Mul(codes, w);
    if (divisor > 1 && sizeof(T) == 4) {
      v = hn::Div(v, n);
    } else if (divisor > 1) {  // docs/codec.md, "Means"
      const auto near = hn::Mul(v, inverse);
      const auto rest = hn::Add(hn::NegMulAdd(near, n, v), hn::MulSub(codes, w, v)), part = hn::Mul(rest, inverse);
      v = hn::Add(near, hn::MulAdd(hn::NegMulAdd(part, n, rest), inverse, part));
    }
    if constexpr (sizeof(T) == 8) {
      Put<kStream>(v, d, y + i);
    } else {
      const hn::Rebind<float, Tag<double>> single;
      hn::StoreU(hn::DemoteTo(single, v), single, y + i);
    }
  }
}

// Without finite values: infinity and minus infinity.
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
    const T v = element(x, i);
    if (!(v < kInfinity && v > -kInfinity)) continue;
    if (v < *lo) *lo = v;
    if (v > *hi) *hi = v;
  }
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
