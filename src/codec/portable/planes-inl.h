// 32 residuals to bit planes and back, by 8 x 8 bit transpositions. Planes 0-7, with the bytes of 8 values sorted
// together, become the low bytes of 32 values.
#if defined(STRETTO_PORTABLE_PLANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_PLANES_INL_H_
#undef STRETTO_PORTABLE_PLANES_INL_H_
#else
#define STRETTO_PORTABLE_PLANES_INL_H_
#endif

#include "codec/portable/packed_group.hpp"
#include "codec/portable/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

using V8 = hn::Vec<Tag<std::uint8_t>>;

// Row n keeps the first n of eight planes.
alignas(32) inline constexpr std::uint32_t kFirstPlanes[9][8] = {
    {0},
    {~0u},
    {~0u, ~0u},
    {~0u, ~0u, ~0u},
    {~0u, ~0u, ~0u, ~0u},
    {~0u, ~0u, ~0u, ~0u, ~0u},
    {~0u, ~0u, ~0u, ~0u, ~0u, ~0u},
    {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u},
    {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u},
};

// Bit j of byte i <-> bit i of byte j, in each 8 bytes.
HWY_INLINE V8 TransposeBits(V8 v) {
  const Tag<std::uint64_t> d;
  auto x = hn::BitCast(d, v);
  auto t = hn::And(hn::Xor(x, hn::ShiftRight<7>(x)), hn::Set(d, 0x00aa00aa00aa00aa));
  x = hn::Xor3(x, t, hn::ShiftLeft<7>(t));
  t = hn::And(hn::Xor(x, hn::ShiftRight<14>(x)), hn::Set(d, 0x0000cccc0000cccc));
  x = hn::Xor3(x, t, hn::ShiftLeft<14>(t));
  t = hn::And(hn::Xor(x, hn::ShiftRight<28>(x)), hn::Set(d, 0x00000000f0f0f0f0));
  x = hn::Xor3(x, t, hn::ShiftLeft<28>(t));
  return hn::BitCast(Tag<std::uint8_t>(), x);
}

