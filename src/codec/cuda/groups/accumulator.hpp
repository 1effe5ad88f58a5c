// The exact sum of codec/numbers/exact.hpp by a warp, a word (float64: three) per lane. A word of ones passes a carry
// on, so one addition of lane masks finds all carries.
#pragma once

#include "codec/cuda/groups/number.hpp"

namespace stretto::codec::cuda {

template <class T>
struct SumShape;
template <>
struct SumShape<float> {
  static constexpr int kScale = 149, kWords = 11, kRows = 1, kMantissa = 23, kExponent = 0xff;
};
template <>
struct SumShape<double> {
  static constexpr int kScale = 1074, kWords = 69, kRows = 3, kMantissa = 52, kExponent = 0x7ff;
};

template <class T>
STRETTO_DEVICE u32 exact_sum_words(const u32* p, u32 left) {
  if (left < 1) return 0;
  const u32 head = p[0], n = head & 0xff, first = head >> 8 & 0xff;
  if (head >> 20 || n + first > SumShape<T>::kWords || left < 1 + n) return 0;
  if (n == 0) return first == 0 && !(head & kNegativeBit) ? 1 : 0;
  return p[1] && p[n] ? 1 + n : 0;
}

template <class W, class T>
class Accumulator {
  using Shape = SumShape<T>;
  using Lane32 = typename W::template Lane<u32>;
  static constexpr int kRows = Shape::kRows;

 public:
  STRETTO_DEVICE Accumulator() { clear(); }
  STRETTO_DEVICE void clear() {
    STRETTO_UNROLL
    for (int k = 0; k < kRows; ++k) word_[k] = W::splat(u32{0});
    flags_ = 0;
  }

  STRETTO_DEVICE void add(Bits<T> bits, bool negate) {
    const int exponent = static_cast<int>(bits >> Shape::kMantissa) & Shape::kExponent;
    const u64 fraction = bits & ((Bits<T>{1} << Shape::kMantissa) - 1);
    const bool negative = (bits >> (8 * sizeof(T) - 1) != 0) != negate;
    if (exponent == Shape::kExponent) {
      flags_ |= fraction ? kNanBit : negative ? kMinusInfBit : kPlusInfBit;
      return;
    }
    if (exponent == 0)
      add_shifted(fraction, 0, negative);
    else
      add_shifted(fraction | u64{1} << Shape::kMantissa, exponent - 1, negative);
  }

  STRETTO_DEVICE void add_code(i64 code, double width) {
    const u64 bits = bits_of(width), fraction = bits & ((u64{1} << 52) - 1);
    const int exponent = static_cast<int>(bits >> 52);
    u64 w = exponent ? fraction | u64{1} << 52 : fraction;
    int shift = (exponent ? exponent : 1) - 1075 + Shape::kScale;
    const int zeros = trailing_zeros(w);
    w >>= zeros;
    shift += zeros;
    if (code == 0 || shift < 0) return;
    const bool negative = code < 0;
    const u64 c = magnitude(code), cl = c & 0xffffffff, ch = c >> 32, wl = w & 0xffffffff, wh = w >> 32;
    add_shifted(cl * wl, shift, negative);
    if (wh) add_shifted(cl * wh, shift + 32, negative);
    if (ch) add_shifted(ch * wl, shift + 32, negative);
    if (ch && wh) add_shifted(ch * wh, shift + 64, negative);
  }

  // p is well-formed.
  STRETTO_DEVICE void add_sum(const u32* p, bool negate) {
    const u32 head = p[0], n = head & 0xff;
    const int first = static_cast<int>(head >> 8 & 0xff);
    add_parts(
        [=](int i) {
          const u32 k = static_cast<u32>(i - first);
          return k < n ? p[1 + k] : 0u;
        },
        ((head & kNegativeBit) != 0) != negate);
    const u32 plus = head & kPlusInfBit, minus = head & kMinusInfBit;
    flags_ |= head & kNanBit;
    flags_ |= negate ? (plus ? kMinusInfBit : 0) | (minus ? kPlusInfBit : 0) : plus | minus;
  }

