#if defined(STRETTO_PORTABLE_ENCODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_ENCODE_INL_H_
#undef STRETTO_PORTABLE_ENCODE_INL_H_
#else
#define STRETTO_PORTABLE_ENCODE_INL_H_
#endif

#include "codec/numbers/wrapping.hpp"
#include "codec/portable/blocks-inl.h"
#include "codec/portable/codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

struct Start {
  std::int32_t base = 0, slope = 0;
};

// Raised codes have no slope (docs/format.md, Sums).
template <class T>
HWY_INLINE Start StartOf(Predictor own, Predictor result, const T* q) {
  if (own == Predictor::first) return {q[0], 0};
  if (own != Predictor::second || result != own) return {};
  const auto slope = wrapping_difference<std::int32_t>(q[1], q[0]);
  return {wrapping_difference<std::int32_t>(q[0], slope), slope};
}

template <class T>
HWY_INLINE void Precede(T* q, Start start) {
  q[-1] = static_cast<T>(start.base);
  q[-2] = static_cast<T>(wrapping_difference(start.base, start.slope));
}

// The head is at `out`, the planes begin at `at`. `order`, the differences of q, may be less than the predictor's.
template <class Summand>
HWY_INLINE std::size_t FinishRow(Predictor p, int order, const std::int16_t* q, Summand summand, const void* ahead,
                                 std::uint8_t* at, std::uint8_t* out) {
  alignas(8) std::uint8_t width[kBlocks];
  constexpr bool kUnsignedSummand = Summand::kSome && !Summand::kSigned;
  if constexpr (kUnsignedSummand)
    at = p != Predictor::none_unsigned ? EncodeRow<0, true>(q, summand, ahead, width, at)
                                       : EncodeRow<0, false>(q, summand, ahead, width, at);
  else if (order == 2)
    at = EncodeRow<2, true>(q, summand, ahead, width, at);
  else if (order == 1)
    at = EncodeRow<1, true>(q, summand, ahead, width, at);
  else if (p != Predictor::none_unsigned)
    at = EncodeRow<0, true>(q, summand, ahead, width, at);
  else
    at = EncodeRow<0, false>(q, summand, ahead, width, at);
  return finish_packed(width, at, out);
}

template <class Between>
std::size_t CompressAs(Predictor p, std::int16_t* q, const void* ahead, std::uint8_t* out, const Between& between) {
  const Start start = StartOf(p, p, q);
  std::uint8_t* planes = between(out + write_head(p, start.base, start.slope, out));
  if (!planes) return kDeclined;
  Precede(q, start);
  return FinishRow(p, order_of(p), q, NoSummand(), ahead, planes, out);
}
template <class Between>
std::size_t CompressAs(Predictor p, std::int32_t* q, const void*, std::uint8_t* out, const Between& between) {
  Row<std::int32_t> e;
  const Start start = StartOf(p, p, q);
  const std::int32_t* residuals = ResidualsFrom(order_of(p), q, e.at(), start.base, start.slope);
  return WriteGroup(p, start.base, start.slope, residuals, out, between);
}
template <class Between>
std::size_t CompressAs(Predictor p, Codes1024& codes, const void* ahead, std::uint8_t* out, const Between& between) {
  return codes.is_small ? CompressAs(p, codes.small.at(), ahead, out, between)
                        : CompressAs(p, codes.large.at(), ahead, out, between);
}

template <bool kSigned>
HWY_INLINE void AddResiduals(const PackedGroup& a, std::int16_t* q) {
  const Part d;
  const std::uint8_t* p = a.planes;
  for (int b = 0; b < kBlocks; ++b, q += kBlock) {
    ReadSummand<kSigned>(p, a.width[b], [&](int i, hn::Vec<Part> v) HWY_ATTR {
      std::int16_t* to = q + kPartLanes * static_cast<std::size_t>(i);
      hn::Store(hn::Add(hn::Load(d, to), v), d, to);
    });
    p += 4 * a.width[b];
  }
}
HWY_INLINE void AddResiduals(const PackedGroup& a, std::int16_t* q) {
  a.predictor == Predictor::none_unsigned ? AddResiduals<false>(a, q) : AddResiduals<true>(a, q);
}
HWY_INLINE void AddResiduals(const PackedGroup& a, std::int32_t* q) {
  const Tag<std::int32_t> d;
  Row<std::int32_t> e;
  ReadResiduals(a, e.at());
  for (std::size_t i = 0; i < kGroup; i += kLanes<std::int32_t>)
    hn::Store(hn::Add(hn::Load(d, q + i), hn::Load(d, e.at() + i)), d, q + i);
}

