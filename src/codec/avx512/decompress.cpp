// Groups to values (AVX-512).
//
// Differences up to 8 bits wide are summed four at a time by byte dot products (VPDPBUSD), up to 16 bits two at a time by word dot
// products (VPDPWSSD), with a prefix sum over the eight or sixteen partial sums between; wider ones in 32-bit words.
#include <cstring>
#include <type_traits>

#include "codec/avx512/group.hpp"
#include "codec/avx512/kernels.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

namespace {

// Where decoded codes go: as float32 by one product, or through float64, or as float64; means divide.
enum class Product { single, through_double };

struct Scale {
  double width;
  float width32;
  double divisor;
};

template <bool kStream>
STRETTO_INLINE void put(float* y, __m512 v) noexcept {
  if constexpr (kStream)
    _mm512_stream_ps(y, v);
  else
    _mm512_storeu_ps(y, v);
}
template <bool kStream>
STRETTO_INLINE void put(double* y, __m512d v) noexcept {
  if constexpr (kStream)
    _mm512_stream_pd(y, v);
  else
    _mm512_storeu_pd(y, v);
}

template <bool kMean>
STRETTO_INLINE __m512d value64(__m256i q, const Scale& s) noexcept {
  const __m512d v = _mm512_mul_pd(_mm512_cvtepi32_pd(q), _mm512_set1_pd(s.width));
  return kMean ? _mm512_div_pd(v, _mm512_set1_pd(s.divisor)) : v;
}

// 16 codes to y.
template <Product kProduct, bool kMean, bool kStream>
STRETTO_INLINE void put_codes(__m512i q, const Scale& s, float* y) noexcept {
  if constexpr (kProduct == Product::single) {
    put<kStream>(y, _mm512_mul_ps(_mm512_cvtepi32_ps(q), _mm512_set1_ps(s.width32)));
  } else {
    const __m256 a = _mm512_cvtpd_ps(value64<kMean>(_mm512_castsi512_si256(q), s));
    const __m256 b = _mm512_cvtpd_ps(value64<kMean>(_mm512_extracti64x4_epi64(q, 1), s));
    put<kStream>(y, _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1));
  }
}
template <Product kProduct, bool kMean, bool kStream>
STRETTO_INLINE void put_codes(__m512i q, const Scale& s, double* y) noexcept {
  put<kStream>(y, value64<kMean>(_mm512_castsi512_si256(q), s));
  put<kStream>(y + 8, value64<kMean>(_mm512_extracti64x4_epi64(q, 1), s));
}

// Inclusive prefix sums.
STRETTO_INLINE __m256i prefix8(__m256i v) noexcept {
  const __m256i zero = _mm256_setzero_si256();
  v = _mm256_add_epi32(v, _mm256_alignr_epi32(v, zero, 7));
  v = _mm256_add_epi32(v, _mm256_alignr_epi32(v, zero, 6));
  return _mm256_add_epi32(v, _mm256_alignr_epi32(v, zero, 4));
}
STRETTO_INLINE __m512i prefix16(__m512i v) noexcept {
  const __m512i zero = _mm512_setzero_si512();
  v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 15));
  v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 14));
  v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 12));
  return _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 8));
}
STRETTO_INLINE __m512i last16(__m512i v) noexcept {
  v = _mm512_shuffle_i32x4(v, v, 0xff);
  return _mm512_shuffle_epi32(v, _MM_PERM_DDDD);
}
// Word 7 of v everywhere.
STRETTO_INLINE __m512i last8(__m256i v) noexcept {
  return _mm512_permutexvar_epi32(_mm512_set1_epi32(7), _mm512_castsi256_si512(v));
}
// Each of the words 0-3 (4-7) four times; 0-7 (8-15) twice.
STRETTO_INLINE __m512i quads(__m256i v, bool second) noexcept {
  const __m512i low = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
  const __m512i index = second ? _mm512_add_epi32(low, _mm512_set1_epi32(4)) : low;
  return _mm512_permutexvar_epi32(index, _mm512_castsi256_si512(v));
}
STRETTO_INLINE __m512i twins(__m512i v, bool second) noexcept {
  const __m512i low = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
  const __m512i index = second ? _mm512_add_epi32(low, _mm512_set1_epi32(8)) : low;
  return _mm512_permutexvar_epi32(index, v);
}

