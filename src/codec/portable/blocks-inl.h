// Blocks of 16-bit residuals between bit planes and vectors, in registers.
#if defined(STRETTO_PORTABLE_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_BLOCKS_INL_H_
#undef STRETTO_PORTABLE_BLOCKS_INL_H_
#else
#define STRETTO_PORTABLE_BLOCKS_INL_H_
#endif

#include "codec/portable/planes-inl.h"
#include "codec/portable/words-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

using V16 = hn::Vec<Tag<std::int16_t>>;
inline constexpr std::size_t kLanes16 = kLanes<std::int16_t>;
inline constexpr int kParts = static_cast<int>(kBlock / kLanes16);

// Calls put(i, v) for each vector of a block of w planes at p; w is at most 15, or 16 if signed. Reads up to 32 bytes
// behind the planes.
template <bool kSigned, class Put>
HWY_INLINE void ReadBlock(const std::uint8_t* p, int w, const Put& put) {
  const Tag<std::uint8_t> d;
  const Tag<std::int16_t> d16;
  const std::uint32_t fill = kSigned && w > 0 ? load<std::uint32_t>(p + 4 * (w - 1)) : 0;
  const auto half = [&](auto which) HWY_ATTR {
    constexpr int kHalf = decltype(which)::value;
    const V8 low = PlaneBytes<kHalf>(p, w < 8 ? w : 8, fill);
    if (w > 8) {
      const V8 high = PlaneBytes<kHalf>(p + 32, w - 8, fill);
      put(2 * kHalf, hn::BitCast(d16, hn::InterleaveLower(d, low, high)));
      put(2 * kHalf + 1, hn::BitCast(d16, hn::InterleaveUpper(d, low, high)));
    } else if constexpr (kSigned) {
      put(2 * kHalf, hn::ShiftRight<8>(hn::BitCast(d16, hn::InterleaveLower(d, low, low))));
      put(2 * kHalf + 1, hn::ShiftRight<8>(hn::BitCast(d16, hn::InterleaveUpper(d, low, low))));
    } else {
      put(2 * kHalf, hn::BitCast(d16, hn::InterleaveLower(d, low, hn::Zero(d))));
      put(2 * kHalf + 1, hn::BitCast(d16, hn::InterleaveUpper(d, low, hn::Zero(d))));
    }
  };
  half(std::integral_constant<int, 0>());
  if constexpr (kParts == 4) half(std::integral_constant<int, 1>());
}

HWY_INLINE std::uint32_t MostOfLanes(hn::Vec<Tag<std::uint16_t>> v) {
  // Most machines have one instruction for the minimum of eight unsigned words.
  if constexpr (kBytes == 32) {
    const hn::Half<Tag<std::uint16_t>> half;
    const auto both = hn::Or(hn::LowerHalf(half, v), hn::UpperHalf(half, v));
    return 0xffffu ^ hn::GetLane(hn::MinOfLanes(half, hn::Not(both)));
  } else {
    return 0xffffu ^ hn::GetLane(hn::MinOfLanes(Tag<std::uint16_t>(), hn::Not(v)));
  }
}

// get(0), get(1), ... are a block's vectors. Writes up to 32 bytes too many. Returns the least width.
template <bool kSigned, class Get>
HWY_INLINE int WriteBlock(const Get& get, std::uint8_t* p) {
  const Tag<std::int16_t> d;
  auto bits = hn::Zero(d);
  for (int i = 0; i < kParts; ++i) {
    const auto v = get(i);
    bits = hn::Or(bits, kSigned ? hn::Xor(hn::Add(v, v), hn::ShiftRight<15>(v)) : v);
  }
  const int w = std::bit_width(MostOfLanes(hn::BitCast(Tag<std::uint16_t>(), bits)));
  if constexpr (kParts == 2) {
    const auto v0 = get(0), v1 = get(1);
    BytesToPlanes(PackBytes<0>(v0, v1), PackBytes<0>(v0, v1), p);
    if (w > 8) BytesToPlanes(PackBytes<1>(v0, v1), PackBytes<1>(v0, v1), p + 32);
  } else {
    const auto v0 = get(0), v1 = get(1), v2 = get(2), v3 = get(3);
    BytesToPlanes(PackBytes<0>(v0, v1), PackBytes<0>(v2, v3), p);
    if (w > 8) BytesToPlanes(PackBytes<1>(v0, v1), PackBytes<1>(v2, v3), p + 32);
  }
  return w;
}

