// 256 bits of an exact sum, from the last bit of the grid's width on.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include "codec/stream/exceptions.hpp"

namespace stretto::codec::sums {

// __extension__ silences warnings about the compilers' own type.
__extension__ using Short = __int128;
__extension__ using UnsignedShort = unsigned __int128;

// Two's complement, least significant limb first.
struct Number {
  std::uint64_t limb[4] = {};
  std::uint32_t flags = 0;
};

inline void add(Number& n, const Number& m) noexcept {
  unsigned carry = 0;
  for (int i = 0; i < 4; ++i) {
    std::uint64_t s = 0;
    const bool first = __builtin_add_overflow(n.limb[i], m.limb[i], &s);
    const bool second = __builtin_add_overflow(s, std::uint64_t{carry}, &n.limb[i]);
    carry = first || second;
  }
  n.flags |= m.flags;
}

// 126 bits and a sign suffice, so that a code can be added in 128 bits.
inline bool is_short(const Number& n) noexcept {
  const auto high = static_cast<std::int64_t>(n.limb[1]);
  const auto sign = static_cast<std::uint64_t>(high >> 63);
  return n.limb[3] == sign && n.limb[2] == sign && (high >> 62 == 0 || high >> 62 == -1);
}
inline Short short_of(const Number& n) noexcept {
  return static_cast<Short>(static_cast<UnsignedShort>(n.limb[1]) << 64 | n.limb[0]);
}

inline void negate_if(Number& n, bool negative) noexcept {
  const std::uint64_t invert = negative ? ~std::uint64_t{0} : 0;
  bool carry = negative;
  for (auto& limb : n.limb) carry = __builtin_add_overflow(limb ^ invert, std::uint64_t{carry}, &limb);
}

// Bits beyond the number are lost.
inline void put(Number& n, std::uint64_t low, std::uint64_t high, unsigned at) noexcept {
  const unsigned limb = at / 64, by = at % 64;
  const std::uint64_t parts[3] = {low << by, by ? low >> (64 - by) | high << by : high, by ? high >> (64 - by) : 0};
  for (unsigned i = 0; i < 3 && limb + i < 4; ++i) n.limb[limb + i] = parts[i];
}

constexpr std::uint32_t swapped(std::uint32_t flags) noexcept {
  return (flags & kNanBit) | (flags & kPlusInfBit ? kMinusInfBit : 0) | (flags & kMinusInfBit ? kPlusInfBit : 0);
}

template <class T>
class Window {
 public:
  static constexpr int kWords = 8, kBits = 250;
  explicit Window(double width) noexcept {
    int e = 0;
    const double m = std::frexp(width, &e);
    factor_ = static_cast<std::uint64_t>(std::ldexp(m, 53));
    const int zeros = std::countr_zero(factor_), last = e - 53 + ExactSum<T>::kScale + zeros;
    factor_ >>= zeros;
    usable_ = last >= 0;
    first_word_ = std::min(std::max(last, 0) / 32, ExactSum<T>::kWords - kWords);
    shift_ = static_cast<unsigned>(std::max(last, 0) - 32 * first_word_);
    usable_ = usable_ && shift_ + 84 <= kBits;
  }

  bool usable() const noexcept { return usable_; }
  // width = factor * 2^shift, from the lowest bit of word first_word of exact sums on.
  std::uint64_t factor() const noexcept { return factor_; }
  unsigned shift() const noexcept { return shift_; }
  int first_word() const noexcept { return first_word_; }
  bool codes_are_short() const noexcept {
    return usable_ && 32 + std::bit_width(factor_) + static_cast<int>(shift_) <= 126;
  }

  // The common case, in up to 20 bytes.
  std::size_t write_short(Short exception, std::uint32_t flags, std::int32_t code, std::uint8_t* out) const noexcept {
    const Short product = static_cast<Short>(code) * static_cast<Short>(factor_);
    const auto sum = static_cast<UnsignedShort>(exception) + (static_cast<UnsignedShort>(product) << shift_);
    const auto sign = static_cast<UnsignedShort>(static_cast<Short>(sum) >> 127);
    const UnsignedShort size = (sum ^ sign) - sign;
    const auto low = static_cast<std::uint64_t>(size), high = static_cast<std::uint64_t>(size >> 64);
    if ((low | high) == 0) {
      store(out, flags);
      return 4;
    }
    const int first = (low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(high)) / 32;
    const int last = (high != 0 ? 127 - std::countl_zero(high) : 63 - std::countl_zero(low)) / 32;
    store(out, static_cast<std::uint32_t>(last - first + 1) | static_cast<std::uint32_t>(first + first_word_) << 8 |
                   (static_cast<std::uint32_t>(sign) & kNegativeBit) | flags);
    const UnsignedShort words = size >> (32 * first);
    store(out + 4, static_cast<std::uint64_t>(words));
    store(out + 12, static_cast<std::uint64_t>(words >> 64));
    return 4 * static_cast<std::size_t>(last - first + 2);
  }