  STRETTO_DEVICE u32 words() const {
    int first = 0;
    return 1 + extent(with_magnitude(), &first);
  }
  STRETTO_DEVICE void write(u32* out) const {
    const Accumulator m = with_magnitude();
    int first = 0;
    const u32 n = extent(m, &first);
    const u32 head = n | static_cast<u32>(first) << 8 | (n && negative() ? kNegativeBit : 0) | flags_;
    STRETTO_UNROLL
    for (int k = 0; k < kRows; ++k)
      W::each(
          [=](int lane, u32 word) {
            const u32 i = static_cast<u32>(lane + 32 * k - first);
            if (i < n) out[1 + i] = word;
            if (lane + 32 * k == 0) out[0] = head;
          },
          W::lane(), m.word_[k]);
  }
  STRETTO_DEVICE bool equals(const Accumulator& o) const {
    bool same = flags_ == o.flags_;
    STRETTO_UNROLL
    for (int k = 0; k < kRows; ++k)
      same = same && !W::any(W::map([](u32 a, u32 b) { return a != b; }, word_[k], o.word_[k]));
    return same;
  }

  STRETTO_DEVICE int sign() const {  // ignores infinities and NaN
    if (negative()) return -1;
    bool some = false;
    STRETTO_UNROLL
    for (int k = 0; k < kRows; ++k) some = some || W::any(W::map([](u32 w) { return w != 0; }, word_[k]));
    return some;
  }
  STRETTO_DEVICE u32 flags() const { return flags_; }
  STRETTO_DEVICE T value() const {
    T special;
    return has_special(&special) ? special : static_cast<T>(rounded(Shape::kMantissa + 1));
  }
  STRETTO_DEVICE T mean(u32 divisor) const {
    T special;
    if (has_special(&special)) return special;
    const Accumulator m = with_magnitude();
    const int top = m.top();
    if (top < 0) return 0;
    const int low = top > 127 ? top - 127 : 0;
    const double v = quotient(m.bits_at(low + 64), m.bits_at(low), m.some_below(low), low - Shape::kScale, divisor);
    return static_cast<T>(negative() ? -v : v);
  }

 private:
  // += (-1)^negative * sum of part(i) * 2^(32 i)
  template <class F>
  STRETTO_DEVICE void add_parts(F part, bool negative) {
    u64 carry = negative;
    STRETTO_UNROLL
    for (int k = 0; k < kRows; ++k) {
      const auto addend = W::map(
          [=](int lane) {
            const u32 p = part(lane + 32 * k);
            return negative ? ~p : p;
          },
          W::lane());
      const auto sum = W::map([](u32 a, u32 b) { return a + b; }, word_[k], addend);
      const u64 generate = W::ballot(W::map([](u32 s, u32 b) { return s < b; }, sum, addend));
      const u64 propagate = W::ballot(W::map([](u32 s) { return s == ~0u; }, sum));
      const u64 chain = (generate << 1 | carry) + propagate;
      const u32 carries = static_cast<u32>(chain ^ propagate);
      word_[k] = W::map([=](int lane, u32 s) { return s + (carries >> lane & 1); }, W::lane(), sum);
      carry = chain >> 32 & 1;
    }
  }
  STRETTO_DEVICE void add_shifted(u64 m, int shift, bool negative) {
    const int at = shift / 32, by = shift % 32;
    const u32 p0 = static_cast<u32>(m << by), p1 = static_cast<u32>(m >> (32 - by)),
              p2 = by ? static_cast<u32>(m >> 32 >> (32 - by)) : 0;
    add_parts([=](int i) { return i == at ? p0 : i == at + 1 ? p1 : i == at + 2 ? p2 : 0u; }, negative);
  }

