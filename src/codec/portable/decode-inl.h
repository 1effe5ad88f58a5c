// To float32 block by block, so that decoding overlaps the stores.
#if defined(STRETTO_PORTABLE_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_DECODE_INL_H_
#undef STRETTO_PORTABLE_DECODE_INL_H_
#else
#define STRETTO_PORTABLE_DECODE_INL_H_
#endif

#include "codec/portable/blocks-inl.h"
#include "codec/portable/residuals-inl.h"
#include "codec/portable/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

HWY_INLINE V16 RunningSum(V16 v, V16& carry) {
  const Tag<std::int16_t> d;
  const Tag<std::uint8_t> d8;
  const Tag<std::uint64_t> d64;
  alignas(16) static constexpr std::uint8_t kFourth[16] = {128, 128, 128, 128, 128, 128, 128, 128,
                                                           6,   7,   6,   7,   6,   7,   6,   7};
  alignas(16) static constexpr std::uint8_t kEighth[16] = {14, 15, 14, 15, 14, 15, 14, 15,
                                                           14, 15, 14, 15, 14, 15, 14, 15};
  v = hn::Add(v, hn::BitCast(d, hn::ShiftLeft<16>(hn::BitCast(d64, v))));
  v = hn::Add(v, hn::BitCast(d, hn::ShiftLeft<32>(hn::BitCast(d64, v))));
  v = hn::Add(v, hn::BitCast(d, hn::TableLookupBytesOr0(hn::BitCast(d8, v), hn::LoadDup128(d8, kFourth))));
  const auto total = hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(d8, v), hn::LoadDup128(d8, kEighth)));
  const auto before = carry;
  if constexpr (kBytes == 32) {
    const auto other = hn::ReverseBlocks(d, total), upper = hn::ConcatLowerLower(d, hn::Set(d, -1), hn::Zero(d));
    carry = hn::Add(carry, hn::Add(total, other));
    v = hn::Add(v, hn::And(other, upper));
  } else {
    carry = hn::Add(carry, total);
  }
  return hn::Add(v, before);
}

struct NoGaps {
  static constexpr bool kSome = false;
};
struct AlikeGaps {
  static constexpr bool kSome = true;
  const std::uint32_t* lanes;
  float value;
};

// For groups that MayBeSmall(). False (and garbage in y) unless the result is certainly right.
template <int kOrder, bool kSigned, bool kStream, class Gaps>
HWY_NOINLINE bool PutBlocks(const PackedGroup& g, const Grid<float>& grid, Gaps gaps, float* y) {
  const Tag<float> d;
  const Tag<std::int16_t> d16;
  const Tag<std::int32_t> d32;
  const hn::Rebind<std::int16_t, Tag<std::int32_t>> half;
  const auto width = hn::Set(d, grid.w);
  auto slope = hn::Set(d16, static_cast<std::int16_t>(g.slope)), code = hn::Set(d16, static_cast<std::int16_t>(g.base));
  auto least = hn::Zero(d16), most = least;
  const std::uint8_t* p = g.planes;
  for (int b = 0; b < kBlocks; ++b, y += kBlock) {
    alignas(32) std::int16_t codes[kBlock];
    ReadBlock<kSigned>(p, g.width[b], [&](int i, V16 v) HWY_ATTR {
      if constexpr (kOrder == 2) {
        v = RunningSum(v, slope);
        least = hn::Min(least, v);
        most = hn::Max(most, v);
      }
      if constexpr (kOrder >= 1) {
        v = RunningSum(v, code);
        least = hn::Min(least, v);
        most = hn::Max(most, v);
      }
      hn::Store(v, d16, codes + kLanes16 * static_cast<std::size_t>(i));
    });
    p += 4 * g.width[b];
    for (std::size_t i = 0; i < kBlock; i += kLanes<float>) {
      auto v = hn::Mul(hn::ConvertTo(d, hn::PromoteTo(d32, hn::Load(half, codes + i))), width);
      if constexpr (Gaps::kSome) {
        const std::uint8_t bits[8] = {static_cast<std::uint8_t>(gaps.lanes[b] >> i)};
        v = hn::IfThenElse(hn::LoadMaskBits(d, bits), hn::Set(d, gaps.value), v);
      }
      Put<kStream>(v, d, y + i);
    }
  }
  return hn::GetLane(hn::MinOfLanes(d16, least)) >= -kLimit16 && hn::GetLane(hn::MaxOfLanes(d16, most)) <= kLimit16;
}

template <bool kStream, class Gaps>
bool PutSmall(const PackedGroup& g, const Grid<float>& grid, Gaps gaps, float* y) {
  if (!MayBeSmall(g)) return false;
  switch (g.predictor) {
    case Predictor::none_unsigned: return PutBlocks<0, false, kStream>(g, grid, gaps, y);
    case Predictor::none_signed: return PutBlocks<0, true, kStream>(g, grid, gaps, y);
    case Predictor::first: return PutBlocks<1, true, kStream>(g, grid, gaps, y);
    case Predictor::second: break;
  }
  return PutBlocks<2, true, kStream>(g, grid, gaps, y);
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
