#include <concepts>
#include <cstring>
#include <type_traits>

#include "codec/avx512/codes16.hpp"
#include "codec/avx512/kernels.hpp"
#include "codec/avx512/wide.hpp"
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

// Division takes longest: means over a power of two do without.
template <std::floating_point T>
Scale scale_of(const Grid<T>& grid, std::uint32_t divisor) noexcept {
  if (divisor > 1 && divides_exactly<T>(grid.width, divisor))
    return {grid.width / divisor, static_cast<float>(grid.width / divisor), 1};
  return {grid.width, static_cast<float>(grid.w), static_cast<double>(divisor)};
}

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
template <bool kStream, std::integral T>
STRETTO_INLINE void put(T* y, __m512i v) noexcept {
  if constexpr (kStream)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(y), v);
  else
    _mm512_storeu_si512(y, v);
}
STRETTO_INLINE __m512 vector_of(float v) noexcept { return _mm512_set1_ps(v); }
STRETTO_INLINE __m512d vector_of(double v) noexcept { return _mm512_set1_pd(v); }

template <bool kStream, class T>
struct Output {
  static constexpr bool kFilled = false;
  T* y;
  template <class V>
  STRETTO_MEMBER void put_at(int i, V v) const noexcept {
    put<kStream>(y + i, v);
  }
  STRETTO_MEMBER void advance(int n) noexcept { y += n; }
};

// A vector's lanes are a whole number of bytes.
template <bool kStream, class T>
struct FilledOutput {
  static constexpr bool kFilled = true;
  T* y;
  const std::uint8_t* missing;
  decltype(vector_of(T{})) value;
  STRETTO_MEMBER void put_at(int i, __m512 v) const noexcept {
    put<kStream>(y + i, _mm512_mask_mov_ps(v, load<std::uint16_t>(missing + i / 8), value));
  }
  STRETTO_MEMBER void put_at(int i, __m512d v) const noexcept {
    put<kStream>(y + i, _mm512_mask_mov_pd(v, missing[i / 8], value));
  }
  STRETTO_MEMBER void advance(int n) noexcept {
    y += n;
    missing += n / 8;
  }
};

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

template <Product kProduct, bool kMean, class Out>
STRETTO_INLINE void put_codes(__m512i q, const Scale& s, const Out& out, int at, float*) noexcept {
  if constexpr (kProduct == Product::single) {
    out.put_at(at, _mm512_mul_ps(_mm512_cvtepi32_ps(q), _mm512_set1_ps(s.width32)));
  } else {
    const __m256 a = _mm512_cvtpd_ps(value64<kMean, float>(_mm512_castsi512_si256(q), s));
    const __m256 b = _mm512_cvtpd_ps(value64<kMean, float>(_mm512_extracti64x4_epi64(q, 1), s));
    out.put_at(at, _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1));
  }
}
template <Product kProduct, bool kMean, class Out>
STRETTO_INLINE void put_codes(__m512i q, const Scale& s, const Out& out, int at, double*) noexcept {
  out.put_at(at, value64<kMean, double>(_mm512_castsi512_si256(q), s));
  out.put_at(at + 8, value64<kMean, double>(_mm512_extracti64x4_epi64(q, 1), s));
}

// Quotients of numbers of 32 bits, rounded to float64, have the exact ones' whole parts.
template <Product kProduct, bool kMean, class Out>
STRETTO_INLINE void put_codes(__m512i q, const Scale& s, const Out& out, int at, std::int32_t*) noexcept {
  if constexpr (!kMean) return out.put_at(at, q);
  const __m256i a = _mm512_cvttpd_epi32(value64<kMean, float>(_mm512_castsi512_si256(q), s));
  const __m256i b = _mm512_cvttpd_epi32(value64<kMean, float>(_mm512_extracti64x4_epi64(q, 1), s));
  out.put_at(at, _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1));
}
template <Product kProduct, bool kMean, class Out>
STRETTO_INLINE void put_codes(__m512i q, const Scale& s, const Out& out, int at, std::int64_t*) noexcept {
  const __m256i halves[2] = {_mm512_castsi512_si256(q), _mm512_extracti64x4_epi64(q, 1)};
  for (int k = 0; k < 2; ++k)
    out.put_at(at + 8 * k,
               kMean ? _mm512_cvttpd_epi64(value64<kMean, float>(halves[k], s)) : _mm512_cvtepi32_epi64(halves[k]));
}

