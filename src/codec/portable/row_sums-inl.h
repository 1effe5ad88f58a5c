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

// Residuals of g, or what 0 less these is, in a row.
template <bool kSigned>
HWY_INLINE void ReadRow(const PackedGroup& g, bool negate, std::int16_t* e) {
  const Tag<std::int16_t> d;
  const std::uint8_t* p = g.planes;
  const auto invert = hn::Set(d, static_cast<std::int16_t>(negate ? -1 : 0));
  for (int b = 0; b < kBlocks; ++b, e += kBlock) {
    ReadBlock<kSigned>(p, g.width[b], [&](int i, V16 v) HWY_ATTR {
      hn::Store(hn::Sub(hn::Xor(v, invert), invert), d, e + kLanes16 * static_cast<std::size_t>(i));
    });
    p += 4 * g.width[b];
  }
}

// The largest residual of g raised so often.
inline std::uint32_t Reach(const PackedGroup& g, int raised) {
  return (g.predictor == Predictor::none_unsigned ? 1u << g.widest : 1u << g.widest >> 1) << raised;
}

// Whether AddRows() takes these: orders that differ (sums of one order are quicker by planes), and sums that 16 bits hold.
inline bool RowsSuit(const PackedGroup& a, const PackedGroup& b, bool negate_b) {
  const int above = order_of(b.predictor) - order_of(a.predictor);
  if (above == 0 || (negate_b && above > 0) || a.widest > 14 || b.widest > 14) return false;
  return Reach(a, std::max(above, 0)) + Reach(b, std::max(-above, 0)) <= 0x7fff;
}

// a + b or a - b; words. The one of the lower order goes to a row; the other joins it as it is packed.
inline std::size_t AddRows(const PackedGroup& a, const PackedGroup& b, bool negate_b, std::uint8_t* out) {
  const auto plus = [negate_b](std::int32_t u, std::int32_t v) {
    return negate_b ? wrapping_difference(u, v) : wrapping_sum(u, v);
  };
  const bool a_is_lower = order_of(a.predictor) < order_of(b.predictor);
  const PackedGroup &low = a_is_lower ? a : b, &high = a_is_lower ? b : a;
  Row<std::int16_t> rows[2];
  std::int16_t *e = rows[0].at(), *raised = rows[1].at();
  if (low.predictor == Predictor::none_unsigned)
    ReadRow<false>(low, negate_b, e);
  else
    ReadRow<true>(low, negate_b, e);
  for (int k = order_of(low.predictor); k < order_of(high.predictor); ++k) {
    Difference(e, std::int16_t{0}, raised);
    std::swap(e, raised);
  }
  alignas(8) std::uint8_t width[kBlocks];
  std::uint8_t* const at = out + write_head(high.predictor, plus(a.base, b.base), plus(a.slope, b.slope), out);
  std::uint8_t* const end = EncodeRow<0, true>(e, PlanesSummand{high.planes, high.width}, nullptr, width, at);
  return finish_packed(width, end, out);
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of a file that is included once for each target
