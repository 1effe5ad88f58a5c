#include "codec/dense/kernels/avx2.hpp"

#include <algorithm>
#include <array>

#include "codec/dense/kernels/shuffles.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

// Inline functions of the headers above keep the build's target: vector code does not call them.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,lzcnt")
#endif

namespace stretto::codec::dense::avx2 {
namespace {

constexpr int kMost = 31;

constexpr Shuffles kShuffles = make_shuffles();

inline __m256i load256(const void* p) noexcept { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void store256(void* p, __m256i v) noexcept { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
inline __m128i row(const std::uint8_t (&table)[256][16], std::uint32_t mask) noexcept {
  return _mm_load_si128(reinterpret_cast<const __m128i*>(table[mask & 255]));
}

// Lanes 0 to 15 and 16 to 31, 16 bits each, as 32 bytes, or as a bit each for masks.
inline __m256i bytes_of(__m256i first, __m256i second) noexcept {
  return _mm256_permute4x64_epi64(_mm256_packs_epi16(first, second), 0xd8);
}
inline std::uint32_t bits_of(__m256i first, __m256i second) noexcept {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes_of(first, second)));
}

// 255 in each lane whose bit is set.
inline __m256i lanes_of(std::uint32_t bits) noexcept {
  const __m256i which =
      _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201));
  const __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)), which);
  return _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
}

inline void count_widths(const Widths& widths, std::uint32_t* counts) noexcept {
  const __m256i all = load256(widths.of);
  for (int w = 0; w <= widths.widest; ++w) {
    const __m256i same = _mm256_cmpeq_epi8(all, _mm256_set1_epi8(static_cast<char>(w)));
    counts[w] += static_cast<std::uint32_t>(_mm_popcnt_u32(static_cast<std::uint32_t>(_mm256_movemask_epi8(same))));
  }
}

inline void scan_planes(const std::uint8_t* planes, int width, bool is_unsigned, std::uint8_t* classes,
                        std::uint32_t* at_least, BitWriter* low) noexcept {
  std::uint32_t z[kMost], at[kMost + 1];
  const std::uint32_t sign = is_unsigned ? 0 : load<std::uint32_t>(planes + 4 * (width - 1));
  for (int i = 0; i < width; ++i)
    z[i] = is_unsigned ? load<std::uint32_t>(planes + 4 * i)
           : i         ? load<std::uint32_t>(planes + 4 * (i - 1)) ^ sign
                       : sign;
  std::uint32_t above = 0;
  __m256i each = _mm256_setzero_si256();
  for (int k = width; k >= 1; --k) {
    above |= z[k - 1];
    at[k] = above;
    at_least[k - 1] += static_cast<std::uint32_t>(_mm_popcnt_u32(above));
    each = _mm256_sub_epi8(each, lanes_of(above));
  }
  store256(classes, each);
  std::uint64_t held = low->held_;
  int bits = low->bits_;
  std::uint8_t* p = low->p_;
  for (int k = 2; k <= width; ++k) {
    held |= std::uint64_t{_pext_u32(z[k - 2], at[k])} << bits;
    bits += _mm_popcnt_u32(at[k]);
    store(p, held);
    p += bits / 8;
    held >>= bits & ~7;
    bits &= 7;
  }
  low->held_ = held;
  low->bits_ = bits;
  low->p_ = p;
}

struct Wide {
  __m256i of[4];
};
inline void load_set(const States& s, int set, Wide* x) noexcept {
  for (int i = 0; i < 4; ++i) {
    const auto* low = reinterpret_cast<const __m128i*>(s.low[set] + 8 * i);
    const auto* high = reinterpret_cast<const __m128i*>(s.high[set] + 8 * i);
    x->of[i] = _mm256_or_si256(_mm256_cvtepu16_epi32(_mm_load_si128(low)),
                               _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_load_si128(high)), 16));
  }
}
inline __m256i words_of(__m256i first, __m256i second) noexcept {
  return _mm256_permute4x64_epi64(_mm256_packus_epi32(first, second), 0xd8);
}
inline void store_set(const Wide& x, States* s, int set) noexcept {
  const __m256i lower = _mm256_set1_epi32(0xffff);
  for (int i = 0; i < 4; i += 2) {
    store256(s->low[set] + 8 * i, words_of(_mm256_and_si256(x.of[i], lower), _mm256_and_si256(x.of[i + 1], lower)));
    store256(s->high[set] + 8 * i, words_of(_mm256_srli_epi32(x.of[i], 16), _mm256_srli_epi32(x.of[i + 1], 16)));
  }
}

