// Sums of groups without leaving the bit planes: a full adder on vectors. A lane is a block; so the planes of as many blocks as a
// vector has lanes are transposed, as words, then added plane by plane, and transposed back.
#if defined(STRETTO_PORTABLE_PLANE_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_PLANE_SUMS_INL_H_
#undef STRETTO_PORTABLE_PLANE_SUMS_INL_H_
#else
#define STRETTO_PORTABLE_PLANE_SUMS_INL_H_
#endif

#include "codec/portable/planes-inl.h"
#include "codec/portable/raise.hpp"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

using Words = Tag<std::uint32_t>;
using V32 = hn::Vec<Words>;
inline constexpr int kWays = static_cast<int>(kLanes<std::uint32_t>);  // blocks, and planes, taken at once: 4 or 8

// Transposes squares of four words a side, one in each 16 bytes; row k goes to out + stride * k.
HWY_INLINE void TransposeFour(V32 v0, V32 v1, V32 v2, V32 v3, std::uint32_t* out, std::size_t stride) {
  const Words d;
  const Tag<std::uint64_t> d64;
  const auto a = hn::BitCast(d64, hn::InterleaveLower(d, v0, v1)), b = hn::BitCast(d64, hn::InterleaveLower(d, v2, v3));
  const auto c = hn::BitCast(d64, hn::InterleaveUpper(d, v0, v1)), e = hn::BitCast(d64, hn::InterleaveUpper(d, v2, v3));
  hn::Store(hn::BitCast(d, hn::InterleaveLower(d64, a, b)), d, out);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(d64, a, b)), d, out + stride);
  hn::Store(hn::BitCast(d, hn::InterleaveLower(d64, c, e)), d, out + 2 * stride);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(d64, c, e)), d, out + 3 * stride);
}

// row(k) is a square's row k.
template <class RowOf>
HWY_INLINE void TransposeWords(const RowOf& row, std::uint32_t* out, std::size_t stride) {
  if constexpr (kWays == 4) {
    TransposeFour(row(0), row(1), row(2), row(3), out, stride);
  } else {
    // Halves of rows k and k + 4 side by side: these transpose as squares of four each.
    const Words d;
    const V32 r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3), r4 = row(4), r5 = row(5), r6 = row(6), r7 = row(7);
    TransposeFour(hn::ConcatLowerLower(d, r4, r0), hn::ConcatLowerLower(d, r5, r1), hn::ConcatLowerLower(d, r6, r2),
                  hn::ConcatLowerLower(d, r7, r3), out, stride);
    TransposeFour(hn::ConcatUpperUpper(d, r4, r0), hn::ConcatUpperUpper(d, r5, r1), hn::ConcatUpperUpper(d, r6, r2),
                  hn::ConcatUpperUpper(d, r7, r3), out + 4 * stride, stride);
  }
}

// kWays blocks of a group, with their planes as those of numbers of any width: behind the stored ones the sign's, or zeros.
struct BlockSquare {
  const std::uint8_t* p[kWays];
  std::int32_t width[kWays];
  std::uint32_t extension[kWays];
  const std::uint8_t* end;  // of what may be read

  // The blocks from `first` on, the first of which stands at *at; moves it behind the last one.
  HWY_INLINE BlockSquare(const PackedGroup& g, int first, const std::uint8_t** at) : end(g.end) {
    const bool is_signed = g.predictor != Predictor::none_unsigned;
    for (int j = 0; j < kWays; ++j) {
      p[j] = *at;
      width[j] = g.width[first + j];
      extension[j] = is_signed && width[j] > 0 ? load<std::uint32_t>(*at + 4 * (width[j] - 1)) : 0;
      *at += 4 * width[j];
    }
  }
  // Planes [from, from + kWays) of each block, transposed to `out`.
  HWY_INLINE void Get(int from, std::uint32_t* out) const {
    const Words d;
    const Tag<std::int32_t> di;
    const auto place = hn::Add(hn::Iota(di, 0), hn::Set(di, from));
    const auto stored = [&](int j) HWY_ATTR { return hn::BitCast(d, hn::LoadU(Tag<std::uint8_t>(), p[j] + 4 * from)); };
    const auto extended = [&](int j, V32 planes) HWY_ATTR {
      const auto keep = hn::RebindMask(d, hn::Lt(place, hn::Set(di, width[j])));
      return hn::IfThenElse(keep, planes, hn::Set(d, extension[j]));
    };
    if (HWY_LIKELY(end - p[kWays - 1] >= 4 * (from + kWays))) {
      TransposeWords([&](int j) HWY_ATTR { return extended(j, stored(j)); }, out, kWays);
      return;
    }
    // Near the group's end only what is there is read.
    TransposeWords(
        [&](int j) HWY_ATTR {
          if (end - p[j] >= 4 * (from + kWays)) return extended(j, stored(j));
          alignas(32) std::uint32_t some[kWays] = {};
          for (int i = 0; i < kWays && from + i < width[j]; ++i) some[i] = load<std::uint32_t>(p[j] + 4 * (from + i));
          return extended(j, hn::Load(d, some));
        },
        out, kWays);
  }
};

