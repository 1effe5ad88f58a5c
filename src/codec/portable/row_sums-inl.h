// Sums of groups of different orders in words of 16 bits: there one has to be raised, which is quicker than by bit planes (raise.hpp).
#if defined(STRETTO_PORTABLE_ROW_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_ROW_SUMS_INL_H_
#undef STRETTO_PORTABLE_ROW_SUMS_INL_H_
#else
#define STRETTO_PORTABLE_ROW_SUMS_INL_H_
#endif

#include "codec/portable/encode-inl.h"
#include "codec/portable/plane_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

// The largest residual of g raised so often.
inline std::uint32_t Reach(const PackedGroup& g, int raised) {
  return (g.predictor == Predictor::none_unsigned ? 1u << g.widest : 1u << g.widest >> 1) << raised;
}

// Sums of one order are quicker by planes up to so many.
inline constexpr int kWidestByPlanes = STRETTO_PORTABLE_WORDS ? 6 : 32;

// Whether AddRows() takes these: orders that differ, or many planes, and sums that 16 bits hold.
inline bool RowsSuit(const PackedGroup& a, const PackedGroup& b, bool negate_b) {
  const int above = order_of(b.predictor) - order_of(a.predictor), widest = std::max(a.widest, b.widest);
  if ((above == 0 && widest <= kWidestByPlanes) || (negate_b && above > 0) || widest > 14) return false;
  return Reach(a, std::max(above, 0)) + Reach(b, std::max(-above, 0)) <= 0x7fff;
}

#if STRETTO_PORTABLE_WORDS
inline const SignBits& SignsOf(const PackedGroup& g) {
  return g.predictor == Predictor::none_unsigned ? kNoSignBits : kSignBits;
}

// Planes and widths of a + b or a - b, which are of one order; where the planes end.
template <bool kNegate, bool kSigned>
HWY_NOINLINE std::uint8_t* AddWords(const PackedGroup& a, const PackedGroup& b, std::uint8_t* width, std::uint8_t* at) {
  const SignBits &signs_a = SignsOf(a), &signs_b = SignsOf(b);
  const std::uint8_t *pa = a.planes, *pb = b.planes;
  for (int i = 0; i < kBlocks; ++i) {
    const VWords va = ReadWords(pa, a.width[i], signs_a), vb = ReadWords(pb, b.width[i], signs_b);
    const int w = WriteWords<kSigned>(kNegate ? hn::Sub(va, vb) : hn::Add(va, vb), at);
    width[i] = static_cast<std::uint8_t>(w);
    pa += 4 * a.width[i];
    pb += 4 * b.width[i];
    at += 4 * w;
  }
  return at;
}
#endif

// a + b or a - b; words. The one of the lower order goes to a row; the other joins it as it is packed.
inline std::size_t AddRows(const PackedGroup& a, const PackedGroup& b, bool negate_b, std::uint8_t* out) {
  const auto plus = [negate_b](std::int32_t u, std::int32_t v) {
    return negate_b ? wrapping_difference(u, v) : wrapping_sum(u, v);
  };
  alignas(8) std::uint8_t width[kBlocks];
#if STRETTO_PORTABLE_WORDS
  if (order_of(a.predictor) == order_of(b.predictor)) {
    Predictor p = std::max(a.predictor, b.predictor);
    if (negate_b && p == Predictor::none_unsigned) p = Predictor::none_signed;
    std::uint8_t* const at = out + write_head(p, plus(a.base, b.base), plus(a.slope, b.slope), out);
    std::uint8_t* const end = negate_b                        ? AddWords<true, true>(a, b, width, at)
                              : p != Predictor::none_unsigned ? AddWords<false, true>(a, b, width, at)
                                                              : AddWords<false, false>(a, b, width, at);
    return finish_packed(width, end, out);
  }
#endif
  const bool a_is_lower = order_of(a.predictor) < order_of(b.predictor);
  const PackedGroup &low = a_is_lower ? a : b, &high = a_is_lower ? b : a;
  Row<std::int16_t> row;
  std::int16_t* const e = row.at();
  ReadRow(low, negate_b, e);
  Precede(e, {});
  std::uint8_t* const at = out + write_head(high.predictor, plus(a.base, b.base), plus(a.slope, b.slope), out);
  const PlanesSummand<true> summand{high.planes, high.width};
  std::uint8_t* const end = order_of(high.predictor) - order_of(low.predictor) == 1
                                ? EncodeRow<1, true>(e, summand, nullptr, width, at)
                                : EncodeRow<2, true>(e, summand, nullptr, width, at);
  return finish_packed(width, end, out);
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of a file that is included once for each target