template <int kEights>
inline __m256i look_up(const std::uint32_t* table, __m256i symbols) noexcept {
  __m256i found = _mm256_permutevar8x32_epi32(load256(table), symbols);
  for (int i = 1; i < kEights; ++i)
    found = _mm256_blendv_epi8(found, _mm256_permutevar8x32_epi32(load256(table + 8 * i), symbols),
                               _mm256_cmpgt_epi32(symbols, _mm256_set1_epi32(8 * i - 1)));
  return found;
}

// Divides a state by its frequency, by Table::inverse.
template <int kEights>
inline std::uint8_t* put_step(const Table& t, const std::uint8_t* symbols, Wide& x, std::uint8_t* out) noexcept {
  const __m256i lower = _mm256_set1_epi32(0xffff), part = _mm256_set1_epi32((1 << 13) - 1);
  __m256i step[4], frequency[4];
  std::uint32_t over[4];
  __m256i isover[4];
  for (int i = 0; i < 4; ++i) {
    const __m256i s = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(symbols + 8 * i)));
    step[i] = s;
    const __m256i parts = look_up<kEights>(t.parts, s);
    frequency[i] = parts;
    const __m256i f = _mm256_and_si256(_mm256_srli_epi32(parts, 13), part);
    isover[i] = _mm256_cmpgt_epi32(f, _mm256_srli_epi32(x.of[i], 16));
    over[i] = static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(isover[i]))) ^ 255;
  }
  for (int i = 0; i < 4; i += 2) {
    const __m256i words = words_of(_mm256_and_si256(x.of[i], lower), _mm256_and_si256(x.of[i + 1], lower));
    for (int half = 0; half < 2; ++half) {
      const __m128i eight = half ? _mm256_extracti128_si256(words, 1) : _mm256_castsi256_si128(words);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                       _mm_shuffle_epi8(eight, row(kShuffles.together, over[i + half])));
      out += 2 * _mm_popcnt_u32(over[i + half]);
    }
  }
  for (int i = 0; i < 4; ++i) {
    const __m256i y = _mm256_blendv_epi8(_mm256_srli_epi32(x.of[i], 16), x.of[i], isover[i]);
    const __m256i inverse = look_up<kEights>(t.inverse, step[i]), parts = frequency[i];
    const __m256i even = _mm256_srli_epi64(_mm256_mul_epu32(y, inverse), 32);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(y, 32), _mm256_srli_epi64(inverse, 32));
    const __m256i q = _mm256_srlv_epi32(_mm256_blend_epi32(even, odd, 0xaa), _mm256_srli_epi32(parts, 26));
    const __m256i others = _mm256_sub_epi32(_mm256_set1_epi32(static_cast<int>(kOne)),
                                            _mm256_and_si256(_mm256_srli_epi32(parts, 13), part));
    x.of[i] = _mm256_add_epi32(_mm256_add_epi32(y, _mm256_and_si256(parts, part)), _mm256_mullo_epi32(q, others));
  }
  return out;
}

inline std::uint8_t* put(const Table& t, int last, const std::uint8_t* symbols, int set, Wide& x, States* states,
                         std::uint8_t* out) noexcept {
  if (last < 8) return put_step<1>(t, symbols, x, out);
  if (last < 16) return put_step<2>(t, symbols, x, out);
  if (last <= kMost) return put_step<4>(t, symbols, x, out);
  store_set(x, states, set);
  out = encode_step(t, symbols, set, states, out);
  load_set(*states, set, &x);
  return out;
}

struct Set {
  __m256i low[2], high[2];
};
inline void load_set(const States& s, int set, Set* x) noexcept {
  *x = {{load256(s.low[set]), load256(s.low[set] + 16)}, {load256(s.high[set]), load256(s.high[set] + 16)}};
}
inline void store_set(const Set& x, States* s, int set) noexcept {
  for (int i = 0; i < 2; ++i) {
    store256(s->low[set] + 16 * i, x.low[i]);
    store256(s->high[set] + 16 * i, x.high[i]);
  }
}

