// Sums in bit planes: a full adder on vectors whose lanes are blocks. This pass also raises the operand of lower order:
// it subtracts the planes shifted by one place. All blocks add equally many planes, so no branch depends on a width.
#if defined(STRETTO_PORTABLE_PLANE_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_PLANE_SUMS_INL_H_
#undef STRETTO_PORTABLE_PLANE_SUMS_INL_H_
#else
#define STRETTO_PORTABLE_PLANE_SUMS_INL_H_
#endif

#include "codec/kernels.hpp"
#include "codec/portable/packed_group.hpp"
#include "codec/portable/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

using Words = Tag<std::uint32_t>;
using V32 = hn::Vec<Words>;
inline constexpr int kWays = static_cast<int>(kLanes<std::uint32_t>);
inline constexpr int kMostQuads = 8;

// Lanes per block to lanes per plane. The first vector by planes has block 0 and, with eight lanes, block 4.
HWY_INLINE void Transpose(V32& v0, V32& v1, V32& v2, V32& v3) {
  const Words d;
  const Tag<std::uint64_t> d64;
  const auto a = hn::BitCast(d64, hn::InterleaveLower(d, v0, v1)), b = hn::BitCast(d64, hn::InterleaveLower(d, v2, v3));
  const auto c = hn::BitCast(d64, hn::InterleaveUpper(d, v0, v1)), e = hn::BitCast(d64, hn::InterleaveUpper(d, v2, v3));
  v0 = hn::BitCast(d, hn::InterleaveLower(d64, a, b));
  v1 = hn::BitCast(d, hn::InterleaveUpper(d64, a, b));
  v2 = hn::BitCast(d, hn::InterleaveLower(d64, c, e));
  v3 = hn::BitCast(d, hn::InterleaveUpper(d64, c, e));
}

struct BlockPlanes {
  const std::uint8_t* p;
  const std::uint8_t* farthest;  // last address for a read of 16 bytes
  const std::uint8_t* widths;
  const std::uint8_t* at[kWays];

  explicit BlockPlanes(const PackedGroup& g) : p(g.planes), farthest(g.end + kReadSlack - 16), widths(g.width) {}
  HWY_INLINE hn::Vec<Tag<std::int32_t>> Next() {
    const Tag<std::int32_t> d;
    const auto width = hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, decltype(d)>(), widths));
    for (int j = 0; j < kWays; ++j) {
      at[j] = p;
      p += 4 * widths[j];
    }
    widths += kWays;
    return width;
  }
  // Planes 4 q to 4 q + 3; garbage beyond a block's width. kNear: all reads are inside readable memory.
  template <bool kNear>
  HWY_INLINE void Load(int q, V32& v0, V32& v1, V32& v2, V32& v3) const {
    const auto row = [&](int k) HWY_ATTR {
      const hn::FixedTag<std::uint8_t, 16> d;
      const auto block = [&](int j) HWY_ATTR {
        const std::uint8_t* from = at[j] + 16 * q;
        return hn::LoadU(d, kNear || from < farthest ? from : farthest);
      };
      if constexpr (kWays == 4)
        return hn::BitCast(Words(), block(k));
      else
        return hn::BitCast(Words(), hn::Combine(hn::Twice<decltype(d)>(), block(k + 4), block(k)));
    };
    v0 = row(0);
    v1 = row(1);
    v2 = row(2);
    v3 = row(3);
    Transpose(v0, v1, v2, v3);
  }
};

// x replaces the stored plane of the previous kWays blocks.
HWY_INLINE V32 LessPlaceBefore(V32 x, std::uint32_t* blocks_before, V32& borrow) {
  const Words d;
  const V32 before = hn::Load(d, blocks_before);
  hn::Store(x, d, blocks_before);
  V32 lag;
  if constexpr (kWays == 4)
    lag = hn::CombineShiftRightBytes<12>(d, x, before);
  else
    lag = hn::CombineShiftRightBytes<12>(d, x, hn::ConcatLowerUpper(d, x, before));
  const V32 y = hn::Or(hn::ShiftLeft<1>(x), hn::ShiftRight<31>(lag));
  const V32 either = hn::Xor(x, y), difference = hn::Xor(either, borrow);
  borrow = hn::Or(hn::AndNot(x, y), hn::AndNot(either, borrow));
  return difference;
}