#if STRETTO_PORTABLE_WORDS
using Part = Words16;
#else
using Part = Tag<std::int16_t>;
#endif
inline constexpr std::size_t kPartLanes = STRETTO_PORTABLE_WORDS ? kBlock : kLanes16;

template <bool kSigned, class Put>
HWY_INLINE void ReadSummand(const std::uint8_t* p, std::uint8_t w, const Put& put) {
#if STRETTO_PORTABLE_WORDS
  put(0, ReadWords(p, w, kSigned ? kSignBits : kNoSignBits));
#else
  ReadBlock<kSigned>(p, w, put);
#endif
}

template <bool kSigned>
HWY_INLINE void ReadRow(const PackedGroup& g, std::int16_t* e) {
  const Part d;
  const std::uint8_t* p = g.planes;
  for (int b = 0; b < kBlocks; ++b, e += kBlock) {
    ReadSummand<kSigned>(p, g.width[b], [&](int i, hn::Vec<Part> v) HWY_ATTR {
      hn::Store(v, d, e + kPartLanes * static_cast<std::size_t>(i));
    });
    p += 4 * g.width[b];
  }
}
HWY_INLINE void ReadRow(const PackedGroup& g, std::int16_t* e) {
  g.predictor == Predictor::none_unsigned ? ReadRow<false>(g, e) : ReadRow<true>(g, e);
}

template <int kOrder>
HWY_INLINE hn::Vec<Part> Differences(const std::int16_t* q) {
  const Part d;
  auto v = hn::Load(d, q);
  if constexpr (kOrder > 0) {
    const auto before = hn::LoadU(d, q - 1);
    v = hn::Sub(v, before);
    if constexpr (kOrder == 2) v = hn::Sub(v, hn::Sub(before, hn::LoadU(d, q - 2)));
  }
  return v;
}

struct NoSummand {
  static constexpr bool kSome = false, kSigned = true;
};
template <bool kAreSigned>
struct PlanesSummand {
  static constexpr bool kSome = true, kSigned = kAreSigned;
  const std::uint8_t* p;
  const std::uint8_t* width;
};

template <int kOrder, bool kSigned, class Summand>
HWY_INLINE int EncodeBlock(const std::int16_t* q, const Summand& summand, int b, std::uint8_t* at) {
#if STRETTO_PORTABLE_WORDS
  auto v = Differences<kOrder>(q);
  if constexpr (Summand::kSome)
    v = hn::Add(v, ReadWords(summand.p, summand.width[b], Summand::kSigned ? kSignBits : kNoSignBits));
  return WriteWords<kSigned>(v, at);
#else
  const Part d;
  alignas(32) std::int16_t more[kBlock];
  if constexpr (Summand::kSome)
    ReadBlock<Summand::kSigned>(summand.p, summand.width[b], [&](int i, V16 v) HWY_ATTR {
      hn::Store(v, d, more + kLanes16 * static_cast<std::size_t>(i));
    });
  const auto get = [&](int part) HWY_ATTR {
    const std::size_t i = kLanes16 * static_cast<std::size_t>(part);
    const auto v = Differences<kOrder>(q + i);
    if constexpr (Summand::kSome) return hn::Add(v, hn::Load(d, more + i));
    return v;
  };
  return WriteBlock<kSigned>(get, at);
#endif
}

// A row, preceded by two earlier codes. Returns the end of the planes; may write 64 bytes more. `ahead` is read after
// this group.
template <int kOrder, bool kSigned, class Summand>
HWY_NOINLINE std::uint8_t* EncodeRow(const std::int16_t* q, Summand summand, const void* ahead, std::uint8_t* width,
                                     std::uint8_t* at) {
  const auto* next = static_cast<const std::uint8_t*>(ahead);  // null: no prefetch
  for (int b = 0; b < kBlocks; ++b, q += kBlock) {
    // A block takes as long as two lines of memory. All lines at once would exceed the outstanding misses.
    if (next) {
      hwy::Prefetch(next + 128 * b);
      hwy::Prefetch(next + 128 * b + 64);
    }
    const int w = EncodeBlock<kOrder, kSigned>(q, summand, b, at);
    if constexpr (Summand::kSome) summand.p += 4 * summand.width[b];
    width[b] = static_cast<std::uint8_t>(w);
    at += 4 * w;
  }
  return at;
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
