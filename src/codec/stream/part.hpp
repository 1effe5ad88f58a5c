// Groups of less than 1,024 places, the last ones of streams, by the kernels of full groups.
#pragma once

#include <cstdint>
#include <type_traits>

#include "codec/stream/group.hpp"

namespace stretto::codec {

// `q`: m codes, and kGroup - m more that equal the last one. Returns the predictor, and changes the codes from m on so
// that their residuals are 0, modulo T's range.
template <class T>
Predictor settle_part(T* q, int m) noexcept {
  using U = std::make_unsigned_t<T>;
  Codes codes;
  for (int i = 0; i < m; ++i) codes[i] = q[i];
  const Predictor p = choose_predictor(codes, m, sizeof(T) == 8, Coding::fixed);
  if (p < Predictor::first) {
    for (int i = m; i < kGroup; ++i) q[i] = 0;
  } else if (p == Predictor::second && m > 1) {
    const U last = static_cast<U>(q[m - 1]), step = static_cast<U>(last - static_cast<U>(q[m - 2]));
    for (int i = m; i < kGroup; ++i) q[i] = static_cast<T>(last + static_cast<U>(i - m + 1) * step);
  }
  return p;
}

// Words of a group of m values: one of floats that takes more is verbatim. Integers have no limit.
template <class T>
constexpr std::size_t most_words(int m) noexcept {
  return std::is_integral_v<T> ? ~std::size_t{0} : static_cast<std::size_t>(m) * sizeof(T) / 4;
}

// A group without exceptions decodes as a full one does, whose places from m on mean nothing.
inline bool has_codes_alone(const std::uint8_t* p, std::size_t words) noexcept {
  if (words == 0) return true;
  const auto word = load<std::uint32_t>(p);
  return !(word & kExceptionsBit) && word != kVerbatimWord;
}

// Two groups of m places add up as full ones do: they are well-formed, narrow, without exceptions, of one order, and
// have residuals of 0 from m on.
bool add_as_full(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words, int m,
                 Type type) noexcept;

}  // namespace stretto::codec
