#include <cstring>
#include <type_traits>

#include "codec/avx512/codes.hpp"
#include "codec/avx512/kernels.hpp"
#include "codec/stream/exceptions.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

namespace {

enum class Product { single, through_double };

struct Scale {
  double width;
  float width32;
  double divisor;
  double inverse = 1 / divisor;
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

template <bool kMean, class T>
STRETTO_INLINE __m512d value64(__m256i q, const Scale& s) noexcept {
  const __m512d code = _mm512_cvtepi32_pd(q), width = _mm512_set1_pd(s.width), v = _mm512_mul_pd(code, width);
  if constexpr (!kMean) return v;
  const __m512d n = _mm512_set1_pd(s.divisor), inverse = _mm512_set1_pd(s.inverse);
  if constexpr (sizeof(T) == 4) return _mm512_div_pd(v, n);
  // docs/codec.md, "Means".
  const __m512d near = _mm512_mul_pd(v, inverse);
  const __m512d rest = _mm512_add_pd(_mm512_fnmadd_pd(near, n, v), _mm512_fmsub_pd(code, width, v));
  const __m512d part = _mm512_mul_pd(rest, inverse);
  return _mm512_add_pd(near, _mm512_fmadd_pd(_mm512_fnmadd_pd(part, n, rest), inverse, part));
}

template <Product kProduct, bool kMean, bool kStream>
STRETTO_INLINE void put_codes(__m512i q, const Scale& s, float* y) noexcept {
  if constexpr (kProduct == Product::single) {
    put<kStream>(y, _mm512_mul_ps(_mm512_cvtepi32_ps(q), _mm512_set1_ps(s.width32)));
  } else {
    const __m256 a = _mm512_cvtpd_ps(value64<kMean, float>(_mm512_castsi512_si256(q), s));
    const __m256 b = _mm512_cvtpd_ps(value64<kMean, float>(_mm512_extracti64x4_epi64(q, 1), s));
    put<kStream>(y, _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1));
  }
}
template <Product kProduct, bool kMean, bool kStream>
STRETTO_INLINE void put_codes(__m512i q, const Scale& s, double* y) noexcept {
  put<kStream>(y, value64<kMean, double>(_mm512_castsi512_si256(q), s));
  put<kStream>(y + 8, value64<kMean, double>(_mm512_extracti64x4_epi64(q, 1), s));
}

template <Product kProduct, bool kMean, bool kStream, class T>
STRETTO_INLINE void put_four(const FourVectors& q, const Scale& s, T* y) noexcept {
  for (int k = 0; k < 4; ++k) put_codes<kProduct, kMean, kStream>(q.v[k], s, y + 16 * k);
}

// Each step is a dependency chain, so the first step of two blocks overlaps the second of the previous two.
template <Product kProduct, bool kMean, bool kStream, bool kZeros, class T, class Blocks>
STRETTO_INLINE void decode_narrow(const NarrowGroup& g, const Scale& s, Blocks blocks, T* y) noexcept {
  const std::uint8_t* p = g.planes;
  WidthReader widths{_mm256_slli_epi16(g.widths, 2)};  // lengths: four times the widths
  std::uint64_t lengths = next8(widths);
  const auto next = [&] {
    const std::size_t n0 = lengths & 0xff, n1 = lengths >> 8 & 0xff;
    const Words words = words_of_two<kZeros>(blocks, p, n0, n1);
    p += n0 + n1;
    return words;
  };
  Words words = next();
  for (int i = 2; i < kBlocks; i += 2, y += 64) {
    lengths = i % 8 ? lengths >> 16 : next8(widths);
    const Words after = next();
    put_four<kProduct, kMean, kStream>(codes_of_two(blocks, words), s, y);
    words = after;
  }
  put_four<kProduct, kMean, kStream>(codes_of_two(blocks, words), s, y);
}

template <Product kProduct, bool kMean, bool kStream, bool kZeros, class T, class Blocks>
STRETTO_INLINE void decode_pairs(const NarrowGroup& g, const Scale& s, Blocks blocks, T* y) noexcept {
  constexpr bool kPairs = !std::is_same_v<Blocks, PlainBlocks<true>> && !std::is_same_v<Blocks, PlainBlocks<false>>;
  if constexpr (kPairs) {
    if (_mm256_cmpgt_epu8_mask(g.widths, _mm256_set1_epi8(8)) == 0)
      return decode_narrow<kProduct, kMean, kStream, kZeros>(g, s, blocks, y);
  }
  const std::uint8_t* p = g.planes;
  WidthReader widths{g.widths};
  for (int i = 0; i < kBlocks; i += 8) {
    std::uint64_t w8 = next8(widths);
    for (int j = 0; j < 8;) {
      const unsigned w0 = w8 & 0xff, w1 = w8 >> 8 & 0xff;
      if constexpr (kPairs) {
        if (j % 2 == 0 && __builtin_expect(w0 <= 8 && w1 <= 8, 1)) {
          put_four<kProduct, kMean, kStream>(codes_of_two(blocks, words_of_two<kZeros>(blocks, p, 4 * w0, 4 * w1)), s,
                                             y);
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
  switch (g.predictor) {
    case Predictor::none_unsigned: return decode_blocks<kProduct, kMean, kStream>(g, s, PlainBlocks<true>{}, y);
    case Predictor::none_signed: return decode_blocks<kProduct, kMean, kStream>(g, s, PlainBlocks<false>{}, y);
    case Predictor::first: return decode_blocks<kProduct, kMean, kStream>(g, s, first_state(g.base), y);
    case Predictor::second: return decode_blocks<kProduct, kMean, kStream>(g, s, second_state(g.slope, g.base), y);
  }
}

// One value for all missing places, from the group's codes at `from`, which may be y.
template <bool kStream, class T>
void put_filled(const T* from, const Lanes lanes, T value, T* y) noexcept {
  if constexpr (sizeof(T) == 4) {
    const __m512 fill = _mm512_set1_ps(value);
    for (int b = 0; b < kBlocks; ++b, from += 32, y += 32) {
      const std::uint32_t missing = lanes[b];
      put<kStream>(y, _mm512_mask_mov_ps(_mm512_loadu_ps(from), static_cast<__mmask16>(missing), fill));
      put<kStream>(y + 16, _mm512_mask_mov_ps(_mm512_loadu_ps(from + 16), static_cast<__mmask16>(missing >> 16), fill));
    }
  } else {
    const __m512d fill = _mm512_set1_pd(value);
    for (int b = 0; b < kBlocks; ++b)
      for (int k = 0; k < 4; ++k, from += 8, y += 8)
        put<kStream>(y, _mm512_mask_mov_pd(_mm512_loadu_pd(from), static_cast<__mmask8>(lanes[b] >> (8 * k)), fill));
  }
}

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
__attribute__((noinline)) bool decompress_filled(const std::uint8_t* p, std::size_t words, Type type, const Scale& s,
                                                 bool single, std::uint32_t divisor, bool stream, T* y) noexcept {
  NarrowGroup g;
  GroupView view;
  if (!read_filled(p, words, type, &g, &view)) return false;
  const ExceptionReader<T> reader(view);
  const auto value = [&] { return divisor > 1 ? reader.mean(divisor) : reader.value(); };
  if (!stream) {
    decode_scaled<false>(g, s, single, y);
    if (view.uniform)
      put_filled<false>(y, view.lanes, value(), y);
    else
      decode_exceptions(view, divisor, y);
    return true;
  }
  alignas(64) T buffer[kGroup];
  decode_scaled<false>(g, s, single, buffer);
  if (view.uniform && reinterpret_cast<std::uintptr_t>(y) % 64 == 0) {
    put_filled<true>(buffer, view.lanes, value(), y);
    return true;
  }
  if (view.uniform)
    put_filled<false>(buffer, view.lanes, value(), buffer);
  else
    decode_exceptions(view, divisor, buffer);
  stream_group(buffer, y);
  return true;
}

template <class T>
bool decompress(const std::uint8_t* p, std::size_t words, Type type, const Scale& s, bool single, std::uint32_t divisor,
                bool stream, T* y) noexcept {
  NarrowGroup g;
  if (!read_group(p, words, &g)) return decompress_filled(p, words, type, s, single, divisor, stream, y);
  if (!stream) {
    decode_scaled<false>(g, s, single, y);
    return true;
  }
  if (reinterpret_cast<std::uintptr_t>(y) % 64 == 0) {
    decode_scaled<true>(g, s, single, y);
    return true;
  }
  alignas(64) T buffer[kGroup];
  decode_scaled<false>(g, s, single, buffer);
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
