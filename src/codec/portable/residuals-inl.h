// T is int16_t if everything fits, else int32_t, modulo 2^32.
#if defined(STRETTO_PORTABLE_RESIDUALS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_RESIDUALS_INL_H_
#undef STRETTO_PORTABLE_RESIDUALS_INL_H_
#else
#define STRETTO_PORTABLE_RESIDUALS_INL_H_
#endif

#include "codec/kernels.hpp"
#include "codec/portable/planes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

// out[r] = OR of the lanes of row r, for a multiple of 16 / sizeof(T) rows.
template <class T>
HWY_INLINE void OrRows(const T* rows, int n, std::make_unsigned_t<T>* out) {
  const Tag<T> d;
  const Tag<std::int32_t> d32;
  const Tag<std::int64_t> d64;
  constexpr std::size_t kStep = kLanes<T>;
  constexpr int kAtOnce = 16 / sizeof(T);
  const auto fold = [](auto tag, auto a, auto b)
                        HWY_ATTR { return hn::Or(hn::InterleaveLower(tag, a, b), hn::InterleaveUpper(tag, a, b)); };
  for (int r = 0; r < n; r += kAtOnce, rows += kAtOnce * kStep) {
    const auto four = [&](const T* p) HWY_ATTR {
      if constexpr (sizeof(T) == 2) {
        const auto a = fold(d, hn::Load(d, p), hn::Load(d, p + kStep));
        const auto b = fold(d, hn::Load(d, p + 2 * kStep), hn::Load(d, p + 3 * kStep));
        return fold(d32, hn::BitCast(d32, a), hn::BitCast(d32, b));
      } else {
        return fold(d32, hn::Load(d32, p), hn::Load(d32, p + kStep));
      }
    };
    const auto low = hn::BitCast(d64, four(rows)), high = hn::BitCast(d64, four(rows + kAtOnce / 2 * kStep));
    const auto v = hn::BitCast(d, fold(d64, low, high));
    alignas(32) std::make_unsigned_t<T> folded[kStep];
    hn::Store(hn::BitCast(Tag<std::make_unsigned_t<T>>(), v), Tag<std::make_unsigned_t<T>>(), folded);
    for (int i = 0; i < kAtOnce; ++i)
      out[r + i] =
          static_cast<std::make_unsigned_t<T>>(folded[i] | folded[kStep - kAtOnce + static_cast<std::size_t>(i)]);
  }
}