// Intermediate values may wrap around modulo 2^16.
HWY_INLINE bool SumsAreSmall(const PackedGroup& a, const Codes1024& codes, Predictor result) {
  if (!codes.is_small || a.widest > 14) return false;
  const int order = order_of(result), at = order_of(a.predictor);
  const bool is_unsigned = a.predictor == Predictor::none_unsigned;
  // The range includes zero, so it bounds differences from zero.
  const auto range = static_cast<std::uint32_t>(codes.range.most - codes.range.least);
  const std::uint32_t most = is_unsigned ? 1u << a.widest : 1u << a.widest >> 1, span = 1u << a.widest;
  std::uint32_t reach = (order == 0 ? range : range << (order - 1)) + most;
  if (at < order) reach = at == 0 ? (range + span) << (order - 1) : 2 * (range + most);
  return reach <= 0x7fff;
}

template <class Between>
std::size_t AddRow(const PackedGroup& a, Predictor own, Predictor result, std::int16_t* q, const void* ahead,
                   std::uint8_t* out, const Between& between) {
  const Start start = StartOf(own, result, q);
  std::uint8_t* const at =
      between(out + write_head(result, wrapping_sum(a.base, start.base), wrapping_sum(a.slope, start.slope), out));
  if (!at) return kDeclined;
  const int order = order_of(result), joins = order_of(a.predictor);
#if STRETTO_PORTABLE_WORDS
  if (order == 0) {
    return a.predictor == Predictor::none_unsigned
               ? FinishRow(result, 0, q, PlanesSummand<false>{a.planes, a.width}, ahead, at, out)
               : FinishRow(result, 0, q, PlanesSummand<true>{a.planes, a.width}, ahead, at, out);
  }
#endif
  if (joins == 0) AddResiduals(a, q);
  Precede(q, start);
  if (joins == 0) return FinishRow(result, order, q, NoSummand(), ahead, at, out);
  if (joins == order) return FinishRow(result, order, q, PlanesSummand<true>{a.planes, a.width}, ahead, at, out);
  Row<std::int16_t> first;
  std::int16_t* const f = first.at();
  for (std::size_t i = 0; i < kGroup; i += kPartLanes) hn::Store(Differences<1>(q + i), Part(), f + i);
  AddResiduals(a, f);
  f[-1] = static_cast<std::int16_t>(start.slope);
  return FinishRow(result, 1, f, NoSummand(), ahead, at, out);
}

// Modulo 2^32. Declines unsigned sums that need 32 bits.
HWY_INLINE std::size_t AddRow(const PackedGroup& a, Predictor own, Predictor result, std::int32_t* q,
                              std::uint8_t* out) {
  Row<std::int32_t> rows[2];
  const Start start = StartOf(own, result, q);
  std::uint8_t* const at =
      out + write_head(result, wrapping_sum(a.base, start.base), wrapping_sum(a.slope, start.slope), out);
  const int order = order_of(result), joins = order_of(a.predictor);
  std::int32_t* e = rows[0].at();
  if (joins == 0) AddResiduals(a, q);
  if (order == 2 && joins == 1) {
    Difference(q, start.base, rows[1].at());
    AddResiduals(a, rows[1].at());
    Difference(rows[1].at(), start.slope, e);
  } else {
    e = ResidualsFrom(order, q, e, start.base, start.slope);
    if (order > 0 && joins == order) AddResiduals(a, e);
  }
  alignas(8) std::uint8_t width[kBlocks];
  std::uint8_t* const end = WritePlanes(result != Predictor::none_unsigned, e, width, at);
  if (result == Predictor::none_unsigned && *std::max_element(width, width + kBlocks) == 32) return kDeclined;
  return finish_packed(width, end, out);
}

HWY_INLINE std::size_t AddCodes(const PackedGroup& a, Codes1024& codes, const void* ahead, std::uint8_t* out) {
  const Predictor own = codes.predictor(), result = a.predictor > own ? a.predictor : own;
  if (SumsAreSmall(a, codes, result)) return AddRow(a, own, result, codes.small.at(), ahead, out, kNothing);
  if (codes.is_small) Widen(codes.small.at(), codes.large.at());
  return AddRow(a, own, result, codes.large.at(), out);
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