struct Step {
  __m256i slot[2], begin[2], end[2];
};
inline Step begin_step(const Set& x) noexcept {
  const __m256i all = _mm256_set1_epi16(static_cast<short>(kOne - 1));
  const __m256i none = _mm256_setzero_si256(), one = _mm256_set1_epi16(static_cast<short>(kOne));
  return {{_mm256_and_si256(x.low[0], all), _mm256_and_si256(x.low[1], all)}, {none, none}, {one, one}};
}
struct LaneMask {
  __m256i of[2];
};
inline LaneMask lanes_from(Step& s, const Table& t, int k) noexcept {
  const __m256i from = _mm256_set1_epi16(static_cast<short>(t.start[k]));
  const __m256i below = _mm256_sub_epi16(from, _mm256_set1_epi16(1));
  LaneMask r;
  for (int i = 0; i < 2; ++i) {
    r.of[i] = _mm256_cmpgt_epi16(s.slot[i], below);
    s.begin[i] = _mm256_max_epi16(s.begin[i], _mm256_and_si256(r.of[i], from));
    s.end[i] = _mm256_min_epu16(s.end[i], _mm256_or_si256(r.of[i], from));
  }
  return r;
}

inline const std::uint8_t* advance(const Step& s, Set& x, const std::uint8_t* words) noexcept {
  __m256i low[2], high[2], under[2];
  for (int i = 0; i < 2; ++i) {
    const __m256i above = _mm256_or_si256(_mm256_slli_epi16(x.high[i], 4), _mm256_srli_epi16(x.low[i], 12));
    const __m256i frequency = _mm256_sub_epi16(s.end[i], s.begin[i]);
    const __m256i offset = _mm256_sub_epi16(s.slot[i], s.begin[i]);
    low[i] = _mm256_add_epi16(_mm256_mullo_epi16(frequency, above), offset);
    const __m256i no_carry = _mm256_cmpeq_epi16(_mm256_max_epu16(low[i], offset), low[i]);
    high[i] = _mm256_add_epi16(_mm256_mulhi_epu16(frequency, above), _mm256_add_epi16(no_carry, _mm256_set1_epi16(1)));
    under[i] = _mm256_cmpeq_epi16(_mm256_or_si256(_mm256_srli_epi16(low[i], 12), high[i]), _mm256_setzero_si256());
  }
  const std::uint32_t bits = bits_of(under[0], under[1]);
  words -= 2 * _mm_popcnt_u32(bits);
  const std::uint8_t* from = words;
  __m128i taken[4];
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t mask = bits >> 8 * i & 255;
    taken[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), row(kShuffles.apart, mask));
    from += 2 * _mm_popcnt_u32(mask);
  }
  for (int i = 0; i < 2; ++i) {
    x.high[i] = _mm256_blendv_epi8(high[i], low[i], under[i]);
    x.low[i] = _mm256_blendv_epi8(low[i], _mm256_set_m128i(taken[2 * i + 1], taken[2 * i]), under[i]);
  }
  return words;
}

inline const std::uint8_t* take_symbols(const Table& t, int last, Set& x, const std::uint8_t* words,
                                        std::uint8_t* symbols) noexcept {
  Step s = begin_step(x);
  __m256i found[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  for (int k = 1; k <= last; ++k) {
    const LaneMask r = lanes_from(s, t, k);
    for (int i = 0; i < 2; ++i) found[i] = _mm256_sub_epi16(found[i], r.of[i]);
  }
  store256(symbols, bytes_of(found[0], found[1]));
  return advance(s, x, words);
}

struct LowBits {
  const std::uint8_t* p;
  std::uint64_t at;
};
constexpr std::ptrdiff_t kLowReach = 4 * (kMost - 1) + 16;

inline const std::uint8_t* take_block(const Table& t, int width, bool is_unsigned, Set& x, const std::uint8_t* words,
                                      LowBits& low, std::uint8_t* planes) noexcept {
  std::uint32_t at[kMost + 2];
  Step s = begin_step(x);
  for (int k = 1; k <= width; ++k) {
    const LaneMask r = lanes_from(s, t, k);
    at[k] = bits_of(r.of[0], r.of[1]);
  }
  at[width + 1] = 0;
  words = advance(s, x, words);
  std::uint32_t sign = 0;
  for (int i = 0; i < width; ++i) {
    std::uint32_t z = at[i + 1] ^ at[i + 2];
    if (i + 1 < width) {
      const std::uint64_t v = load<std::uint64_t>(low.p + low.at / 8) >> (low.at % 8);
      z |= _pdep_u32(static_cast<std::uint32_t>(v), at[i + 2]);
      low.at += static_cast<std::uint64_t>(_mm_popcnt_u32(at[i + 2]));
    }
    if (is_unsigned)
      store(planes + 4 * i, z);
    else if (i == 0)
      sign = z;
    else
      store(planes + 4 * (i - 1), z ^ sign);
  }
  if (!is_unsigned) store(planes + 4 * (width - 1), sign);
  return words;
}

}  // namespace

#include "codec/dense/kernels/groups-inl.h"

}  // namespace stretto::codec::dense::avx2

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