HWY_INLINE V8 TransposeBytes(V8 v) {
  alignas(16) static constexpr std::uint8_t kIndex[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  const Tag<std::uint8_t> d;
  return hn::TableLookupBytes(v, hn::LoadDup128(d, kIndex));
}

// Eight planes to bytes; `fill` replaces those beyond the first `count`. Places 0-7 and 16-23 come first, so that
// interleaving two vectors gives words in order. 16-byte vectors hold places from 16 kHalf on.
template <int kHalf>
HWY_INLINE V8 PlaneBytes(const std::uint8_t* planes, int count, std::uint32_t fill) {
  const Tag<std::uint8_t> d;
  const Tag<std::uint32_t> d32;
  const auto* keep = reinterpret_cast<const std::uint8_t*>(kFirstPlanes[count]);
  const V8 others = hn::BitCast(d, hn::Set(d32, fill));
  if constexpr (kBytes == 32) {
    alignas(32) static constexpr std::uint32_t kPairs[8] = {0, 4, 2, 6, 1, 5, 3, 7};
    const V8 v = TransposeBytes(hn::IfVecThenElse(hn::Load(d, keep), hn::LoadU(d, planes), others));
    const auto words = hn::TableLookupLanes(hn::BitCast(d32, v), hn::SetTableIndices(d32, kPairs));
    return TransposeBits(hn::BitCast(d, words));
  } else {
    const auto four = [&](std::size_t i) HWY_ATTR {
      return hn::BitCast(d32,
                         TransposeBytes(hn::IfVecThenElse(hn::Load(d, keep + i), hn::LoadU(d, planes + i), others)));
    };
    const auto low = four(0), high = four(16);
    return TransposeBits(
        hn::BitCast(d, kHalf ? hn::InterleaveUpper(d32, low, high) : hn::InterleaveLower(d32, low, high)));
  }
}

// Byte kByte of each word: halves of a block, or quarters with 16-byte vectors. Order: places 0-7 and 16-23, then 8-15
// and 24-31; with 16 bytes in order.
template <int kByte, class V>
HWY_INLINE V8 PackBytes(V v0, V v1) {
  const Tag<std::uint8_t> d;
  const Tag<std::uint16_t> d16;
  const auto w0 = hn::BitCast(d16, v0), w1 = hn::BitCast(d16, v1);
  const auto low = hn::Set(d16, 0x00ff);
  const auto both =
      kByte ? hn::Or(hn::ShiftRight<8>(w0), hn::AndNot(low, w1)) : hn::Or(hn::And(w0, low), hn::ShiftLeft<8>(w1));
  alignas(16) static constexpr std::uint8_t kApart[16] = {0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15};
  return hn::TableLookupBytes(hn::BitCast(d, both), hn::LoadDup128(d, kApart));
}

HWY_INLINE void PlanesToBytes(const std::uint8_t* planes, int count, std::uint8_t* bytes) {
  const Tag<std::uint8_t> d;
  const Tag<std::uint32_t> d32;
  const auto* keep = reinterpret_cast<const std::uint8_t*>(kFirstPlanes[count]);
  if constexpr (kBytes == 32) {
    alignas(32) static constexpr std::uint32_t kPairs[8] = {0, 4, 1, 5, 2, 6, 3, 7};
    const V8 v = TransposeBytes(hn::And(hn::LoadU(d, planes), hn::Load(d, keep)));
    const auto words = hn::TableLookupLanes(hn::BitCast(d32, v), hn::SetTableIndices(d32, kPairs));
    hn::Store(TransposeBits(hn::BitCast(d, words)), d, bytes);
  } else {
    const auto low = hn::BitCast(d32, TransposeBytes(hn::And(hn::LoadU(d, planes), hn::Load(d, keep))));
    const auto high = hn::BitCast(d32, TransposeBytes(hn::And(hn::LoadU(d, planes + 16), hn::Load(d, keep + 16))));
    hn::Store(TransposeBits(hn::BitCast(d, hn::InterleaveLower(d32, low, high))), d, bytes);
    hn::Store(TransposeBits(hn::BitCast(d, hn::InterleaveUpper(d32, low, high))), d, bytes + 16);
  }
}

// From bytes in PackBytes' order (a, and b with 16-byte vectors).
HWY_INLINE void BytesToPlanes(V8 a, V8 b, std::uint8_t* planes) {
  const Tag<std::uint8_t> d;
  const Tag<std::uint32_t> d32;
  const auto words = hn::BitCast(d32, TransposeBits(a));
  if constexpr (kBytes == 32) {
    alignas(32) static constexpr std::uint32_t kEvenOdd[8] = {0, 4, 2, 6, 1, 5, 3, 7};
    const auto sorted = hn::TableLookupLanes(words, hn::SetTableIndices(d32, kEvenOdd));
    hn::StoreU(TransposeBytes(hn::BitCast(d, sorted)), d, planes);
  } else {
    const auto more = hn::BitCast(d32, TransposeBits(b));
    hn::StoreU(TransposeBytes(hn::BitCast(d, hn::ConcatEven(d32, more, words))), d, planes);
    hn::StoreU(TransposeBytes(hn::BitCast(d, hn::ConcatOdd(d32, more, words))), d, planes + 16);
  }
}

template <int kByte, class T>
HWY_INLINE void PutPlanes(const T* e, std::uint8_t* planes) {
  const Tag<std::uint16_t> d16;
  if constexpr (sizeof(T) == 2) {
    const Tag<T> dt;
    const auto pack = [&](std::size_t i)
                          HWY_ATTR { return PackBytes<kByte>(hn::Load(dt, e + i), hn::Load(dt, e + i + kLanes<T>)); };
    BytesToPlanes(pack(0), pack(kBytes == 32 ? 0 : 16), planes);
  } else {
    alignas(32) std::int16_t half[kBlock];
    for (std::size_t i = 0; i < kBlock; i += kLanes<std::int16_t>) {
      const auto v0 = hn::BitCast(d16, hn::Load(Tag<T>(), e + i));
      const auto v1 = hn::BitCast(d16, hn::Load(Tag<T>(), e + i + kLanes<T>));
      hn::Store(hn::BitCast(Tag<std::int16_t>(), kByte >= 2 ? hn::ConcatOdd(d16, v1, v0) : hn::ConcatEven(d16, v1, v0)),
                Tag<std::int16_t>(), half + i);
    }
    PutPlanes<kByte % 2>(half, planes);
  }
}

// Writes up to 28 bytes too many.
template <class T>
HWY_INLINE void PutBlock(const T* e, int w, std::uint8_t* p) {
  PutPlanes<0>(e, p);
  if (w > 8) PutPlanes<1>(e, p + 32);
  if constexpr (sizeof(T) == 4) {
    if (w > 16) PutPlanes<2>(e, p + 64);
    if (w > 24) PutPlanes<3>(e, p + 96);
  }
}

// Reads only below `end`.
HWY_INLINE void ReadPlanes(const std::uint8_t* p, const std::uint8_t* end, int count, std::uint8_t* bytes) {
  if (HWY_LIKELY(end - p >= 32)) {
    PlanesToBytes(p, count, bytes);
    return;
  }
  alignas(32) std::uint8_t last[32] = {};
  std::memcpy(last, p, 4 * static_cast<std::size_t>(count));
  PlanesToBytes(last, count, bytes);
}

// Writes to bytes + kGroup * kByte. Returns the bytes that the widest block needs.
HWY_INLINE int ReadBytes(const PackedGroup& g, std::uint8_t* bytes) {
  const int n = g.widest <= 8 ? 1 : (g.widest + 7) / 8;
  const std::uint8_t* p = g.planes;
  for (int b = 0; b < kBlocks; ++b) {
    const int w = g.width[b];
    std::uint8_t* to = bytes + kBlock * b;
    ReadPlanes(p, g.end, w < 8 ? w : 8, to);
    for (int k = 1; k < n; ++k) {
      const int left = w - 8 * k;
      if (left > 0)
        ReadPlanes(p + 32 * k, g.end, left < 8 ? left : 8, to + kGroup * k);
      else
        std::memset(to + kGroup * k, 0, kBlock);
    }
    p += 4 * w;
  }
  return n;
}

// Sign extended. T holds the widest block, and one more bit for predictor 0.
template <class T>
HWY_INLINE void ReadResiduals(const PackedGroup& g, T* e) {
  alignas(64) std::uint8_t bytes[sizeof(T) * kGroup];
  const Tag<T> d;
  if (g.widest == 0) {
    for (std::size_t i = 0; i < kGroup; i += kLanes<T>) hn::Store(hn::Zero(d), d, e + i);
    return;
  }
  using U = std::make_unsigned_t<T>;
  const hn::Rebind<std::uint8_t, Tag<U>> narrow;
  const Tag<U> du;
  const int n = ReadBytes(g, bytes);
  const bool is_signed = g.predictor != Predictor::none_unsigned;
  for (int b = 0; b < kBlocks; ++b) {
    const int w = g.width[b];
    const U top = is_signed && w > 0 ? static_cast<U>(U{1} << (w - 1)) : U{0};
    const auto sign = hn::Set(du, top);
    for (std::size_t i = kBlock * static_cast<std::size_t>(b); i < kBlock * static_cast<std::size_t>(b + 1);
         i += kLanes<T>) {
      auto v = hn::PromoteTo(du, hn::Load(narrow, bytes + i));
      if (n > 1) v = hn::Or(v, hn::ShiftLeft<8>(hn::PromoteTo(du, hn::Load(narrow, bytes + kGroup + i))));
      if constexpr (sizeof(T) == 4) {
        if (n > 2) v = hn::Or(v, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::Load(narrow, bytes + 2 * kGroup + i))));
        if (n > 3) v = hn::Or(v, hn::ShiftLeft<24>(hn::PromoteTo(du, hn::Load(narrow, bytes + 3 * kGroup + i))));
      }
      hn::Store(hn::BitCast(d, hn::Sub(hn::Xor(v, sign), sign)), d, e + i);
    }
  }
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
