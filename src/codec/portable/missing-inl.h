// Values without a code, and their fill codes. A branch per place would be mispredicted.
#if defined(STRETTO_PORTABLE_MISSING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_MISSING_INL_H_
#undef STRETTO_PORTABLE_MISSING_INL_H_
#else
#define STRETTO_PORTABLE_MISSING_INL_H_
#endif

#include "codec/portable/fill_table.hpp"
#include "codec/portable/values-inl.h"
#include "codec/portable/write_exceptions.hpp"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

HWY_INLINE void FillBlock(std::uint32_t exceptions, std::int16_t* q) {
  const hn::FixedTag<std::int16_t, 8> d;
  const hn::FixedTag<std::uint8_t, 16> d8;
  alignas(16) static constexpr std::uint8_t kLast[16] = {14, 15, 14, 15, 14, 15, 14, 15,
                                                         14, 15, 14, 15, 14, 15, 14, 15};
  const auto last = hn::Load(d8, kLast);
  auto before = hn::Set(d, q[-1]);
  for (int i = 0; i < kBlock; i += 8, exceptions >>= 8) {
    const auto from = hn::Load(d8, kFillTable.row[exceptions & 0xff]);
    const auto filled = hn::BitCast(d, hn::TableLookupBytesOr0(hn::BitCast(d8, hn::Load(d, q + i)), from));
    const auto leading = hn::ShiftRight<15>(hn::BitCast(d, from));
    const auto v = hn::Or(filled, hn::And(before, leading));
    hn::Store(v, d, q + i);
    before = hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(d8, v), last));
  }
}

HWY_INLINE void FillFront(const Lanes lanes, std::int16_t* q) {
  int b = 0;
  while (b < kBlocks && lanes[b] == ~0u) ++b;
  if (b == kBlocks) return;
  const int first = kBlock * b + std::countr_one(lanes[b]);
  std::fill_n(q, first, q[first]);
}

// True if bits set in some lane of the first are set in all lanes of the second.
HWY_INLINE bool SameInAllLanes(hn::Vec<Tag<std::int32_t>> some, hn::Vec<Tag<std::int32_t>> all) {
  const Tag<std::int32_t> d;
  alignas(32) std::int32_t s[kLanes<std::int32_t>], a[kLanes<std::int32_t>];
  hn::Store(some, d, s);
  hn::Store(all, d, a);
  for (std::size_t i = 1; i < kLanes<std::int32_t>; ++i) {
    s[0] |= s[i];
    a[0] &= a[i];
  }
  return (s[0] & ~a[0]) == 0;
}

// Codes are up to safe_code (16 bits) or safe_code32. Places in `missing` take the previous codes. Not good: other
// values need a check.
template <class Q>
HWY_INLINE CodeRange QuantiseFilled(const float* x, const Grid<float>& grid, Q* q, Missing* missing) {
  constexpr bool kSmall = sizeof(Q) == 2;
  const auto safe = static_cast<std::int32_t>(kSmall ? grid.safe_code : grid.safe_code32);
  if (safe == 0) return {};
  constexpr std::int32_t kMagicBits = 0x4b400000;
  const Tag<float> d;
  const Tag<std::int32_t> di;
  const Tag<Q> dq;
  const auto magic = hn::Set(d, 0x1.8p23f), r = hn::Set(d, grid.r);
  const auto zero = hn::BitCast(di, magic);
  // quantise() finds codes up to a product of 2^33: sums of 2^34, infinities and NaN have none.
  const auto hopeless = hn::Set(di, 0x50800000 - 1), finite = hn::Set(di, 0x7fffffff);
  auto least = zero, most = zero;
  auto some = hn::Zero(di), all = hn::Set(di, -1);
  const auto sum = [&](std::size_t i) HWY_ATTR { return hn::BitCast(di, hn::MulAdd(hn::LoadU(d, x + i), r, magic)); };
  const auto put = [&](Q* to, const auto& kept) HWY_ATTR {
    for (std::size_t i = 0; i < kBlock; i += kLanes<Q>) {
      const auto s0 = kept(i);
      least = hn::Min(least, s0);
      most = hn::Max(most, s0);
      if constexpr (kSmall) {
        const auto s1 = kept(i + kLanes<float>);
        least = hn::Min(least, s1);
        most = hn::Max(most, s1);
        hn::Store(hn::ConcatEven(dq, hn::BitCast(dq, s1), hn::BitCast(dq, s0)), dq, to + i);
      } else {
        hn::Store(hn::Sub(s0, zero), dq, to + i);
      }
    }
  };
  missing->count = 0;
  q[-1] = 0;
  for (int b = 0; b < kBlocks; ++b, x += kBlock) {
    auto largest = hn::Zero(di);
    for (std::size_t i = 0; i < kBlock; i += kLanes<float>) largest = hn::Max(largest, hn::And(sum(i), finite));
    std::uint32_t none = 0;
    if (hn::AllFalse(di, hn::Gt(largest, hopeless))) {
      put(q + kBlock * b, sum);
    } else {
      put(q + kBlock * b, [&](std::size_t i) HWY_ATTR {
        const auto s = sum(i), v = hn::BitCast(di, hn::LoadU(d, x + i));
        const auto is_none = hn::Gt(hn::And(s, finite), hopeless);
        some = hn::Or(some, hn::IfThenElseZero(is_none, v));
        all = hn::IfThenElse(is_none, hn::And(all, v), all);
        none |= MaskBits(di, is_none) << i;
        return hn::IfThenElse(is_none, zero, s);
      });
      missing->count += std::popcount(none);
      if constexpr (kSmall) FillBlock(none, q + kBlock * b);
    }
    missing->lanes[b] = none;
  }
  const std::int32_t from = hn::GetLane(hn::MinOfLanes(di, least)), to = hn::GetLane(hn::MaxOfLanes(di, most));
  if (from < kMagicBits - safe || to > kMagicBits + safe) return {};
  missing->alike = SameInAllLanes(some, all);
  if constexpr (kSmall)
    FillFront(missing->lanes, q);
  else
    fill_exceptions(missing->lanes, q);
  return {from - kMagicBits, to - kMagicBits};
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
