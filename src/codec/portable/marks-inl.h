// Marks::survey for full groups, and ranges without marks.
#if defined(STRETTO_PORTABLE_MARKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_MARKS_INL_H_
#undef STRETTO_PORTABLE_MARKS_INL_H_
#else
#define STRETTO_PORTABLE_MARKS_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <limits>

#include "codec/kernels.hpp"
#include "codec/portable/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

// The outer loop over marks keeps a mark's constants in registers.
template <class T>
bool AnyKeptOrNear(const T* x, const MarkSet<T>& marks) {
  const Tag<T> d;
  const auto none = hn::Lt(hn::Zero(d), hn::Zero(d));
  for (int k = 0; k < marks.count; ++k) {
    const auto mark = hn::Set(d, marks.mark[k]), reach = hn::Set(d, marks.reach[k] > 0 ? marks.reach[k] : T{0});
    auto hit = none;
    for (int i = 0; i < kGroup; i += static_cast<int>(kLanes<T>))
      hit = hn::Or(hit, hn::Le(hn::Abs(hn::Sub(hn::LoadU(d, x + i), mark)), reach));
    if (!hn::AllFalse(d, hit)) return true;
  }
  if (marks.least == std::numeric_limits<T>::infinity()) return false;
  const auto least = hn::Set(d, marks.least), infinity = hn::Inf(d);
  auto hit = none;
  for (int i = 0; i < kGroup; i += static_cast<int>(kLanes<T>)) {
    const auto magnitude = hn::Abs(hn::LoadU(d, x + i));
    hit = hn::Or(hit, hn::And(hn::Ge(magnitude, least), hn::Lt(magnitude, infinity)));
  }
  return !hn::AllFalse(d, hit);
}

// *near: other values that may decode to a mark. kOne: there is one mark.
template <bool kOne, class T, class V, class M>
HWY_INLINE M KeptOf(V v, const MarkSet<T>& marks, M* near) {
  const Tag<T> d;
  const V magnitude = hn::Abs(v);
  M kept = hn::And(hn::Ge(magnitude, hn::Set(d, marks.least)), hn::Lt(magnitude, hn::Inf(d)));
  const int count = kOne ? 1 : marks.count;
  for (int i = 0; i < count; ++i) {
    const V mark = hn::Set(d, marks.mark[i]);
    const M equal = hn::Eq(v, mark);
    kept = hn::Or(kept, equal);
    *near = hn::Or(*near, hn::AndNot(equal, hn::Le(hn::Abs(hn::Sub(v, mark)), hn::Set(d, marks.reach[i]))));
  }
  return kept;
}

template <bool kOne, class T>
KeptValues SurveyFound(const T* x, const MarkSet<T>& marks, T* out, T* kept) {
  const Tag<T> d;
  const hn::RebindToUnsigned<Tag<T>> bits;
  const auto none = hn::Lt(hn::Zero(d), hn::Zero(d));
  auto near = none;
  bool found = false;
  for (int i = 0; i < kGroup && !found; i += static_cast<int>(kLanes<T>)) {
    const std::intptr_t first = hn::FindFirstTrue(d, KeptOf<kOne>(hn::LoadU(d, x + i), marks, &near));
    found = first >= 0;
    if (found) *kept = element(x, i + static_cast<int>(first));
  }
  if (!found) return KeptValues::several;
  const auto hole = hn::Set(d, Marks<T>::placeholder());
  const auto value_bits = hn::BitCast(bits, hn::Set(d, *kept)), hole_bits = hn::BitCast(bits, hole);
  auto others = none;
  for (int i = 0; i < kGroup; i += static_cast<int>(kLanes<T>)) {
    const auto v = hn::LoadU(d, x + i);
    const auto is_kept = KeptOf<kOne>(v, marks, &near);
    const auto v_bits = hn::BitCast(bits, v);
    others = hn::Or(others, hn::AndNot(hn::RebindMask(d, hn::Eq(v_bits, value_bits)), is_kept));
    others = hn::Or(others, hn::RebindMask(d, hn::Eq(v_bits, hole_bits)));
    hn::StoreU(hn::IfThenElse(is_kept, hole, v), d, out + i);
  }
  return hn::AllFalse(d, hn::Or(others, near)) ? KeptValues::one : KeptValues::several;
}

template <class T>
KeptValues Survey(const T* x, const MarkSet<T>& marks, T* out, T* kept) {
  if (!AnyKeptOrNear(x, marks)) return KeptValues::none;
  return marks.count == 1 ? SurveyFound<true>(x, marks, out, kept) : SurveyFound<false>(x, marks, out, kept);
}

template <int kCount, class T>
HWY_INLINE void RangesBeside(const T* x, std::size_t n, const MarkSet<T>& marks, PartRanges<T>* found) {
  const Tag<T> d;
  const int count = kCount < 0 ? marks.count : kCount;
  const auto infinity = hn::Inf(d), minus = hn::Neg(infinity), least = hn::Set(d, marks.least);
  auto lo = infinity, hi = minus, below_lo = infinity, below_hi = minus;
  std::size_t taken_count = 0, below_count = 0;
  const auto take = [&](hn::Vec<Tag<T>> v) HWY_ATTR {
    const auto magnitude = hn::Abs(v);
    auto taken = hn::Lt(magnitude, infinity);
    for (int k = 0; k < count; ++k) taken = hn::AndNot(hn::Eq(v, hn::Set(d, marks.mark[k])), taken);
    const auto below = hn::And(taken, hn::Lt(magnitude, least));
    lo = hn::Min(lo, hn::IfThenElse(taken, v, infinity));
    hi = hn::Max(hi, hn::IfThenElse(taken, v, minus));
    below_lo = hn::Min(below_lo, hn::IfThenElse(below, v, infinity));
    below_hi = hn::Max(below_hi, hn::IfThenElse(below, v, minus));
    taken_count += hn::CountTrue(d, taken);
    below_count += hn::CountTrue(d, below);
  };
  std::size_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) take(hn::LoadU(d, x + i));
  if (i < n) {
    T rest[kLanes<T>];
    std::fill_n(rest, kLanes<T>, std::numeric_limits<T>::quiet_NaN());
    std::memcpy(rest, x + i, (n - i) * sizeof(T));
    take(hn::LoadU(d, rest));
  }
  *found = {hn::GetLane(hn::MinOfLanes(d, lo)), hn::GetLane(hn::MaxOfLanes(d, hi)),
            hn::GetLane(hn::MinOfLanes(d, below_lo)), hn::GetLane(hn::MaxOfLanes(d, below_hi)),
            taken_count - below_count};
}

template <class T>
void RangesOf(const T* x, std::size_t n, const MarkSet<T>& marks, PartRanges<T>* found) {
  switch (marks.count) {
    case 0: return RangesBeside<0>(x, n, marks, found);
    case 1: return RangesBeside<1>(x, n, marks, found);
    default: return RangesBeside<-1>(x, n, marks, found);
  }
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