  STRETTO_DEVICE bool negative() const { return W::broadcast(word_[kRows - 1], 31) >> 31; }
  STRETTO_DEVICE Accumulator with_magnitude() const {
    if (!negative()) return *this;
    Accumulator m;
    for (int k = 0; k < kRows; ++k) m.word_[k] = W::splat(u32{0});
    m.subtract(*this);
    return m;
  }
  STRETTO_DEVICE void subtract(const Accumulator& o) {
    u64 carry = 1;
    STRETTO_UNROLL
    for (int k = 0; k < kRows; ++k) {
      const auto sum = W::map([](u32 b) { return ~b; }, o.word_[k]);
      const u64 propagate = W::ballot(W::map([](u32 s) { return s == ~0u; }, sum));
      const u64 chain = carry + propagate;
      const u32 carries = static_cast<u32>(chain ^ propagate);
      word_[k] = W::map([=](int lane, u32 s) { return s + (carries >> lane & 1); }, W::lane(), sum);
      carry = chain >> 32 & 1;
    }
  }
  static STRETTO_DEVICE u32 extent(const Accumulator& m, int* first) {
    int low = -1, high = -1;
    STRETTO_UNROLL
    for (int k = 0; k < kRows; ++k) {
      const u32 some = W::ballot(
          W::map([=](int lane, u32 w) { return w != 0 && lane + 32 * k < Shape::kWords; }, W::lane(), m.word_[k]));
      if (some) {
        if (low < 0) low = 32 * k + trailing_zeros(some);
        high = 32 * k + bit_width(some) - 1;
      }
    }
    *first = low < 0 ? 0 : low;
    return low < 0 ? 0 : static_cast<u32>(high - low + 1);
  }
  STRETTO_DEVICE u32 word_at(int i) const {
    u32 v = 0;
    STRETTO_UNROLL
    for (int k = 0; k < kRows; ++k) {
      const u32 w = W::broadcast(word_[k], i & 31);
      if (i >> 5 == k) v = w;
    }
    return v;
  }
  STRETTO_DEVICE bool has_special(T* v) const {
    constexpr u32 both = kPlusInfBit | kMinusInfBit;
    constexpr Bits<T> infinity = static_cast<Bits<T>>(Shape::kExponent) << Shape::kMantissa;
    if ((flags_ & kNanBit) || (flags_ & both) == both)
      *v = number_of<T>(infinity | Bits<T>{1} << (Shape::kMantissa - 1));
    else
      *v = number_of<T>(flags_ & kPlusInfBit ? infinity : infinity | Bits<T>{1} << (8 * sizeof(T) - 1));
    return flags_ != 0;
  }
  STRETTO_DEVICE int top() const {
    int high = -1;
    STRETTO_UNROLL
    for (int k = 0; k < kRows; ++k) {
      const u32 some = W::ballot(W::map([](u32 w) { return w != 0; }, word_[k]));
      if (some) high = 32 * k + bit_width(some) - 1;
    }
    return high < 0 ? -1 : 32 * high + bit_width(word_at(high)) - 1;
  }
  STRETTO_DEVICE u64 bits_at(int low) const {
    const int at = low / 32, by = low % 32;
    const u64 pair = static_cast<u64>(word_at(at + 1)) << 32 | word_at(at);
    return pair >> by | (by ? static_cast<u64>(word_at(at + 2)) << (64 - by) : 0);
  }
  STRETTO_DEVICE bool some_below(int place) const {
    bool some = (word_at(place / 32) & ((1u << (place % 32)) - 1)) != 0;
    STRETTO_UNROLL
    for (int k = 0; k < kRows; ++k)
      some = some ||
             W::any(W::map([=](int lane, u32 w) { return w != 0 && lane + 32 * k < place / 32; }, W::lane(), word_[k]));
    return some;
  }

  STRETTO_DEVICE double rounded(int bits) const {
    const Accumulator m = with_magnitude();
    const int top = m.top();
    if (top < 0) return 0;
    const int low = top >= bits ? top - bits + 1 : 0;
    u64 mantissa = m.bits_at(low) & ((u64{1} << (top - low + 1)) - 1);
    if (low > 0 && (m.word_at((low - 1) / 32) >> ((low - 1) % 32) & 1) && (m.some_below(low - 1) || (mantissa & 1)))
      ++mantissa;
    const double v = scaled(static_cast<double>(mantissa), low - Shape::kScale);
    return negative() ? -v : v;
  }

  Lane32 word_[kRows];
  u32 flags_;
};

}  // namespace stretto::codec::cuda