// Codes of a block of first differences; `code` is the one before, everywhere.
STRETTO_INLINE Pair first_block(const std::uint8_t* p, unsigned w, __m512i* code) noexcept {
  if (__builtin_expect(w <= 8, 1)) {
    const __m512i shares = _mm512_set4_epi32(0x01010101, 0x00010101, 0x00000101, 0x00000001);
    const __m256i e = read_bytes<false>(p, w);
    const __m256i total = _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), e);
    const __m256i upto = prefix8(total);
    const __m256i before = _mm256_add_epi32(_mm256_sub_epi32(upto, total), _mm512_castsi512_si256(*code));
    *code = _mm512_add_epi32(*code, last8(upto));
    return {_mm512_dpbusd_epi32(quads(before, false), shares, quads(e, false)),
            _mm512_dpbusd_epi32(quads(before, true), shares, quads(e, true))};
  }
  if (w <= 16) {
    const __m512i shares = _mm512_set4_epi32(0x00010001, 0x00000001, 0x00010001, 0x00000001);
    const __m512i e = read_words<false>(p, w);
    const __m512i total = _mm512_dpwssd_epi32(_mm512_setzero_si512(), _mm512_set1_epi16(1), e);
    const __m512i upto = prefix16(total);
    const __m512i before = _mm512_add_epi32(_mm512_sub_epi32(upto, total), *code);
    *code = _mm512_add_epi32(*code, last16(upto));
    return {_mm512_dpwssd_epi32(twins(before, false), shares, twins(e, false)),
            _mm512_dpwssd_epi32(twins(before, true), shares, twins(e, true))};
  }
  const Pair e = read_pair<false>(p, w);
  const __m512i q0 = _mm512_add_epi32(prefix16(e.v0), *code);
  const __m512i q1 = _mm512_add_epi32(prefix16(e.v1), last16(q0));
  *code = last16(q1);
  return {q0, q1};
}

// Codes of a block of second differences; `difference` and `code` are those before, everywhere. With d_k, c_k before quad k, the
// m-th code in it is c_k + (m+1) d_k + (m+1) e_0 + m e_1 + ... + e_m.
STRETTO_INLINE Pair second_block(const std::uint8_t* p, unsigned w, __m512i* difference, __m512i* code) noexcept {
  if (__builtin_expect(w <= 8, 1)) {
    const __m512i shares = _mm512_set4_epi32(0x01020304, 0x00010203, 0x00000102, 0x00000001);
    const __m512i steps = _mm512_set4_epi32(4, 3, 2, 1);
    const __m256i e = read_bytes<false>(p, w);
    const __m256i zero = _mm256_setzero_si256();
    const __m256i total = _mm256_dpbusd_epi32(zero, _mm256_set1_epi8(1), e);
    const __m256i upto = prefix8(total);
    const __m256i d = _mm256_add_epi32(_mm256_sub_epi32(upto, total), _mm512_castsi512_si256(*difference));
    const __m256i rise = _mm256_dpbusd_epi32(_mm256_slli_epi32(d, 2), _mm256_set1_epi32(0x01020304), e);
    const __m256i risen = prefix8(rise);
    const __m256i c = _mm256_add_epi32(_mm256_sub_epi32(risen, rise), _mm512_castsi512_si256(*code));
    *difference = _mm512_add_epi32(*difference, last8(upto));
    *code = _mm512_add_epi32(*code, last8(risen));
    const auto half = [&](bool second) {
      const __m512i at = _mm512_add_epi32(quads(c, second), _mm512_mullo_epi32(quads(d, second), steps));
      return _mm512_dpbusd_epi32(at, shares, quads(e, second));
    };
    return {half(false), half(true)};
  }
  const Pair e = read_pair<false>(p, w);
  const __m512i d0 = _mm512_add_epi32(prefix16(e.v0), *difference);
  const __m512i d1 = _mm512_add_epi32(prefix16(e.v1), last16(d0));
  const __m512i q0 = _mm512_add_epi32(prefix16(d0), *code);
  const __m512i q1 = _mm512_add_epi32(prefix16(d1), last16(q0));
  *difference = last16(d1);
  *code = last16(q1);
  return {q0, q1};
}

