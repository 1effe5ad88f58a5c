// Lets the AVX-512 kernels run, slowly, on processors without VBMI, VBMI2 and GFNI: plain code replaces their
// instructions of these sets. Included before everything else when the kernels are compiled for tests. Each function
// follows Intel's description of its instruction.
#pragma once

#include <immintrin.h>

#include <cstdint>

// The strings of these pragmas cannot be cut.
// clang-format off
#if defined(__clang__)
#define STRETTO_AVX512_BEGIN \
  _Pragma("clang attribute push(__attribute__((target(\"avx2,fma,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vnni\"))), apply_to = function)")
#define STRETTO_AVX512_END _Pragma("clang attribute pop")
#else
#define STRETTO_AVX512_BEGIN _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vnni\")")
#define STRETTO_AVX512_END _Pragma("GCC pop_options")
#endif
// clang-format on

namespace stretto::codec::avx512 {

inline bool present() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("fma");
}

}  // namespace stretto::codec::avx512

STRETTO_AVX512_BEGIN

namespace stretto::fewer {

// The bytes of a vector.
template <int N>
struct Bytes {
  std::uint8_t at[N];
};
inline Bytes<64> bytes(__m512i v) noexcept { return __builtin_bit_cast(Bytes<64>, v); }
inline Bytes<32> bytes(__m256i v) noexcept { return __builtin_bit_cast(Bytes<32>, v); }
inline __m512i vector(const Bytes<64>& b) noexcept { return __builtin_bit_cast(__m512i, b); }
inline __m256i vector(const Bytes<32>& b) noexcept { return __builtin_bit_cast(__m256i, b); }

// Byte i of the result is byte index[i] of a; or of a and b in a row.
template <int N>
Bytes<N> permuted(const Bytes<N>& index, const Bytes<N>& a) noexcept {
  Bytes<N> r;
  for (int i = 0; i < N; ++i) r.at[i] = a.at[index.at[i] % N];
  return r;
}
template <int N>
Bytes<N> permuted(const Bytes<N>& a, const Bytes<N>& index, const Bytes<N>& b) noexcept {
  Bytes<N> r;
  for (int i = 0; i < N; ++i) {
    const int from = index.at[i] % (2 * N);
    r.at[i] = from < N ? a.at[from] : b.at[from - N];
  }
  return r;
}

// Each byte of x as a vector of bits, times the 8 x 8 bit matrix in the same quadword of a (its first row is the last
// byte), plus b.
template <int N>
Bytes<N> affine(const Bytes<N>& x, const Bytes<N>& a, int b) noexcept {
  Bytes<N> r;
  for (int i = 0; i < N; ++i) {
    int bits = b;
    for (int k = 0; k < 8; ++k) {
      const int both = x.at[i] & a.at[i / 8 * 8 + 7 - k];
      bits ^= (__builtin_popcount(static_cast<unsigned>(both)) & 1) << k;
    }
    r.at[i] = static_cast<std::uint8_t>(bits);
  }
  return r;
}

// The bytes that the mask names, in a row from byte 0, zeros after them; and the reverse.
template <int N>
Bytes<N> compressed(std::uint64_t mask, const Bytes<N>& a) noexcept {
  Bytes<N> r{};
  for (int i = 0, n = 0; i < N; ++i)
    if (mask >> i & 1) r.at[n++] = a.at[i];
  return r;
}
template <int N>
Bytes<N> expanded(std::uint64_t mask, const Bytes<N>& a) noexcept {
  Bytes<N> r{};
  for (int i = 0, n = 0; i < N; ++i)
    if (mask >> i & 1) r.at[i] = a.at[n++];
  return r;
}

// Shifts into which the bits of b follow those of a.
inline __m512i shifted_left32(__m512i a, __m512i b, unsigned n) noexcept {
  return _mm512_or_si512(_mm512_slli_epi32(a, n), _mm512_srli_epi32(b, 32 - n));
}
inline __m512i shifted_right64(__m512i a, __m512i b, unsigned n) noexcept {
  return _mm512_or_si512(_mm512_srli_epi64(a, n), _mm512_slli_epi64(b, 64 - n));
}

// Words of 16 bits, shifted left by as much as n says, the bits of b following.
inline __m512i shifted_left16(__m512i a, __m512i b, __m512i n) noexcept {
  return _mm512_or_si512(_mm512_sllv_epi16(a, n), _mm512_srlv_epi16(b, _mm512_sub_epi16(_mm512_set1_epi16(16), n)));
}
// The mask of words as one of bytes.
inline std::uint64_t of_bytes(__mmask32 k) noexcept {
  std::uint64_t m = 0;
  for (int i = 0; i < 32; ++i) m |= static_cast<std::uint64_t>(k >> i & 1 ? 3 : 0) << (2 * i);
  return m;
}
template <int N>
Bytes<N> ones(const Bytes<N>& a) noexcept {
  Bytes<N> r;
  for (int i = 0; i < N; ++i) r.at[i] = static_cast<std::uint8_t>(__builtin_popcount(a.at[i]));
  return r;
}

inline __m512i ones_of_words(__m512i a) noexcept {
  const __m512i bytes_of = vector(ones(bytes(a)));
  return _mm512_add_epi16(_mm512_and_si512(bytes_of, _mm512_set1_epi16(0xff)), _mm512_srli_epi16(bytes_of, 8));
}

}  // namespace stretto::fewer

