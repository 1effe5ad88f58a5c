// A block of 16-bit residuals between bit planes and one vector of 64 bytes. No branch depends on the width.
#if defined(STRETTO_PORTABLE_WORDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_WORDS_INL_H_
#undef STRETTO_PORTABLE_WORDS_INL_H_
#else
#define STRETTO_PORTABLE_WORDS_INL_H_
#endif

#include "codec/portable/packed_group.hpp"
#include "codec/portable/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_WORDS

using Words16 = hn::FixedTag<std::int16_t, kBlock>;
using VWords = hn::Vec<Words16>;
using Planes16 = hn::FixedTag<std::uint32_t, 16>;
using BlockBytes = hn::FixedTag<std::uint8_t, 2 * kBlock>;
using VBlockBytes = hn::Vec<BlockBytes>;

// Each 16 bytes hold bytes of eight values, or (by planes) of four planes.
alignas(64) inline constexpr std::uint32_t kSquareOfFour[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
alignas(16) inline constexpr std::uint8_t kBytesOfFour[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};

template <int kBy, class V>
HWY_INLINE V SwapBits(V x, std::uint64_t low) {
  const hn::DFromV<V> d;
  const auto kept = hn::IfVecThenElse(hn::Set(d, low), hn::ShiftRight<kBy>(x), x);
  return hn::IfVecThenElse(hn::Set(d, low << kBy), hn::ShiftLeft<kBy>(x), kept);
}

HWY_INLINE VBlockBytes TransposeBlockBits(VBlockBytes v) {
  auto x = hn::BitCast(hn::Repartition<std::uint64_t, BlockBytes>(), v);
  x = SwapBits<7>(x, 0x00aa00aa00aa00aa);
  x = SwapBits<14>(x, 0x0000cccc0000cccc);
  x = SwapBits<28>(x, 0x00000000f0f0f0f0);
  return hn::BitCast(BlockBytes(), x);
}

// 32-bit words as a 4 x 4 matrix of the vector, and bytes within each 16 bytes.
HWY_INLINE VBlockBytes SwapWords(VBlockBytes v) {
  const Planes16 d;
  return hn::BitCast(BlockBytes(), hn::TableLookupLanes(hn::BitCast(d, v), hn::SetTableIndices(d, kSquareOfFour)));
}
HWY_INLINE VBlockBytes SwapBytes(VBlockBytes v) {
  return hn::TableLookupBytes(v, hn::LoadDup128(BlockBytes(), kBytesOfFour));
}

// The sign bit of numbers of w bits, twice in a word; none for 0 bits or unsigned numbers.
struct SignBits {
  std::uint32_t of[17] = {};
  constexpr explicit SignBits(bool is_signed) noexcept {
    for (int w = 1; is_signed && w <= 16; ++w) of[w] = 0x00010001u << (w - 1);
  }
};
inline constexpr SignBits kSignBits(true), kNoSignBits(false);

HWY_INLINE VWords ReadWords(const std::uint8_t* p, std::uint8_t w, const SignBits& signs) {
  const Planes16 d;
  const Words16 d16;
  alignas(16) static constexpr std::uint8_t kTogether[16] = {0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15};
  const auto planes = hn::MaskedLoad(hn::FirstN(d, w), d, reinterpret_cast<const std::uint32_t*>(p));
  const auto bytes = TransposeBlockBits(SwapWords(SwapBytes(hn::BitCast(BlockBytes(), planes))));
  const auto v = hn::BitCast(d16, hn::TableLookupBytes(bytes, hn::LoadDup128(BlockBytes(), kTogether)));
  const auto sign = hn::BitCast(d16, hn::Set(d, signs.of[w]));
  return hn::Sub(hn::Xor(v, sign), sign);
}

template <bool kSigned>
HWY_INLINE int WriteWords(VWords v, std::uint8_t* p) {
  const Planes16 d;
  const BlockBytes d8;
  alignas(16) static constexpr std::uint8_t kApart[16] = {0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15};
  alignas(64) static constexpr std::uint32_t kBelow[16] = {0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  const auto bytes = hn::TableLookupBytes(hn::BitCast(d8, v), hn::LoadDup128(d8, kApart));
  const auto planes = hn::BitCast(d, SwapBytes(SwapWords(TransposeBlockBits(bytes))));
  hn::StoreU(hn::BitCast(d8, planes), d8, p);
  auto below = hn::Zero(d);
  if constexpr (kSigned)
    below = hn::IfThenElseZero(hn::Not(hn::FirstN(d, 1)), hn::TableLookupLanes(planes, hn::SetTableIndices(d, kBelow)));
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(d, hn::Ne(planes, below), bits);
  return std::bit_width(2u * load<std::uint16_t>(bits) + 1) - 1;  // avoids a branch for no planes
}

#endif  // STRETTO_PORTABLE_WORDS
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