// Adds `low`, raised kRaise times, and `high`; each may be negated. Returns the end of the planes, or null if unsigned
// residuals would need 32 bits. Sums have up to 4 kQuads planes, or are modulo 2^32. May write 16 kQuads bytes more.
template <bool kSigned, int kRaise, int kQuads>
HWY_NOINLINE std::uint8_t* AddQuads(const PackedGroup& low, bool negate_low, const PackedGroup& high, bool negate_high,
                                    std::uint8_t* width, std::uint8_t* at) {
  const Words d;
  const Tag<std::int32_t> di;
  const hn::FixedTag<std::uint8_t, 16> d8;
  constexpr bool kNear = 16 * kQuads <= kReadSlack;
  const auto all_ones = [d](bool b) HWY_ATTR { return hn::Set(d, b ? ~0u : 0u); };
  const auto zero = hn::Zero(d), invert_l = all_ones(negate_low), invert_h = all_ones(negate_high);
  const auto signs_l = all_ones(low.predictor != Predictor::none_unsigned),
             signs_h = all_ones(high.predictor != Predictor::none_unsigned);
  BlockPlanes l(low), h(high);
  alignas(32) std::uint32_t sums[kQuads * 4 * kWays], w[kWays];
  alignas(32) std::uint32_t raised[kRaise == 0 ? 1 : kRaise * kQuads * 4 * kWays] = {};
  for (int first = 0; first < kBlocks; first += kWays) {
    const auto width_l = l.Next(), width_h = h.Next();
    V32 carry = hn::Or(invert_l, invert_h), below = zero, most = zero, last_l = zero, last_h = zero;
    V32 borrow0 = zero, borrow1 = zero;
    const auto extended = [&](int i, V32 stored, auto widths, V32 signs, V32& last) HWY_ATTR {
      const auto has = hn::RebindMask(d, hn::Lt(hn::Set(di, i), widths));
      if constexpr (kSigned)
        last = hn::IfThenElse(has, stored, hn::And(last, signs));
      else
        last = hn::IfThenElseZero(has, stored);
      return last;
    };
    const auto add = [&](int i, V32 stored_l, V32 stored_h) HWY_ATTR {
      V32 x = extended(i, stored_l, width_l, signs_l, last_l);
      if constexpr (kRaise > 0) x = LessPlaceBefore(x, raised + kWays * i, borrow0);
      if constexpr (kRaise > 1) x = LessPlaceBefore(x, raised + kWays * (4 * kQuads + i), borrow1);
      x = hn::Xor(x, invert_l);
      const V32 y = hn::Xor(extended(i, stored_h, width_h, signs_h, last_h), invert_h);
      const V32 either = hn::Xor(x, y), s = hn::Xor(either, carry);
      carry = hn::Or(hn::And(x, y), hn::And(either, carry));
      most = hn::IfThenElse(hn::Eq(s, below), most, hn::Set(d, static_cast<std::uint32_t>(i + 1)));
      if constexpr (kSigned) below = s;
      return s;
    };
    for (int q = 0; q < kQuads; ++q) {
      V32 l0, l1, l2, l3, h0, h1, h2, h3;
      l.Load<kNear>(q, l0, l1, l2, l3);
      h.Load<kNear>(q, h0, h1, h2, h3);
      V32 s0 = add(4 * q, l0, h0), s1 = add(4 * q + 1, l1, h1), s2 = add(4 * q + 2, l2, h2),
          s3 = add(4 * q + 3, l3, h3);
      Transpose(s0, s1, s2, s3);
      std::uint32_t* const to = sums + 4 * kWays * q;
      hn::Store(s0, d, to);
      hn::Store(s1, d, to + kWays);
      hn::Store(s2, d, to + 2 * kWays);
      hn::Store(s3, d, to + 3 * kWays);
    }
    hn::Store(most, d, w);
    for (int j = 0; j < kWays; ++j) {
      if (!kSigned && kQuads == kMostQuads && w[j] == 32) return nullptr;
      const auto* from = reinterpret_cast<const std::uint8_t*>(sums + kWays * (j % 4) + j / 4 * 4);
      for (int q = 0; q < kQuads; ++q) hn::StoreU(hn::Load(d8, from + 16 * kWays * q), d8, at + 16 * q);
      width[first + j] = static_cast<std::uint8_t>(w[j]);
      at += 4 * w[j];
    }
  }
  return at;
}

template <bool kSigned, int kRaise>
HWY_INLINE std::uint8_t* AddPlanes(const PackedGroup& low, bool negate_low, const PackedGroup& high, bool negate_high,
                                   std::uint8_t* width, std::uint8_t* at) {
  // Each raise takes a bit (codec/avx512/add.cpp).
  const auto sign = [](const PackedGroup& g) { return kSigned && g.predictor == Predictor::none_unsigned; };
  const int planes = 1 + std::max(low.widest + (kRaise > 0 ? kRaise : sign(low)), high.widest + sign(high));
  switch ((planes + 3) / 4) {
    case 1: return AddQuads<kSigned, kRaise, 1>(low, negate_low, high, negate_high, width, at);
    case 2: return AddQuads<kSigned, kRaise, 2>(low, negate_low, high, negate_high, width, at);
    case 3: return AddQuads<kSigned, kRaise, 3>(low, negate_low, high, negate_high, width, at);
    case 4: return AddQuads<kSigned, kRaise, 4>(low, negate_low, high, negate_high, width, at);
  }
  return AddQuads<kSigned, kRaise, kMostQuads>(low, negate_low, high, negate_high, width, at);
}

// Declines if the result is not a narrow group.
template <class Between>
std::size_t AddPacked(const PackedGroup& a, const PackedGroup& b, bool negate_b, std::uint8_t* out,
                      const Between& between) {
  Predictor p = a.predictor > b.predictor ? a.predictor : b.predictor;
  if (negate_b && p == Predictor::none_unsigned) p = Predictor::none_signed;
  const auto plus = [negate_b](std::int32_t x, std::int32_t y) {
    const auto u = static_cast<std::uint32_t>(x), v = static_cast<std::uint32_t>(y);
    return static_cast<std::int32_t>(negate_b ? u - v : u + v);
  };
  alignas(32) std::uint8_t width[kBlocks];
  std::uint8_t* at = between(out + write_head(p, plus(a.base, b.base), plus(a.slope, b.slope), out));
  if (!at) return kDeclined;
  const int above = order_of(b.predictor) - order_of(a.predictor);
  const PackedGroup &low = above < 0 ? b : a, &high = above < 0 ? a : b;
  const bool negate_low = negate_b && above < 0, negate_high = negate_b && above >= 0;
  if (p == Predictor::none_unsigned)
    at = AddPlanes<false, 0>(low, false, high, false, width, at);
  else if (above == 0)
    at = AddPlanes<true, 0>(low, negate_low, high, negate_high, width, at);
  else if (above == 1 || above == -1)
    at = AddPlanes<true, 1>(low, negate_low, high, negate_high, width, at);
  else
    at = AddPlanes<true, 2>(low, negate_low, high, negate_high, width, at);
  return at ? finish_packed(width, at, out) : kDeclined;
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
