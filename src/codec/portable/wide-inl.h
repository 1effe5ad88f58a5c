// Groups of float64 with codes of more than 32 bits, and sums of wide groups. Bits become planes by vector code, all
// else is a loop over 64-bit integers.
#if defined(STRETTO_PORTABLE_WIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_WIDE_INL_H_
#undef STRETTO_PORTABLE_WIDE_INL_H_
#else
#define STRETTO_PORTABLE_WIDE_INL_H_
#endif

#include <bit>

#include "codec/numbers/quantise.hpp"
#include "codec/portable/values-inl.h"
#include "codec/stream/group_places.hpp"
#include "codec/stream/part.hpp"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

// With the checks of quantise(). False: some value has no code.
HWY_INLINE bool QuantiseWide(const double* x, const Grid<double>& grid, std::int64_t* q, std::uint64_t* bound) {
  const Tag<double> d;
  const auto magic = hn::Set(d, 0x1.8p52), r = hn::Set(d, grid.r), w = hn::Set(d, grid.w);
  const auto eps_e = hn::Set(d, grid.eps_e), eps_y = hn::Set(d, grid.eps_y);
  const auto hopeful = hn::Set(d, std::min(0x1p51, grid.finite_code));
  *bound = 0;
  for (std::size_t i = 0; i < kGroup; i += kLanes<double>) {
    const auto v = hn::LoadU(d, x + i), n = hn::Sub(hn::MulAdd(v, r, magic), magic);
    const auto e = hn::Abs(hn::NegMulAdd(n, w, v)), error = hn::Abs(hn::Sub(v, hn::Mul(n, w)));
    const auto near = hn::And(hn::Le(e, eps_e), hn::Le(error, eps_y));
    if (HWY_LIKELY(hn::AllTrue(d, hn::And(near, hn::Lt(hn::Abs(hn::Mul(v, r)), hopeful))))) {
      alignas(32) double codes[kLanes<double>];
      hn::Store(n, d, codes);
      for (std::size_t j = 0; j < kLanes<double>; ++j) q[i + j] = static_cast<std::int64_t>(codes[j]);
    } else {
      for (std::size_t j = 0; j < kLanes<double>; ++j)
        if (!codec::quantise(element(x, i + j), grid, q + i + j)) return false;
    }
  }
  for (int i = 0; i < kGroup; ++i) *bound = std::max(*bound, magnitude(q[i]));
  return true;
}

// Of 32 residuals. Returns the width; may write up to 28 bytes too many.
HWY_INLINE int PutWideBlock(const std::int64_t* e, bool is_signed, std::uint8_t* p) {
  alignas(64) std::int32_t low[kBlock], high[kBlock];
  std::uint64_t bits = 0;
  for (int j = 0; j < kBlock; ++j) {
    const auto v = static_cast<std::uint64_t>(e[j]), sign = static_cast<std::uint64_t>(e[j] >> 63);
    bits |= is_signed ? v << 1 ^ sign : v;
    low[j] = static_cast<std::int32_t>(v);
    high[j] = static_cast<std::int32_t>(v >> 32);
  }
  const int w = std::bit_width(bits);
  if (w > 0) PutBlock(low, std::min(w, 32), p);
  if (w > 32) PutBlock(high, w - 32, p + 128);
  return w;
}

HWY_INLINE std::size_t EncodeWide(Predictor p, const std::int64_t* q, std::uint8_t* out) {
  const int order = order_of(p);
  std::int64_t base = 0, slope = 0;
  fresh_base(q, kGroup, p, true, &base, &slope);
  store(out, static_cast<std::uint32_t>(p) | kWideBit);
  std::uint8_t* at = out + 4;
  for (const std::int64_t start : {base, slope})
    if (at < out + 4 + 8 * order) store(at, start), at += 8;
  alignas(8) std::uint8_t width[kBlocks];
  auto before = static_cast<std::uint64_t>(base), difference = static_cast<std::uint64_t>(slope);
  for (int b = 0; b < kBlocks; ++b) {
    alignas(64) std::int64_t e[kBlock];
    for (int j = 0; j < kBlock; ++j) {
      const auto code = static_cast<std::uint64_t>(q[kBlock * b + j]);
      const std::uint64_t first = code - before, second = first - difference;
      e[j] = static_cast<std::int64_t>(order == 0 ? code : order == 1 ? first : second);
      before = code;
      difference = first;
    }
    width[b] = static_cast<std::uint8_t>(PutWideBlock(e, p != Predictor::none_unsigned, at));
    at += 4 * width[b];
  }
  return finish_packed(width, at, out);
}