// Two blocks of at most 8 bits at once: sixteen quads.
struct Four {
  __m512i v[4];
};
STRETTO_INLINE __m512i weights(int w) noexcept { return pinned(_mm512_set1_epi32(w)); }

struct FirstBlocks {
  __m512i code;
  __m512i ones, shares, quad[4];
};
STRETTO_INLINE FirstBlocks first_state(__m512i code) noexcept {
  const __m512i low = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
  const auto quad = [&](int k) { return pinned(_mm512_add_epi32(low, _mm512_set1_epi32(4 * k))); };
  return {code, weights(0x01010101), pinned(_mm512_set4_epi32(0x01010101, 0x00010101, 0x00000101, 0x00000001)),
          {quad(0), quad(1), quad(2), quad(3)}};
}
STRETTO_INLINE Four two(FirstBlocks& s, __m512i e) noexcept {
  const __m512i total = _mm512_dpbusd_epi32(_mm512_setzero_si512(), s.ones, e);
  const __m512i upto = prefix16(total);
  const __m512i before = _mm512_add_epi32(_mm512_sub_epi32(upto, total), s.code);
  s.code = _mm512_add_epi32(s.code, last16(upto));
  Four q;
  for (int k = 0; k < 4; ++k)
    q.v[k] = _mm512_dpbusd_epi32(_mm512_permutexvar_epi32(s.quad[k], before), s.shares, _mm512_permutexvar_epi32(s.quad[k], e));
  return q;
}

struct SecondBlocks {
  __m512i difference, code;
  __m512i ones, weight[4], turn;
};
STRETTO_INLINE SecondBlocks second_state(__m512i difference, __m512i code) noexcept {
  return {difference, code, weights(0x01010101), {weights(0x00000001), weights(0x00000102), weights(0x00010203), weights(0x01020304)},
          pinned(_mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0))};
}
STRETTO_INLINE Four two(SecondBlocks& s, __m512i e) noexcept {
  const __m512i total = _mm512_dpbusd_epi32(_mm512_setzero_si512(), s.ones, e);
  const __m512i upto = prefix16(total);
  const __m512i d = _mm512_add_epi32(_mm512_sub_epi32(upto, total), s.difference);
  const __m512i rise = _mm512_dpbusd_epi32(_mm512_slli_epi32(d, 2), s.weight[3], e);
  const __m512i risen = prefix16(rise);
  const __m512i c = _mm512_add_epi32(_mm512_sub_epi32(risen, rise), s.code);
  s.difference = _mm512_add_epi32(s.difference, last16(upto));
  s.code = _mm512_add_epi32(s.code, last16(risen));
  // The m-th codes of all quads at once, quad 4 k + l in word 4 l + k, so that two unpackings bring them into order.
  const __m512i et = _mm512_permutexvar_epi32(s.turn, e), dt = _mm512_permutexvar_epi32(s.turn, d);
  __m512i at = _mm512_add_epi32(_mm512_permutexvar_epi32(s.turn, c), dt);
  const __m512i q0 = _mm512_dpbusd_epi32(at, s.weight[0], et);
  at = _mm512_add_epi32(at, dt);
  const __m512i q1 = _mm512_dpbusd_epi32(at, s.weight[1], et);
  at = _mm512_add_epi32(at, dt);
  const __m512i q2 = _mm512_dpbusd_epi32(at, s.weight[2], et);
  const __m512i q3 = _mm512_dpbusd_epi32(_mm512_add_epi32(at, dt), s.weight[3], et);
  const __m512i low01 = _mm512_unpacklo_epi32(q0, q1), low23 = _mm512_unpacklo_epi32(q2, q3);
  const __m512i high01 = _mm512_unpackhi_epi32(q0, q1), high23 = _mm512_unpackhi_epi32(q2, q3);
  return {{_mm512_unpacklo_epi64(low01, low23), _mm512_unpackhi_epi64(low01, low23), _mm512_unpacklo_epi64(high01, high23),
           _mm512_unpackhi_epi64(high01, high23)}};
}