STRETTO_AVX512_END

// Each intrinsic's name with `fewer_` before it.
#define fewer_permutexvar_epi8(at, a) \
  ::stretto::fewer::vector(::stretto::fewer::permuted(::stretto::fewer::bytes(at), ::stretto::fewer::bytes(a)))
#define fewer_permutex2var_epi8(a, at, b) \
  ::stretto::fewer::vector(               \
      ::stretto::fewer::permuted(::stretto::fewer::bytes(a), ::stretto::fewer::bytes(at), ::stretto::fewer::bytes(b)))
#define fewer_gf2p8affine_epi64_epi8(x, a, b) \
  ::stretto::fewer::vector(::stretto::fewer::affine(::stretto::fewer::bytes(x), ::stretto::fewer::bytes(a), b))
#define fewer_maskz_compress_epi8(k, a) \
  ::stretto::fewer::vector(::stretto::fewer::compressed(k, ::stretto::fewer::bytes(a)))
#define fewer_maskz_expand_epi8(k, a) \
  ::stretto::fewer::vector(::stretto::fewer::expanded(k, ::stretto::fewer::bytes(a)))
#define fewer_shldi_epi32(a, b, n) ::stretto::fewer::shifted_left32(a, b, n)
#define fewer_shrdi_epi64(a, b, n) ::stretto::fewer::shifted_right64(a, b, n)
#define fewer_shldi_epi16(a, b, n) ::stretto::fewer::shifted_left16(a, b, _mm512_set1_epi16(static_cast<short>(n)))
#define fewer_shldv_epi16(a, b, n) ::stretto::fewer::shifted_left16(a, b, n)
#define fewer_maskz_compress_epi16(k, a) \
  ::stretto::fewer::vector(::stretto::fewer::compressed(::stretto::fewer::of_bytes(k), ::stretto::fewer::bytes(a)))
#define fewer_mask_expand_epi16(from, k, a) \
  _mm512_mask_mov_epi16(                    \
      from, k,                              \
      ::stretto::fewer::vector(::stretto::fewer::expanded(::stretto::fewer::of_bytes(k), ::stretto::fewer::bytes(a))))
#define fewer_popcnt_epi8(a) ::stretto::fewer::vector(::stretto::fewer::ones(::stretto::fewer::bytes(a)))
#define fewer_popcnt_epi16(a) ::stretto::fewer::ones_of_words(a)

#ifndef STRETTO_FEWER_INSTRUCTIONS_BESIDE_ALL  // by the test that compares them with the processor's
#undef _mm512_gf2p8affine_epi64_epi8
#undef _mm256_gf2p8affine_epi64_epi8
#undef _mm512_shldi_epi32
#undef _mm512_shrdi_epi64
#undef _mm512_shldi_epi16
#define _mm512_permutexvar_epi8 fewer_permutexvar_epi8
#define _mm512_maskz_permutexvar_epi8(k, at, a) _mm512_maskz_mov_epi8(k, fewer_permutexvar_epi8(at, a))
#define _mm256_permutexvar_epi8 fewer_permutexvar_epi8
#define _mm256_maskz_permutexvar_epi8(k, at, a) _mm256_maskz_mov_epi8(k, fewer_permutexvar_epi8(at, a))
#define _mm512_permutex2var_epi8 fewer_permutex2var_epi8
#define _mm512_gf2p8affine_epi64_epi8 fewer_gf2p8affine_epi64_epi8
#define _mm256_gf2p8affine_epi64_epi8 fewer_gf2p8affine_epi64_epi8
#define _mm256_maskz_compress_epi8 fewer_maskz_compress_epi8
#define _mm512_maskz_compress_epi8 fewer_maskz_compress_epi8
#define _mm256_maskz_expand_epi8 fewer_maskz_expand_epi8
#define _mm512_shldi_epi32 fewer_shldi_epi32
#define _mm512_shrdi_epi64 fewer_shrdi_epi64
#define _mm512_shldi_epi16 fewer_shldi_epi16
#define _mm512_shldv_epi16 fewer_shldv_epi16
#define _mm512_maskz_compress_epi16 fewer_maskz_compress_epi16
#define _mm512_mask_expand_epi16 fewer_mask_expand_epi16
#define _mm512_popcnt_epi8 fewer_popcnt_epi8
#define _mm512_popcnt_epi16 fewer_popcnt_epi16
#endif