// Of values in the group's m places, repeated to a full group. Declines exceptions, and what would be verbatim.
inline std::size_t CompressWide(const double* x, int m, const Grid<double>& grid, std::uint8_t* out, Tally* tally) {
  Codes q;
  std::uint64_t bound = 0;
  if (!QuantiseWide(x, grid, q, &bound)) return kDeclined;
  const Predictor p = m == kGroup ? choose_predictor(q, m, true, Coding::fixed) : settle_part(q, m);
  const std::size_t words = EncodeWide(p, q, out);
  if (words > most_words<double>(m)) return kDeclined;
  tally->merge({bound, 0});
  return words;
}
inline std::size_t CompressWide(const float*, int, const Grid<float>&, std::uint8_t*, Tally*) { return kDeclined; }

HWY_INLINE void ReadWideCodes(const GroupView& g, const std::uint8_t* end, std::int64_t* q) {
  const std::uint8_t* p = g.planes;
  const bool is_signed = g.predictor != Predictor::none_unsigned;
  for (int b = 0; b < kBlocks; ++b) {
    const int w = g.width[b], bytes = (w + 7) / 8;
    alignas(32) std::uint8_t of[8][kBlock];
    for (int k = 0; k < bytes; ++k) ReadPlanes(p + 32 * k, end, std::min(w - 8 * k, 8), of[k]);
    std::int64_t* const to = q + kBlock * b;
    const std::uint64_t top = is_signed && w > 0 ? std::uint64_t{1} << (w - 1) : 0;
    for (int j = 0; j < kBlock; ++j) to[j] = 0;
    for (int k = 0; k < bytes; ++k)
      for (int j = 0; j < kBlock; ++j) to[j] |= static_cast<std::int64_t>(std::uint64_t{of[k][j]} << (8 * k));
    for (int j = 0; j < kBlock; ++j) to[j] = static_cast<std::int64_t>((static_cast<std::uint64_t>(to[j]) ^ top) - top);
    p += 4 * w;
  }
  const auto sum_up = [&](std::int64_t start) {
    auto sum = static_cast<std::uint64_t>(start);
    for (int i = 0; i < kGroup; ++i) q[i] = static_cast<std::int64_t>(sum += static_cast<std::uint64_t>(q[i]));
  };
  if (g.predictor == Predictor::second) sum_up(g.slope);
  if (g.predictor >= Predictor::first) sum_up(g.base);
  if (!g.wide && g.predictor >= Predictor::first)
    for (int i = 0; i < kGroup; ++i) q[i] = static_cast<std::int32_t>(q[i]);
}

// `view`: wide. Declines codes that float64 rounds.
template <class T>
bool DecompressWide(const GroupView& view, const std::uint8_t* end, double width, std::uint32_t divisor, T* y) {
  Codes q;
  ReadWideCodes(view, end, q);
  std::uint64_t most = 0;
  for (int i = 0; i < kGroup; ++i) {
    most = std::max(most, magnitude(q[i]));
    set_element(y, i, static_cast<T>(static_cast<double>(q[i]) * width));  // y may lie at any byte
  }
  if (most > std::uint64_t{1} << 53) return false;
  if (view.exceptions) decode_exceptions(view, divisor, y);
  return true;
}

inline std::size_t AddWide(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                           bool negate_b, std::uint8_t* out) {
  GroupView va, vb;
  if (!parse_group(a, a_words, kGroup, Type::f64, &va) || !parse_group(b, b_words, kGroup, Type::f64, &vb) ||
      va.verbatim || vb.verbatim || va.exceptions || vb.exceptions)
    return kDeclined;
  Predictor p = std::max(va.predictor, vb.predictor);
  if (negate_b && p == Predictor::none_unsigned) p = Predictor::none_signed;
  Codes q, other;
  ReadWideCodes(va, a + 4 * a_words, q);
  ReadWideCodes(vb, b + 4 * b_words, other);
  std::int64_t any = 0;
  for (int i = 0; i < kGroup; ++i) {
    const auto u = static_cast<std::uint64_t>(q[i]), v = static_cast<std::uint64_t>(other[i]);
    any |= q[i] = static_cast<std::int64_t>(negate_b ? u - v : u + v);
  }
  return p == Predictor::none_unsigned && any < 0 ? kDeclined : EncodeWide(p, q, out);
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