template <bool kUnsigned>
STRETTO_INLINE Pair plain_block(const std::uint8_t* p, unsigned w) noexcept {
  if (__builtin_expect(w <= 8, 1)) {
    const __m256i e = read_bytes<kUnsigned>(p, w);
    const __m128i a = _mm256_castsi256_si128(e), b = _mm256_extracti128_si256(e, 1);
    if constexpr (kUnsigned) return {_mm512_cvtepu8_epi32(a), _mm512_cvtepu8_epi32(b)};
    return {_mm512_cvtepi8_epi32(a), _mm512_cvtepi8_epi32(b)};
  }
  return read_pair<kUnsigned>(p, w);
}

// What each predictor does with one block of any width, and with two of at most 8 bits.
template <bool kUnsigned>
struct PlainBlocks {};
template <bool kUnsigned>
STRETTO_INLINE Pair one(PlainBlocks<kUnsigned>&, const std::uint8_t* p, unsigned w) noexcept {
  return plain_block<kUnsigned>(p, w);
}
STRETTO_INLINE Pair one(FirstBlocks& s, const std::uint8_t* p, unsigned w) noexcept { return first_block(p, w, &s.code); }
STRETTO_INLINE Pair one(SecondBlocks& s, const std::uint8_t* p, unsigned w) noexcept {
  return second_block(p, w, &s.difference, &s.code);
}

template <Product kProduct, bool kMean, bool kStream, bool kZeros, class T, class Blocks>
STRETTO_INLINE void decode_pairs(const NarrowGroup& g, const Scale& s, Blocks blocks, T* y) noexcept {
  constexpr bool kPairs = !std::is_same_v<Blocks, PlainBlocks<true>> && !std::is_same_v<Blocks, PlainBlocks<false>>;
  const std::uint8_t* p = g.planes;
  WidthReader widths{g.widths};
  for (int i = 0; i < kBlocks; i += 8) {
    std::uint64_t w8 = next8(widths);
    for (int j = 0; j < 8;) {
      const unsigned w0 = w8 & 0xff, w1 = w8 >> 8 & 0xff;
      if constexpr (kPairs) {
        if (j % 2 == 0 && __builtin_expect(w0 <= 8 && w1 <= 8, 1)) {
          const Four q = two(blocks, read_bytes2<false, kZeros>(p, 4 * w0, 4 * w1));
          for (int k = 0; k < 4; ++k) put_codes<kProduct, kMean, kStream>(q.v[k], s, y + 16 * k);
          p += 4 * (w0 + w1);
          y += 64;
          w8 >>= 16;
          j += 2;
          continue;
        }
      }
      const Pair q = one(blocks, p, w0);
      put_codes<kProduct, kMean, kStream>(q.v0, s, y);
      put_codes<kProduct, kMean, kStream>(q.v1, s, y + 16);
      p += 4 * w0;
      y += 32;
      w8 >>= 8;
      ++j;
    }
  }
}