  Number code(std::int32_t code) const noexcept {
    Number n;
    const std::uint64_t c = static_cast<std::uint64_t>(std::abs(std::int64_t{code}));
    const std::uint64_t low = c * (factor_ & 0xffffffff), high = c * (factor_ >> 32);
    std::uint64_t bottom = 0;
    const bool carry = __builtin_add_overflow(low, high << 32, &bottom);
    put(n, bottom, (high >> 32) + carry, shift_);
    negate_if(n, code < 0);
    return n;
  }

  bool exception(const ExceptionReader<T>& reader, bool sums, bool negate, Number* n) const noexcept {
    return sums ? sum(reader.bytes(), negate, n) : value(reader.bytes(), negate, n);
  }

  // In stored form, up to 36 bytes.
  std::size_t write(Number n, std::uint8_t* out) const noexcept {
    const bool negative = n.limb[3] >> 63;
    negate_if(n, negative);
    alignas(32) std::uint8_t words[72] = {};
    std::memcpy(words, n.limb, 32);
    unsigned used = 0;
    for (unsigned i = 0; i < 4; ++i) {
      used |= static_cast<unsigned>((n.limb[i] & 0xffffffff) != 0) << (2 * i);
      used |= static_cast<unsigned>((n.limb[i] >> 32) != 0) << (2 * i + 1);
    }
    if (used == 0) {
      store(out, n.flags);
      return 4;
    }
    const int first = std::countr_zero(used), count = std::bit_width(used) - first;
    store(out, static_cast<std::uint32_t>(count) | static_cast<std::uint32_t>(first + first_word_) << 8 |
                   (negative ? kNegativeBit : 0) | n.flags);
    std::memcpy(out + 4, words + 4 * first, 32);
    return 4 + 4 * static_cast<std::size_t>(count);
  }

 private:
  bool value(const std::uint8_t* p, bool negate, Number* n) const noexcept {
    using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr int kDigits = std::numeric_limits<T>::digits - 1;
    constexpr int kSpecial = (1 << (8 * sizeof(T) - 1 - kDigits)) - 1;
    const U bits = load<U>(p);
    const bool negative = (bits >> (8 * sizeof(T) - 1) != 0) != negate;
    const int exponent = static_cast<int>(bits >> kDigits) & kSpecial;
    std::uint64_t mantissa = bits & ((U{1} << kDigits) - 1);
    *n = {};
    if (exponent == kSpecial) {
      n->flags = mantissa ? kNanBit : negative ? kMinusInfBit : kPlusInfBit;
      return true;
    }
    if (exponent > 0) mantissa |= std::uint64_t{1} << kDigits;
    if (mantissa == 0) return true;
    int at = std::max(exponent - 1, 0) - 32 * first_word_;
    if (at < 0) {
      if (std::countr_zero(mantissa) < -at) return false;
      mantissa >>= -at;
      at = 0;
    }
    if (at + std::bit_width(mantissa) > kBits) return false;
    put(*n, mantissa, 0, static_cast<unsigned>(at));
    negate_if(*n, negative);
    return true;
  }

  bool sum(const std::uint8_t* p, bool negate, Number* n) const noexcept {
    const auto head = load<std::uint32_t>(p);
    const int count = static_cast<int>(head & 0xff), first = static_cast<int>(head >> 8 & 0xff) - first_word_;
    *n = {};
    if (count > 0) {
      if (first < 0 || first + count >= kWords) return false;
      std::uint8_t words[4 * kWords] = {};
      std::memcpy(words + 4 * first, p + 4, 4 * static_cast<std::size_t>(count));
      std::memcpy(n->limb, words, sizeof words);
      negate_if(*n, ((head & kNegativeBit) != 0) != negate);
    }
    const std::uint32_t flags = head & (kPlusInfBit | kMinusInfBit | kNanBit);
    n->flags = negate ? swapped(flags) : flags;
    return true;
  }

  std::uint64_t factor_ = 0;
  unsigned shift_ = 0;
  int first_word_ = 0;
  bool usable_ = false;
};

}  // namespace stretto::codec::sums
