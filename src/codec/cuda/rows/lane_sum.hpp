// Exact sums of float32, one per lane, in twelve words (accumulator.hpp). For groups with many different exceptions.
#pragma once

#include "codec/cuda/groups/accumulator.hpp"

namespace stretto::codec::cuda {

class LaneSum {
  using Shape = SumShape<float>;
  static constexpr int kWords = Shape::kWords + 1;

 public:
  STRETTO_DEVICE void add(u32 bits, bool negate) {
    const int exponent = static_cast<int>(bits >> Shape::kMantissa) & Shape::kExponent;
    const u32 fraction = bits & ((u32{1} << Shape::kMantissa) - 1);
    const bool negative = (bits >> 31 != 0) != negate;
    if (exponent == Shape::kExponent)
      flags_ |= fraction ? kNanBit : negative ? kMinusInfBit : kPlusInfBit;
    else
      add_shifted(exponent ? fraction | u32{1} << Shape::kMantissa : fraction, exponent ? exponent - 1 : 0, negative);
  }
  // += code * width, exactly; width is a float32.
  STRETTO_DEVICE void add_code(i64 code, float width) {
    const u32 bits = bits_of(width), fraction = bits & ((u32{1} << Shape::kMantissa) - 1);
    const int exponent = static_cast<int>(bits >> Shape::kMantissa), shift = exponent ? exponent - 1 : 0;
    const u64 w = exponent ? fraction | u32{1} << Shape::kMantissa : fraction, c = magnitude(code);
    add_shifted((c & 0xffffffff) * w, shift, code < 0);
    add_shifted((c >> 32) * w, shift + 32, code < 0);
  }
  // p is well-formed.
  STRETTO_DEVICE void add_sum(const u32* p, bool negate) {
    const u32 head = p[0], n = head & 0xff, first = head >> 8 & 0xff;
    add_parts(
        [=](int i) {
          const u32 k = static_cast<u32>(i) - first;
          return k < n ? p[1 + k] : 0u;
        },
        ((head & kNegativeBit) != 0) != negate);
    const u32 plus = head & kPlusInfBit, minus = head & kMinusInfBit;
    flags_ |= head & kNanBit;
    flags_ |= negate ? (plus ? kMinusInfBit : 0) | (minus ? kPlusInfBit : 0) : plus | minus;
  }

  STRETTO_DEVICE void close() {
    const bool negative = word_[kWords - 1] >> 31;
    u32 carry = negative;
    int low = -1, high = -1;
    STRETTO_UNROLL
    for (int i = 0; i < kWords; ++i) {
      if (negative) {
        word_[i] = ~word_[i] + carry;
        carry = carry && word_[i] == 0;
      }
      if (i < Shape::kWords && word_[i]) {
        if (low < 0) low = i;
        high = i;
      }
    }
    const u32 n = low < 0 ? 0 : static_cast<u32>(high - low + 1);
    head_ = n | (n ? static_cast<u32>(low) << 8 : 0) | (n && negative ? kNegativeBit : 0) | flags_;
  }
  STRETTO_DEVICE u32 words() const { return 1 + (head_ & 0xff); }
  STRETTO_DEVICE void write(u32* out) const {
    const u32 n = head_ & 0xff, first = head_ >> 8 & 0xff;
    out[0] = head_;
    STRETTO_UNROLL
    for (int i = 0; i < Shape::kWords; ++i) {
      const u32 k = static_cast<u32>(i) - first;
      if (k < n) out[1 + k] = word_[i];
    }
  }
  STRETTO_DEVICE bool equals(const LaneSum& o) const {
    u32 differ = head_ ^ o.head_;
    STRETTO_UNROLL
    for (int i = 0; i < Shape::kWords; ++i) differ |= word_[i] ^ o.word_[i];
    return differ == 0;
  }
  template <class W>
  static STRETTO_DEVICE LaneSum of_lane(const typename W::template Lane<LaneSum>& sums, int lane) {
    LaneSum r;
    r.head_ = W::broadcast(W::map([](const LaneSum& s) { return s.head_; }, sums), lane);
    STRETTO_UNROLL
    for (int i = 0; i < kWords; ++i)
      r.word_[i] = W::broadcast(W::map([=](const LaneSum& s) { return s.word_[i]; }, sums), lane);
    return r;
  }

 private:
  template <class F>
  STRETTO_DEVICE void add_parts(F part, bool negative) {
    u32 carry = negative;
    STRETTO_UNROLL
    for (int i = 0; i < kWords; ++i) {
      const u32 p = part(i), addend = negative ? ~p : p, sum = word_[i] + addend, with = sum + carry;
      carry = (sum < addend) | (with < sum);
      word_[i] = with;
    }
  }
  STRETTO_DEVICE void add_shifted(u64 m, int shift, bool negative) {
    const int at = shift / 32, by = shift % 32;
    const u32 p0 = static_cast<u32>(m << by), p1 = static_cast<u32>(m >> (32 - by)),
              p2 = by ? static_cast<u32>(m >> 32 >> (32 - by)) : 0;
    add_parts([=](int i) { return i == at ? p0 : i == at + 1 ? p1 : i == at + 2 ? p2 : 0u; }, negative);
  }

  u32 word_[kWords] = {};
  u32 flags_ = 0, head_ = 0;
};

}  // namespace stretto::codec::cuda