// Adds kWays blocks of a and b (of ~b, plus 1, if b is negated) plane by plane: sums to `sum`, 32 planes a block, and their widths.
template <bool kSigned>
HWY_INLINE void AddSquare(const BlockSquare& a, const BlockSquare& b, bool negate_b, int planes, std::uint32_t* sum,
                          std::uint32_t* width) {
  const Words d;
  const auto invert = hn::Set(d, negate_b ? ~0u : 0u), zero = hn::Zero(d);
  auto carry = invert, before = zero, most = zero;
  alignas(32) std::uint32_t pa[kWays * kWays], pb[kWays * kWays];
  for (int from = 0; from < planes; from += kWays) {
    a.Get(from, pa);
    b.Get(from, pb);
    for (int i = 0; i < kWays; ++i) {
      const auto va = hn::Load(d, pa + kWays * i), vb = hn::Xor(hn::Load(d, pb + kWays * i), invert);
      const auto either = hn::Xor(va, vb), s = hn::Xor(either, carry);
      carry = hn::Or(hn::And(va, vb), hn::And(either, carry));
      // The least width: one more than the last plane that differs from the one below it, or, unsigned, from 0.
      most = hn::IfThenElse(hn::Eq(s, before), most, hn::Set(d, static_cast<std::uint32_t>(from + i + 1)));
      if constexpr (kSigned) before = s;
      hn::Store(s, d, pa + kWays * i);
    }
    TransposeWords([&](int j) HWY_ATTR { return hn::Load(d, pa + kWays * j); }, sum + from, 32);
  }
  hn::Store(most, d, width);
}

// Planes of a + b or a - b at `at`, and their widths; where they end, or null if unsigned residuals would need 32 bits.
// Up to 28 bytes more are written.
template <bool kSigned>
HWY_INLINE std::uint8_t* AddPlanes(const PackedGroup& a, const PackedGroup& b, bool negate_b, std::uint8_t* width,
                                   std::uint8_t* at) {
  const Words d;
  const Tag<std::uint8_t> d8;
  const bool both_signed = a.predictor != Predictor::none_unsigned && b.predictor != Predictor::none_unsigned;
  const int more = kSigned && !both_signed ? 2 : 1;  // planes that a sum may have above its operands'
  const std::uint8_t *pa = a.planes, *pb = b.planes;
  for (int first = 0; first < kBlocks; first += kWays) {
    int most = 0;
    for (int j = first; j < first + kWays; ++j) most = std::max({most, int{a.width[j]}, int{b.width[j]}});
    if (most == 0) {
      std::memset(width + first, 0, kWays);
      continue;
    }
    alignas(32) std::uint32_t sum[kWays * 32], w[kWays];
    AddSquare<kSigned>(BlockSquare(a, first, &pa), BlockSquare(b, first, &pb), negate_b, std::min(most + more, 32), sum,
                       w);
    for (int j = 0; j < kWays; ++j) {
      if (!kSigned && w[j] == 32) return nullptr;
      width[first + j] = static_cast<std::uint8_t>(w[j]);
      for (std::uint32_t i = 0; i < w[j]; i += kWays)
        hn::StoreU(hn::BitCast(d8, hn::Load(d, sum + 32 * j + i)), d8, at + 4 * i);
      at += 4 * w[j];
    }
  }
  return at;
}

// a + b or a - b, of one order, that of p; between(p) as for WriteGroup. Words; declined if it cannot be a narrow group.
template <class Between>
std::size_t AddSameOrder(const PackedGroup& a, const PackedGroup& b, bool negate_b, Predictor p, std::uint8_t* out,
                         const Between& between) {
  const auto plus = [negate_b](std::int32_t x, std::int32_t y) {
    const auto u = static_cast<std::uint32_t>(x), v = static_cast<std::uint32_t>(y);
    return static_cast<std::int32_t>(negate_b ? u - v : u + v);
  };
  alignas(8) std::uint8_t width[kBlocks];
  std::uint8_t* planes = between(out + write_head(p, plus(a.base, b.base), plus(a.slope, b.slope), out));
  if (!planes) return kDeclined;
  std::uint8_t* at = p == Predictor::none_unsigned ? AddPlanes<false>(a, b, negate_b, width, planes)
                                                   : AddPlanes<true>(a, b, negate_b, width, planes);
  return at ? finish_packed(width, at, out) : kDeclined;
}

// The same for a and b of any order.
template <class Between>
std::size_t AddPacked(const PackedGroup& a, const PackedGroup& b, bool negate_b, std::uint8_t* out,
                      const Between& between) {
  Predictor p = a.predictor > b.predictor ? a.predictor : b.predictor;
  if (negate_b && p == Predictor::none_unsigned) p = Predictor::none_signed;
  const int order = order_of(p), above_a = order - order_of(a.predictor), above_b = order - order_of(b.predictor);
  if (above_a == 0 && above_b == 0) return AddSameOrder(a, b, negate_b, p, out, between);
  PlaneBuffer buffers[2];
  PackedGroup up = raised(above_a > 0 ? a : b, buffers[0]);
  if (above_a + above_b > 1) up = raised(up, buffers[1]);
  return above_a > 0 ? AddSameOrder(up, b, negate_b, p, out, between) : AddSameOrder(a, up, negate_b, p, out, between);
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of a file that is included once for each target
