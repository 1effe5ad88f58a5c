#include "codec/numbers/exact.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "codec/numbers/quotient.hpp"

namespace stretto::codec {

std::size_t exact_sum_bytes(const std::uint8_t* p, std::size_t available, int max_words) noexcept {
  if (available < 4) return 0;
  const auto head = load<std::uint32_t>(p);
  const std::uint32_t n = head & 0xff, first = head >> 8 & 0xff;
  if (head >> 20 || n + first > static_cast<std::uint32_t>(max_words) || available < 4 + 4 * std::size_t{n}) return 0;
  if (n == 0) return first == 0 && !(head & kNegativeBit) ? 4 : 0;
  if (load<std::uint32_t>(p + 4) == 0 || load<std::uint32_t>(p + 4 * n) == 0) return 0;
  return 4 + 4 * std::size_t{n};
}

template <class T>
void ExactSum<T>::clear() noexcept {
  for (auto& w : word_) w = 0;
  flags_ = 0;
}

// shift >= 0
template <class T>
void ExactSum<T>::add_shifted(std::uint64_t magnitude, int shift, bool negative) noexcept {
  const int at = shift / 32, by = shift % 32;
  const std::uint32_t part[3] = {static_cast<std::uint32_t>(magnitude << by),
                                 static_cast<std::uint32_t>(magnitude >> (32 - by)),
                                 by ? static_cast<std::uint32_t>(magnitude >> 32 >> (32 - by)) : 0};
  std::uint64_t carry = negative ? 1 : 0;
  for (int i = at; i <= kWords; ++i) {
    const std::uint32_t p = i - at < 3 ? part[i - at] : 0;
    carry += std::uint64_t{word_[i]} + (negative ? ~p : p);
    word_[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
}

template <class T>
void ExactSum<T>::add(T x, bool negate) noexcept {
  if (std::isnan(x)) {
    flags_ |= kNanBit;
  } else if (std::isinf(x)) {
    flags_ |= (x > 0) != negate ? kPlusInfBit : kMinusInfBit;
  } else if (x != 0) {
    constexpr int digits = std::numeric_limits<T>::digits;
    int e = 0;
    const T m = std::frexp(std::fabs(x), &e);
    auto integer = static_cast<std::uint64_t>(std::ldexp(m, digits));
    int shift = e - digits + kScale;
    if (shift < 0) {
      integer >>= -shift;
      shift = 0;
    }
    add_shifted(integer, shift, (x < 0) != negate);
  }
}

template <class T>
void ExactSum<T>::add_code(std::int64_t code, double width) noexcept {
  if (code == 0) return;
  int e = 0;
  const double m = std::frexp(width, &e);
  std::uint64_t w = static_cast<std::uint64_t>(std::ldexp(m, 53));
  int shift = e - 53 + kScale;
  const int zeros = std::countr_zero(w);
  w >>= zeros;
  shift += zeros;
  if (shift < 0) return;  // unreachable: a legal width's lowest bit is at least one unit
  const bool negative = code < 0;
  const std::uint64_t c = negative ? 0 - static_cast<std::uint64_t>(code) : static_cast<std::uint64_t>(code);
  const std::uint64_t cl = c & 0xffffffff, ch = c >> 32, wl = w & 0xffffffff, wh = w >> 32;
  add_shifted(cl * wl, shift, negative);
  if (wh) add_shifted(cl * wh, shift + 32, negative);
  if (ch) add_shifted(ch * wl, shift + 32, negative);
  if (ch && wh) add_shifted(ch * wh, shift + 64, negative);
}

template <class T>
bool ExactSum<T>::magnitude(std::uint32_t* words) const noexcept {
  const bool negative = word_[kWords] >> 31;
  std::uint64_t carry = negative ? 1 : 0;
  for (int i = 0; i <= kWords; ++i) {
    carry += negative ? ~word_[i] : word_[i];
    words[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  return negative;
}

template <class T>
int ExactSum<T>::sign() const noexcept {
  if (word_[kWords] >> 31) return -1;
  return std::any_of(word_, word_ + kWords + 1, [](std::uint32_t w) { return w != 0; });
}

template <class T>
void ExactSum<T>::multiply(std::int32_t k) noexcept {
  std::uint32_t words[kWords + 1];
  const bool negative = magnitude(words) != (k < 0);
  const std::uint64_t by = k < 0 ? 0 - static_cast<std::int64_t>(k) : k;
  std::uint64_t carry = 0;
  for (int i = 0; i <= kWords; ++i) {
    carry += words[i] * by;
    words[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  carry = negative ? 1 : 0;
  for (int i = 0; i <= kWords; ++i) {
    carry += negative ? ~words[i] : words[i];
    word_[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  if (k < 0) {
    const std::uint32_t swapped = (flags_ & kPlusInfBit ? kMinusInfBit : 0) | (flags_ & kMinusInfBit ? kPlusInfBit : 0);
    flags_ = (flags_ & kNanBit) | swapped;
  }
}

template <class T>
std::size_t ExactSum<T>::read_add(const std::uint8_t* p, std::size_t available, bool negate) noexcept {
  const std::size_t bytes = exact_sum_bytes(p, available, kWords);
  if (bytes == 0) return 0;
  const auto head = load<std::uint32_t>(p);
  const int first = static_cast<int>(head >> 8 & 0xff);
  const bool negative = ((head & kNegativeBit) != 0) != negate;
  for (std::size_t i = 0; 4 + 4 * i < bytes; ++i)
    add_shifted(load<std::uint32_t>(p + 4 + 4 * i), 32 * (first + static_cast<int>(i)), negative);
  std::uint32_t f = head & (kPlusInfBit | kMinusInfBit | kNanBit);
  if (negate) f = (f & kNanBit) | (f & kPlusInfBit ? kMinusInfBit : 0) | (f & kMinusInfBit ? kPlusInfBit : 0);
  flags_ |= f;
  return bytes;
}

template <class T>
std::size_t ExactSum<T>::write(std::uint8_t* out) const noexcept {
  std::uint32_t words[kWords + 1];
  const bool negative = magnitude(words);
  int first = 0, last = kWords - 1;
  while (last >= 0 && words[last] == 0) --last;
  if (last < 0) {
    store(out, flags_);
    return 4;
  }
  while (words[first] == 0) ++first;
  const int n = last - first + 1;
  store<std::uint32_t>(out, static_cast<std::uint32_t>(n) | static_cast<std::uint32_t>(first) << 8 |
                                (negative ? kNegativeBit : 0) | flags_);
  std::memcpy(out + 4, words + first, 4 * static_cast<std::size_t>(n));
  return 4 + 4 * static_cast<std::size_t>(n);
}

// Ties to even; infinity beyond float64. Results below T's normal range are exact: the unit is T's smallest denormal.
template <class T>
double ExactSum<T>::rounded(int bits) const noexcept {
  std::uint32_t words[kWords + 1];
  const bool negative = magnitude(words);
  int last = kWords;
  while (last >= 0 && words[last] == 0) --last;
  if (last < 0) return 0;
  const int top = 32 * last + 31 - std::countl_zero(words[last]);
  const int low = std::max(top - bits + 1, 0);
  const auto word = [&](int i) { return i <= kWords ? std::uint64_t{words[i]} : 0; };
  const int at = low / 32, by = low % 32;
  std::uint64_t m = (word(at) | word(at + 1) << 32) >> by;
  if (by > 0) m |= word(at + 2) << (64 - by);
  m &= ~std::uint64_t{0} >> (64 - bits);
  if (low > 0 && words[(low - 1) / 32] >> ((low - 1) % 32) & 1u) {
    const int half = low - 1;
    bool sticky = words[half / 32] & ((1u << (half % 32)) - 1);
    for (int i = 0; i < half / 32 && !sticky; ++i) sticky = words[i] != 0;
    if (sticky || (m & 1)) ++m;
  }
  const double v = std::ldexp(static_cast<double>(m), low - kScale);
  return negative ? -v : v;
}

template <class T>
T ExactSum<T>::value() const noexcept {
  using L = std::numeric_limits<T>;
  const std::uint32_t both = kPlusInfBit | kMinusInfBit;
  if ((flags_ & kNanBit) || (flags_ & both) == both) return L::quiet_NaN();
  if (flags_ & kPlusInfBit) return L::infinity();
  if (flags_ & kMinusInfBit) return -L::infinity();
  return static_cast<T>(rounded(L::digits));
}

template <class T>
T ExactSum<T>::mean(std::uint32_t divisor) const noexcept {
  if (flags_) return value();
  std::uint32_t words[kWords + 1];
  const bool negative = magnitude(words);
  int last = kWords;
  while (last >= 0 && words[last] == 0) --last;
  if (last < 0) return 0;
  const int low = std::max(32 * last - std::countl_zero(words[last]) - 96, 0);
  const int at = low / 32, by = low % 32;
  Unsigned128 top = 0;
  for (int i = std::min(at + 3, kWords); i >= at; --i) top = top << 32 | words[i];
  top >>= by;
  if (by > 0 && at + 4 <= kWords) top |= Unsigned128{words[at + 4]} << (128 - by);
  bool more = words[at] & ((1u << by) - 1);
  for (int i = 0; i < at && !more; ++i) more = words[i] != 0;
  const double v = quotient(top, more, low - kScale, divisor);
  return static_cast<T>(negative ? -v : v);
}

template class ExactSum<float>;
template class ExactSum<double>;

}  // namespace stretto::codec
