// Code between STRETTO_AVX512_BEGIN and _END is compiled for AVX-512 (F, BW, DQ, VL, CD, VBMI, VBMI2, VNNI, BITALG) and
// GFNI. Earlier headers keep the build's target: their code runs on every processor.
#pragma once

#include <immintrin.h>

// Tests compile the kernels with fewer instructions (tests/codec/avx512/fewer_instructions.hpp).
#ifndef STRETTO_AVX512_BEGIN
// The strings of these pragmas cannot be cut.
// clang-format off
#if defined(__clang__)
#define STRETTO_AVX512_BEGIN \
  _Pragma("clang attribute push(__attribute__((target(\"avx2,fma,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,avx512vbmi2,avx512vnni,avx512bitalg,gfni\"))), apply_to = function)")
#define STRETTO_AVX512_END _Pragma("clang attribute pop")
#else
#define STRETTO_AVX512_BEGIN _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,avx512vbmi2,avx512vnni,avx512bitalg,gfni\")")
#define STRETTO_AVX512_END _Pragma("GCC pop_options")
#endif
// clang-format on

namespace stretto::codec::avx512 {

inline bool present() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vnni") &&
         __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("gfni") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("fma");
}

}  // namespace stretto::codec::avx512
#endif