template <Product kProduct, bool kMean, class Out>
STRETTO_INLINE void put_four(const FourVectors& q, const Scale& s, const Out& out) noexcept {
  for (int k = 0; k < 4; ++k) put_codes<kProduct, kMean>(q.v[k], s, out, 16 * k, out.y);
}

// Each step is a dependency chain: those of three pairs of blocks overlap.
template <Product kProduct, bool kMean, bool kZeros, class Out, class Blocks>
STRETTO_INLINE void decode_two_by_two(const NarrowGroup& g, const Scale& s, Blocks blocks, Out out) noexcept {
  const std::uint8_t* p = g.planes;
  WidthReader widths{_mm256_slli_epi16(g.widths, 2)};  // lengths: four times the widths
  std::uint64_t lengths = 0;
  const auto read = [&](int i) {
    lengths = i % 8 ? lengths >> 16 : next8(widths);
    const std::size_t n0 = lengths & 0xff, n1 = lengths >> 8 & 0xff;
    const auto sums = sums_of_two<kZeros>(blocks, p, n0, n1);
    p += n0 + n1;
    return sums;
  };
  const auto first = read(0);
  auto sums = read(2);
  auto words = words_of_two(blocks, first);
  for (int i = 4; i < kBlocks; i += 2, out.advance(64)) {
    const auto next_sums = read(i);
    const auto next_words = words_of_two(blocks, sums);
    put_four<kProduct, kMean>(codes_of_two(blocks, words), s, out);
    sums = next_sums;
    words = next_words;
  }
  put_four<kProduct, kMean>(codes_of_two(blocks, words), s, out);
  out.advance(64);
  put_four<kProduct, kMean>(codes_of_two(blocks, words_of_two(blocks, sums)), s, out);
}

template <Product kProduct, bool kMean, bool kZeros, class Out, class Blocks>
STRETTO_INLINE void decode_pairs(const NarrowGroup& g, const Scale& s, Blocks blocks, Out out) noexcept {
  constexpr bool kPairs = !std::is_same_v<Blocks, PlainBlocks<true>> && !std::is_same_v<Blocks, PlainBlocks<false>>;
  if constexpr (kPairs) {
    if (_mm256_cmpgt_epu8_mask(g.widths, _mm256_set1_epi8(8)) == 0)
      return decode_two_by_two<kProduct, kMean, kZeros>(g, s, blocks, out);
    if (_mm256_cmpgt_epu8_mask(g.widths, _mm256_set1_epi8(16)) == 0)
      return decode_two_by_two<kProduct, kMean, true>(g, s, in_words(blocks), out);
  }
  const std::uint8_t* p = g.planes;
  WidthReader widths{g.widths};
  for (int i = 0; i < kBlocks; i += 8) {
    std::uint64_t w8 = next8(widths);
    for (int j = 0; j < 8;) {
      const unsigned w0 = w8 & 0xff, w1 = w8 >> 8 & 0xff;
      if constexpr (kPairs) {
        if (j % 2 == 0 && __builtin_expect(w0 <= 8 && w1 <= 8, 1)) {
          const auto sums = sums_of_two<kZeros>(blocks, p, 4 * w0, 4 * w1);
          put_four<kProduct, kMean>(codes_of_two(blocks, words_of_two(blocks, sums)), s, out);
          p += 4 * (w0 + w1);
          out.advance(64);
          w8 >>= 16;
          j += 2;
          continue;
        }
      }
      const Pair q = one(blocks, p, w0);
      put_codes<kProduct, kMean>(q.v0, s, out, 0, out.y);
      put_codes<kProduct, kMean>(q.v1, s, out, 16, out.y);
      p += 4 * w0;
      out.advance(32);
      w8 >>= 8;
      ++j;
    }
  }
}

template <Product kProduct, bool kMean, class Out, class Blocks>
STRETTO_INLINE void decode_blocks(const NarrowGroup& g, const Scale& s, Blocks blocks, Out out) noexcept {
  // Code for groups without zero blocks gains 2 %, for the most frequent cases alone.
  if constexpr (!kMean && !Out::kFilled) {
    if (!has_zeros(g.widths)) return decode_pairs<kProduct, kMean, false>(g, s, blocks, out);
  }
  decode_pairs<kProduct, kMean, true>(g, s, blocks, out);
}