template <Product kProduct, bool kMean, bool kStream, class T, class Blocks>
STRETTO_INLINE void decode_blocks(const NarrowGroup& g, const Scale& s, Blocks blocks, T* y) noexcept {
  if (has_zeros(g.widths))
    decode_pairs<kProduct, kMean, kStream, true>(g, s, blocks, y);
  else
    decode_pairs<kProduct, kMean, kStream, false>(g, s, blocks, y);
}

template <Product kProduct, bool kMean, bool kStream, class T>
STRETTO_INLINE void decode(const NarrowGroup& g, const Scale& s, T* y) noexcept {
  const __m512i base = _mm512_set1_epi32(g.base);
  switch (g.predictor) {
    case Predictor::none_unsigned: return decode_blocks<kProduct, kMean, kStream>(g, s, PlainBlocks<true>{}, y);
    case Predictor::none_signed: return decode_blocks<kProduct, kMean, kStream>(g, s, PlainBlocks<false>{}, y);
    case Predictor::first: return decode_blocks<kProduct, kMean, kStream>(g, s, first_state(base), y);
    case Predictor::second:
      return decode_blocks<kProduct, kMean, kStream>(g, s, second_state(_mm512_set1_epi32(g.slope), base), y);
  }
}

// A full group of values at y (any alignment) written past the caches.
template <class T>
void stream_group(const T* from, T* y) noexcept {
  const auto* src = reinterpret_cast<const std::uint8_t*>(from);
  auto* dst = reinterpret_cast<std::uint8_t*>(y);
  constexpr std::size_t bytes = kGroup * sizeof(T);
  const std::size_t head = (64 - reinterpret_cast<std::uintptr_t>(dst) % 64) % 64;
  std::memcpy(dst, src, head);
  std::size_t i = head;
  for (; i + 64 <= bytes; i += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + i), _mm512_loadu_si512(src + i));
  std::memcpy(dst + i, src + i, bytes - i);
}

template <bool kStream, class T>
void decode_scaled(const NarrowGroup& g, const Scale& s, bool single, T* y) noexcept {
  if (s.divisor != 1) return decode<Product::through_double, true, kStream>(g, s, y);
  if (single) return decode<Product::single, false, kStream>(g, s, y);
  decode<Product::through_double, false, kStream>(g, s, y);
}

template <class T>
bool decompress(const std::uint8_t* p, std::size_t words, Type type, const Scale& s, bool single, std::uint32_t divisor,
                bool stream, T* y) noexcept {
  NarrowGroup g;
  GroupView view;
  bool exceptions = false;
  if (!open_group(p, words, type, &g, &view, &exceptions)) return false;
  if (!stream) {
    decode_scaled<false>(g, s, single, y);
    if (exceptions) decode_exceptions(view, divisor, y);
    return true;
  }
  if (!exceptions && reinterpret_cast<std::uintptr_t>(y) % 64 == 0) {
    decode_scaled<true>(g, s, single, y);
    return true;
  }
  alignas(64) T buffer[kGroup];
  decode_scaled<false>(g, s, single, buffer);
  if (exceptions) decode_exceptions(view, divisor, buffer);
  stream_group(buffer, y);
  return true;
}

}  // namespace

bool decompress_f32(const std::uint8_t* p, std::size_t words, const Grid<float>& grid, std::uint64_t code_bound,
                    std::uint32_t divisor, bool stream, float* y) noexcept {
  const Scale s{grid.width, grid.w, static_cast<double>(divisor)};
  return decompress(p, words, Type::f32, s, code_bound <= kSingleLimit, divisor, stream, y);
}

bool decompress_f64(const std::uint8_t* p, std::size_t words, const Grid<double>& grid, std::uint64_t,
                    std::uint32_t divisor, bool stream, double* y) noexcept {
  const Scale s{grid.width, 0, static_cast<double>(divisor)};
  return decompress(p, words, Type::f64, s, false, divisor, stream, y);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
