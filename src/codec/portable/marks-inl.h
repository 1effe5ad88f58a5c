// Marks of missing data in a full group: the vector form of Marks::survey.
#if defined(STRETTO_PORTABLE_MARKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_MARKS_INL_H_
#undef STRETTO_PORTABLE_MARKS_INL_H_
#else
#define STRETTO_PORTABLE_MARKS_INL_H_
#endif

#include <limits>

#include "codec/marks.hpp"
#include "codec/portable/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

// Which of v are kept, and in *near which others may decode to a mark.
template <class T, class V, class M>
HWY_INLINE M KeptOf(V v, const MarkSet<T>& marks, M* near) {
  const Tag<T> d;
  const V magnitude = hn::Abs(v);
  M kept = hn::And(hn::Ge(magnitude, hn::Set(d, marks.least)),
                   hn::Lt(magnitude, hn::Set(d, std::numeric_limits<T>::infinity())));
  for (int i = 0; i < marks.count; ++i) {
    const V mark = hn::Set(d, marks.mark[i]);
    const M equal = hn::Eq(v, mark);
    kept = hn::Or(kept, equal);
    if (marks.reach[i] >= 0)
      *near = hn::Or(*near, hn::AndNot(equal, hn::Le(hn::Abs(hn::Sub(v, mark)), hn::Set(d, marks.reach[i]))));
  }
  return kept;
}

template <class T>
Kept Survey(const T* x, const MarkSet<T>& marks, T* out, T* kept) {
  const Tag<T> d;
  const hn::RebindToUnsigned<Tag<T>> bits;
  const auto none = hn::Lt(hn::Zero(d), hn::Zero(d));
  auto near = none, any = none;
  for (int i = 0; i < kGroup; i += static_cast<int>(kLanes<T>))
    any = hn::Or(any, KeptOf(hn::LoadU(d, x + i), marks, &near));
  if (!hn::AllFalse(d, near)) return Kept::several;
  if (hn::AllFalse(d, any)) return Kept::none;
  for (int i = 0; i < kGroup; i += static_cast<int>(kLanes<T>)) {
    const std::intptr_t first = hn::FindFirstTrue(d, KeptOf(hn::LoadU(d, x + i), marks, &near));
    if (first < 0) continue;
    *kept = element(x, i + static_cast<int>(first));
    break;
  }
  const auto hole = hn::Set(d, Marks<T>::placeholder());
  const auto value_bits = hn::BitCast(bits, hn::Set(d, *kept)), hole_bits = hn::BitCast(bits, hole);
  auto others = none;  // places that have another kept value, or the placeholder
  for (int i = 0; i < kGroup; i += static_cast<int>(kLanes<T>)) {
    const auto v = hn::LoadU(d, x + i);
    const auto is_kept = KeptOf(v, marks, &near);
    const auto v_bits = hn::BitCast(bits, v);
    others = hn::Or(others, hn::AndNot(hn::RebindMask(d, hn::Eq(v_bits, value_bits)), is_kept));
    others = hn::Or(others, hn::RebindMask(d, hn::Eq(v_bits, hole_bits)));
    hn::StoreU(hn::IfThenElse(is_kept, hole, v), d, out + i);
  }
  return hn::AllFalse(d, others) ? Kept::one : Kept::several;
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of a file that is included once for each target
