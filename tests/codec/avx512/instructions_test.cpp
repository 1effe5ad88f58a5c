// Each replacement of an instruction against the instruction, on processors that have it.
#define STRETTO_FEWER_INSTRUCTIONS_BESIDE_ALL
#include "fewer_instructions.hpp"

#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace stretto {
namespace {

bool has_all() noexcept {
  return codec::avx512::present() && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
         __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("gfni");
}

template <int N>
fewer::Bytes<N> random_bytes(std::mt19937_64& random) noexcept {
  fewer::Bytes<N> b;
  for (auto& at : b.at) at = static_cast<std::uint8_t>(random());
  return b;
}

#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,gfni"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,gfni")
#endif

template <class Vector>
bool same(const Vector& a, const Vector& b) noexcept {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// The name of the first that differs, or null.
const char* first_difference(std::mt19937_64& random) noexcept {
  const __m512i a = fewer::vector(random_bytes<64>(random)), b = fewer::vector(random_bytes<64>(random)),
                c = fewer::vector(random_bytes<64>(random));
  const __m256i d = fewer::vector(random_bytes<32>(random)), e = fewer::vector(random_bytes<32>(random));
  const auto mask = static_cast<std::uint32_t>(random());
  if (!same(_mm512_permutexvar_epi8(a, b), fewer_permutexvar_epi8(a, b))) return "permutexvar_epi8";
  if (!same(_mm256_permutexvar_epi8(d, e), fewer_permutexvar_epi8(d, e))) return "permutexvar_epi8 of 32 bytes";
  if (!same(_mm512_permutex2var_epi8(a, b, c), fewer_permutex2var_epi8(a, b, c))) return "permutex2var_epi8";
  if (!same(_mm512_gf2p8affine_epi64_epi8(a, b, 0x5a), fewer_gf2p8affine_epi64_epi8(a, b, 0x5a))) return "gf2p8affine";
  if (!same(_mm256_gf2p8affine_epi64_epi8(d, e, 0), fewer_gf2p8affine_epi64_epi8(d, e, 0))) return "gf2p8affine of 32";
  if (!same(_mm256_maskz_compress_epi8(mask, d), fewer_maskz_compress_epi8(mask, d))) return "maskz_compress_epi8";
  const __mmask64 places = random();
  if (!same(_mm512_maskz_compress_epi8(places, a), fewer_maskz_compress_epi8(places, a)))
    return "maskz_compress_epi8 of 64 bytes";
  if (!same(_mm256_maskz_expand_epi8(mask, d), fewer_maskz_expand_epi8(mask, d))) return "maskz_expand_epi8";
  if (!same(_mm512_shldi_epi32(a, b, 9), fewer_shldi_epi32(a, b, 9))) return "shldi_epi32";
  if (!same(_mm512_shrdi_epi64(a, b, 8), fewer_shrdi_epi64(a, b, 8))) return "shrdi_epi64";
  if (!same(_mm512_shldi_epi16(a, b, 4), fewer_shldi_epi16(a, b, 4))) return "shldi_epi16";
  const __m512i shift = _mm512_and_si512(c, _mm512_set1_epi16(15));
  if (!same(_mm512_shldv_epi16(a, b, shift), fewer_shldv_epi16(a, b, shift))) return "shldv_epi16";
  if (!same(_mm512_maskz_compress_epi16(mask, a), fewer_maskz_compress_epi16(mask, a))) return "maskz_compress_epi16";
  if (!same(_mm512_mask_expand_epi16(a, mask, b), fewer_mask_expand_epi16(a, mask, b))) return "mask_expand_epi16";
  if (!same(_mm512_popcnt_epi8(a), fewer_popcnt_epi8(a))) return "popcnt_epi8";
  if (!same(_mm512_popcnt_epi16(a), fewer_popcnt_epi16(a))) return "popcnt_epi16";
  return nullptr;
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

TEST(FewerInstructions, DoWhatTheProcessorsDo) {
  if (!has_all()) GTEST_SKIP() << "a processor without VBMI, VBMI2 or GFNI";
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(first_difference(random), nullptr);
}

}  // namespace
}  // namespace stretto