// Bits of the magnitudes of each two neighbours, and one more if there are any and `is_signed`.
HWY_INLINE int BitsOfPairs(const std::int16_t* magnitudes, int n, bool is_signed) {
  const Tag<std::int32_t> d;
  // A float of b > 0 bits has the exponent 126 + b, and 0 has 0.
  const std::int32_t none = is_signed ? 125 : 126;
  auto sum = hn::Zero(d);
  for (int i = 0; i < n; i += 2 * static_cast<int>(kLanes<std::int32_t>)) {
    const auto m = hn::BitCast(d, hn::Load(Tag<std::int16_t>(), magnitudes + i));
    const auto both = hn::And(hn::Or(m, hn::ShiftRight<16>(m)), hn::Set(d, 0xffff));
    const auto exponent = hn::ShiftRight<23>(hn::BitCast(d, hn::ConvertTo(Tag<float>(), both)));
    sum = hn::Add(sum, hn::Sub(hn::Max(exponent, hn::Set(d, none)), hn::Set(d, none)));
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}
HWY_INLINE int BitsOfPairs(const std::int32_t* magnitudes, int n, bool is_signed) {
  int sum = 0;
  for (int i = 0; i < n; i += 2) {
    const auto both = static_cast<std::uint32_t>(magnitudes[i] | magnitudes[i + 1]);
    sum += std::bit_width(both) + (both != 0 && is_signed);
  }
  return sum;
}
template <class T>
HWY_INLINE int OrderByPairs(const T* q) {
  constexpr SampledRuns kRuns = sampled_runs(Coding::dense);
  constexpr int kSampled = (kGroup - kRuns.first + kRuns.step - 1) / kRuns.step * kRuns.length;
  const Tag<T> d;
  alignas(64) T m[3][kSampled];
  auto any = hn::Zero(d);
  int n = 0;
  for (int start = kRuns.first; start < kGroup; start += kRuns.step) {
    for (int end = n + kRuns.length; n < end; n += static_cast<int>(kLanes<T>)) {
      const T* p = q + start + kRuns.length - (end - n);
      const auto v0 = hn::LoadU(d, p), v1 = hn::LoadU(d, p - 1), first = hn::Sub(v0, v1);
      any = hn::Or(any, v0);
      hn::Store(hn::Abs(v0), d, m[0] + n);
      hn::Store(hn::Abs(first), d, m[1] + n);
      hn::Store(hn::Abs(hn::Sub(first, hn::Sub(v1, hn::LoadU(d, p - 2)))), d, m[2] + n);
    }
  }
  const bool negative = !hn::AllFalse(d, hn::Lt(any, hn::Zero(d)));
  const int cost0 = BitsOfPairs(m[0], kSampled, negative), cost1 = BitsOfPairs(m[1], kSampled, true),
            cost2 = BitsOfPairs(m[2], kSampled, true);
  const int order = cost1 < cost0 ? 1 : 0;
  return cost2 < (order == 1 ? cost1 : cost0) ? 2 : order;
}

template <class T>
HWY_INLINE int ChooseOrder(const T* q, Coding orders) {
  if (orders == Coding::dense) return OrderByPairs(q);
  constexpr int kSamples = 6, kRows = 24;
  const Tag<T> d;
  alignas(64) T rows[kRows * kLanes<T>] = {};
  auto any = hn::Zero(d);
  const auto bits = [](auto v) HWY_ATTR { return hn::Xor(v, hn::ShiftRight<8 * sizeof(T) - 1>(v)); };
  for (int s = 0; s < kSamples; ++s) {
    auto b0 = hn::Zero(d), b1 = b0, b2 = b0;
    for (std::size_t i = 0; i < 16; i += kLanes<T>) {
      const T* p = q + 112 + 160 * s + i;
      const auto v0 = hn::LoadU(d, p), v1 = hn::LoadU(d, p - 1), v2 = hn::LoadU(d, p - 2);
      const auto first = hn::Sub(v0, v1);
      any = hn::Or(any, v0);
      b0 = hn::Or(b0, bits(v0));
      b1 = hn::Or(b1, bits(first));
      b2 = hn::Or(b2, bits(hn::Sub(first, hn::Sub(v1, v2))));
    }
    hn::Store(b0, d, rows + kLanes<T> * static_cast<std::size_t>(s));
    hn::Store(b1, d, rows + kLanes<T> * static_cast<std::size_t>(kSamples + s));
    hn::Store(b2, d, rows + kLanes<T> * static_cast<std::size_t>(2 * kSamples + s));
  }
  std::make_unsigned_t<T> ored[kRows];
  OrRows(rows, kRows, ored);
  int cost[3] = {}, unsigned_cost = 0;
  for (int s = 0; s < kSamples; ++s) {
    unsigned_cost += std::bit_width(ored[s]);
    for (int k = 0; k < 3; ++k) {
      const auto v = ored[kSamples * k + s];
      cost[k] += std::bit_width(v) + (v != 0);
    }
  }
  if (hn::AllFalse(d, hn::Lt(any, hn::Zero(d)))) cost[0] = unsigned_cost;
  int order = cost[1] < cost[0] ? 1 : 0;
  if (cost[2] < cost[order]) order = 2;
  return order;
}

// to[i] = from[i] - from[i - 1], with from[-1] = before; from and to differ.
template <class T>
HWY_INLINE void Difference(T* from, T before, T* to) {
  const Tag<T> d;
  from[-1] = before;
  for (std::size_t i = 0; i < kGroup; i += kLanes<T>)
    hn::Store(hn::Sub(hn::Load(d, from + i), hn::LoadU(d, from + i - 1)), d, to + i);
}

template <class T>
HWY_INLINE T* ResidualsFrom(int order, T* q, T* e, std::int32_t base, std::int32_t slope) {
  const Tag<T> d;
  if (order == 0) return q;
  if (order == 1) {
    Difference(q, static_cast<T>(base), e);
    return e;
  }
  q[-1] = static_cast<T>(base);
  q[-2] = static_cast<T>(static_cast<std::uint32_t>(base) - static_cast<std::uint32_t>(slope));
  for (std::size_t i = 0; i < kGroup; i += kLanes<T>) {
    const auto v1 = hn::LoadU(d, q + i - 1);
    const auto first = hn::Sub(hn::Load(d, q + i), v1);
    hn::Store(hn::Sub(first, hn::Sub(v1, hn::LoadU(d, q + i - 2))), d, e + i);
  }
  return e;
}

template <class T>
struct Extremes {
  T least, most;
};

// v[i] = start + v[0] + ... + v[i] in place. Returns the extremes.
template <class T>
HWY_INLINE Extremes<T> SumUp(T* v, T start) {
  const Tag<T> d;
  const Tag<std::uint8_t> d8;
  alignas(16) static constexpr std::uint8_t kLast16[16] = {14, 15, 14, 15, 14, 15, 14, 15,
                                                           14, 15, 14, 15, 14, 15, 14, 15};
  alignas(16) static constexpr std::uint8_t kLast32[16] = {12, 13, 14, 15, 12, 13, 14, 15,
                                                           12, 13, 14, 15, 12, 13, 14, 15};
  const auto last = hn::LoadDup128(d8, sizeof(T) == 2 ? kLast16 : kLast32);
  const auto zero = hn::Zero(d);
  auto carry = hn::Set(d, start);
  auto least = hn::Set(d, std::numeric_limits<T>::max()), most = hn::Set(d, std::numeric_limits<T>::min());
  for (std::size_t i = 0; i < kGroup; i += kLanes<T>) {
    auto s = hn::Load(d, v + i);
    s = hn::Add(s, hn::ShiftLeftLanes<1>(d, s));
    s = hn::Add(s, hn::ShiftLeftLanes<2>(d, s));
    if constexpr (sizeof(T) == 2) s = hn::Add(s, hn::ShiftLeftLanes<4>(d, s));
    auto total = hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(d8, s), last));
    if constexpr (kBytes == 32) {
      s = hn::Add(s, hn::ConcatLowerLower(d, total, zero));
      total = hn::Add(total, hn::ReverseBlocks(d, total));
    }
    s = hn::Add(s, carry);
    carry = hn::Add(carry, total);
    least = hn::Min(least, s);
    most = hn::Max(most, s);
    hn::Store(s, d, v + i);
  }
  return {hn::GetLane(hn::MinOfLanes(d, least)), hn::GetLane(hn::MaxOfLanes(d, most))};
}