template <Product kProduct, bool kMean, class Out>
STRETTO_INLINE void decode(const NarrowGroup& g, const Scale& s, Out out) noexcept {
  switch (g.predictor) {
    case Predictor::none_unsigned: return decode_blocks<kProduct, kMean>(g, s, PlainBlocks<true>{}, out);
    case Predictor::none_signed: return decode_blocks<kProduct, kMean>(g, s, PlainBlocks<false>{}, out);
    case Predictor::first: return decode_blocks<kProduct, kMean>(g, s, first_state(g.base), out);
    case Predictor::second: return decode_blocks<kProduct, kMean>(g, s, second_state(g.slope, g.base), out);
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

template <bool kStream, class T, template <bool, class> class Out>
void decode_scaled(const NarrowGroup& g, const Scale& s, bool single, Out<kStream, T> out) noexcept {
  if (s.divisor != 1) return decode<Product::through_double, true>(g, s, out);
  if (single || std::is_integral_v<T>) return decode<Product::single, false>(g, s, out);
  if constexpr (std::is_floating_point_v<T>) decode<Product::through_double, false>(g, s, out);
}

STRETTO_INLINE bool has_equal_codes(const NarrowGroup& g) noexcept {
  return _mm256_testz_si256(g.widths, g.widths) && (g.predictor != Predictor::second || g.slope == 0);
}

template <class T, class Out>
void decode_equal(const NarrowGroup& g, const Scale& s, bool single, Out out) noexcept {
  alignas(64) T all[16];
  const Output<false, T> to{all};
  const __m512i code = _mm512_set1_epi32(g.base);
  if (s.divisor != 1)
    put_codes<Product::through_double, true>(code, s, to, 0, all);
  else if (single)
    put_codes<Product::single, false>(code, s, to, 0, all);
  else
    put_codes<Product::through_double, false>(code, s, to, 0, all);
  const auto v = vector_of(all[0]);
  constexpr int kLanes = 64 / sizeof(T);
  for (int i = 0; i < kGroup; i += 64, out.advance(64))
    for (int k = 0; k < 64; k += kLanes) out.put_at(k, v);
}

template <bool kStream, class T>
void decode_filled(const NarrowGroup& g, const Scale& s, bool single, const GroupView& view, T value, T* y) noexcept {
  const FilledOutput<kStream, T> out{y, reinterpret_cast<const std::uint8_t*>(view.lanes), vector_of(value)};
  if (has_equal_codes(g)) return decode_equal<T>(g, s, single, out);
  decode_scaled(g, s, single, out);
}

template <class T>
__attribute__((noinline)) bool decompress_filled(const std::uint8_t* p, std::size_t words, Type type, const Scale& s,
                                                 bool single, std::uint32_t divisor, bool stream, T* y) noexcept {
  NarrowGroup g;
  GroupView view;
  if (!read_filled(p, words, type, &g, &view)) return false;
  alignas(64) T buffer[kGroup];
  const bool aligned = reinterpret_cast<std::uintptr_t>(y) % 64 == 0;
  T* const to = stream && !(view.uniform && aligned) ? buffer : y;
  if (view.uniform) {
    const ExceptionReader<T> reader(view);
    const T value = divisor > 1 ? reader.mean(divisor) : reader.value();
    if (stream && aligned)
      decode_filled<true>(g, s, single, view, value, to);
    else
      decode_filled<false>(g, s, single, view, value, to);
  } else {
    decode_scaled(g, s, single, Output<false, T>{to});
    decode_exceptions(view, divisor, to);
  }
  if (to == buffer) stream_group(buffer, y);
  return true;
}

// Declines means of wide groups, and codes beyond T.
template <class T>
__attribute__((noinline)) bool decompress_wide(const std::uint8_t* p, std::size_t words, std::uint32_t divisor,
                                               bool stream, T* y) noexcept {
  AnyGroup g;
  if (divisor > 1 || !read_any(p, words, &g)) return false;
  alignas(64) std::int64_t q[kGroup];
  if constexpr (sizeof(T) == 8) {
    read_codes(g, stream ? q : y);
    if (stream) stream_group(q, y);
  } else {
    read_codes(g, q);
    alignas(64) T narrow[kGroup];
    __m512i beyond = _mm512_setzero_si512();
    for (int i = 0; i < kGroup; i += 8) {
      const __m512i v = _mm512_load_si512(q + i);
      const __m256i w = _mm512_cvtepi64_epi32(v);
      beyond = _mm512_or_si512(beyond, _mm512_xor_si512(v, _mm512_cvtepi32_epi64(w)));
      _mm256_store_si256(reinterpret_cast<__m256i*>(narrow + i), w);
    }
    if (_mm512_test_epi64_mask(beyond, beyond) != 0) return false;
    std::memcpy(y, narrow, sizeof narrow);
  }
  return true;
}

STRETTO_INLINE void put_product(double* y, __m512d v) noexcept { _mm512_storeu_pd(y, v); }
STRETTO_INLINE void put_product(float* y, __m512d v) noexcept { _mm256_storeu_ps(y, _mm512_cvtpd_ps(v)); }

// Declines codes that float64 rounds, and means that are no power of two's.
template <class T>
__attribute__((noinline)) bool decompress_wide_floats(const std::uint8_t* p, std::size_t words, Type type,
                                                      const Scale& s, std::uint32_t divisor, bool stream,
                                                      T* y) noexcept {
  AnyGroup g;
  GroupView view;
  view.m = kGroup;
  const bool filled = load<std::uint32_t>(p) & kExceptionsBit;
  if (s.divisor != 1 || !(filled ? read_wide_to(p, words, &g, ExceptionsInto{type, &view, nullptr})
                                 : read_wide_to(p, words, &g, NoExceptions())))
    return false;
  alignas(64) std::int64_t q[kGroup];
  read_codes(g, q);
  alignas(64) T buffer[kGroup];
  T* const to = stream ? buffer : y;
  const __m512d width = _mm512_set1_pd(s.width);
  __m512i most = _mm512_setzero_si512();
  for (int i = 0; i < kGroup; i += 8) {
    const __m512i code = _mm512_load_si512(q + i);
    most = _mm512_max_epu64(most, _mm512_abs_epi64(code));
    put_product(to + i, _mm512_mul_pd(_mm512_cvtepi64_pd(code), width));
  }
  if (_mm512_cmpgt_epu64_mask(most, _mm512_set1_epi64(1LL << 53)) != 0) return false;
  if (filled) decode_exceptions(view, divisor, to);
  if (stream) stream_group(buffer, y);
  return true;
}

template <class T>
bool decompress(const std::uint8_t* p, std::size_t words, Type type, const Scale& s, bool single, std::uint32_t divisor,
                bool stream, T* y) noexcept {
  NarrowGroup g;
  if (!read_group(p, words, &g)) {
    if constexpr (std::is_integral_v<T>)
      return decompress_wide(p, words, divisor, stream, y);
    else if (load<std::uint32_t>(p) & kWideBit)
      return !single && decompress_wide_floats(p, words, type, s, divisor, stream, y);
    else
      return decompress_filled(p, words, type, s, single, divisor, stream, y);
  }
  if (!stream) {
    decode_scaled(g, s, single, Output<false, T>{y});
    return true;
  }
  if (reinterpret_cast<std::uintptr_t>(y) % 64 == 0) {
    decode_scaled(g, s, single, Output<true, T>{y});
    return true;
  }
  alignas(64) T buffer[kGroup];
  decode_scaled(g, s, single, Output<false, T>{buffer});
  stream_group(buffer, y);
  return true;
}

}  // namespace

bool decompress_f32(const std::uint8_t* p, std::size_t words, const Grid<float>& grid, std::uint64_t code_bound,
                    std::uint32_t divisor, bool stream, float* y) noexcept {
  const Scale s = scale_of(grid, divisor);
  return decompress(p, words, Type::f32, s, code_bound <= kSingleLimit, divisor, stream, y);
}

bool decompress_f64(const std::uint8_t* p, std::size_t words, const Grid<double>& grid, std::uint64_t,
                    std::uint32_t divisor, bool stream, double* y) noexcept {
  const Scale s = scale_of(grid, divisor);
  return decompress(p, words, Type::f64, s, false, divisor, stream, y);
}

bool decompress_i32(const std::uint8_t* p, std::size_t words, const Grid<std::int32_t>&, std::uint64_t,
                    std::uint32_t divisor, bool stream, std::int32_t* y) noexcept {
  return decompress(p, words, Type::i32, {1, 1, static_cast<double>(divisor)}, false, divisor, stream, y);
}
bool decompress_i64(const std::uint8_t* p, std::size_t words, const Grid<std::int64_t>&, std::uint64_t,
                    std::uint32_t divisor, bool stream, std::int64_t* y) noexcept {
  return decompress(p, words, Type::i64, {1, 1, static_cast<double>(divisor)}, false, divisor, stream, y);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