// Overflowed sums in 16 bits exceed kLimit16: with terms of kWidest16 bits and starts up to kStart16, two sums in a row
// cannot be within kLimit16 and 2^16 apart from the true sums.
inline constexpr int kLimit16 = 20479, kStart16 = 24576, kWidest16 = 15;

inline bool MayBeSmall(const PackedGroup& g) {
  const auto far = [](std::int32_t v) { return v < -kStart16 || v > kStart16; };
  return g.widest <= kWidest16 && !far(g.base) && !far(g.slope);
}

// int16_t: false (and garbage in q) unless the codes are certainly right.
template <class T>
HWY_INLINE bool ReadCodes(const PackedGroup& g, T* q) {
  const int order = order_of(g.predictor);
  if (sizeof(T) == 2 && !MayBeSmall(g)) return false;
  ReadResiduals(g, q);
  const auto within = [](Extremes<T> x) { return sizeof(T) == 4 || (x.least >= -kLimit16 && x.most <= kLimit16); };
  if (order == 2 && !within(SumUp(q, static_cast<T>(g.slope)))) return false;
  return order == 0 || within(SumUp(q, static_cast<T>(g.base)));
}

// Returns the end of the planes; may write up to 28 bytes more.
template <class T>
HWY_INLINE std::uint8_t* WritePlanes(bool is_signed, const T* e, std::uint8_t* width, std::uint8_t* at) {
  const Tag<T> d;
  alignas(64) T rows[kBlocks * kLanes<T>];
  for (int b = 0; b < kBlocks; ++b) {
    auto bits = hn::Zero(d);
    for (std::size_t i = kBlock * static_cast<std::size_t>(b); i < kBlock * static_cast<std::size_t>(b + 1);
         i += kLanes<T>) {
      const auto v = hn::Load(d, e + i);
      // Maps 0, -1, 1, -2, 2 to 0, 1, 2, 3, 4.
      bits = hn::Or(bits, is_signed ? hn::Xor(hn::Add(v, v), hn::ShiftRight<8 * sizeof(T) - 1>(v)) : v);
    }
    hn::Store(bits, d, rows + kLanes<T> * static_cast<std::size_t>(b));
  }
  std::make_unsigned_t<T> ored[kBlocks];
  OrRows(rows, kBlocks, ored);
  for (int b = 0; b < kBlocks; ++b) {
    width[b] = static_cast<std::uint8_t>(std::bit_width(ored[b]));
    if (width[b] == 0) continue;
    PutBlock(e + kBlock * b, width[b], at);
    at += 4 * width[b];
  }
  return at;
}

// between(p) writes the section between slope and planes, and returns its end, or null to decline. May write 28 bytes
// more.
template <class T, class Between>
HWY_INLINE std::size_t WriteGroup(Predictor p, std::int32_t base, std::int32_t slope, const T* e, std::uint8_t* out,
                                  const Between& between) {
  alignas(8) std::uint8_t width[kBlocks];
  std::uint8_t* planes = between(out + write_head(p, base, slope, out));
  if (!planes) return kDeclined;
  return finish_packed(width, WritePlanes(p != Predictor::none_unsigned, e, width, planes), out);
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
