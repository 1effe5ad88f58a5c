// Dispatch of functions that Highway compiles per instruction set, with only its headers: its library calibrates a
// clock at load time, 4 ms per process. Include after foreach_target.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#elif HWY_ARCH_ARM_A64
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

namespace stretto {

#if HWY_ARCH_X86
inline bool runs_avx2() noexcept {
  constexpr unsigned f16c = 1u << 29, lzcnt = 1u << 5;
  unsigned a = 0, b = 0, c = 0, d = 0, extended = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || __get_cpuid(0x80000001, &a, &b, &extended, &d) == 0) return false;
  return (c & f16c) != 0 && (extended & lzcnt) != 0 && __builtin_cpu_supports("aes") &&
         __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
}

inline bool runs(std::int64_t target) noexcept {
  switch (target) {
    case HWY_AVX3:
      return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    case HWY_AVX2: return runs_avx2();
    case HWY_SSE4:
      return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
    case HWY_SSSE3: return __builtin_cpu_supports("ssse3");
    default: return false;
  }
}
#elif HWY_ARCH_ARM_A64
// Targets with a length in their name are for registers of that length alone.
inline bool runs(std::int64_t target) noexcept {
  const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  const bool sve = (first & HWCAP_SVE) != 0, sve2 = (second & HWCAP2_SVE2) != 0 && (second & HWCAP2_SVEAES) != 0;
  const int length = sve ? prctl(PR_SVE_GET_VL) & PR_SVE_VL_LEN_MASK : 0;
  switch (target) {
    case HWY_SVE2_128: return sve2 && length == 16;
    case HWY_SVE_256: return sve && length == 32;
    case HWY_SVE2: return sve2;
    case HWY_SVE: return sve;
    case HWY_NEON: return (first & HWCAP_AES) != 0;
    default: return false;
  }
}
#else
inline bool runs(std::int64_t target) noexcept { return (hwy::SupportedTargets() & target) != 0; }
#endif

template <class Function>
struct Compiled {
  std::int64_t target;
  Function* function;  // null: not compiled
};

// The first supported of `all` (best first), or null. `name` (hwy::TargetName) restricts the choice. The last is always
// supported.
template <class Function, std::size_t n>
Function* best_of(const Compiled<Function> (&all)[n], const char* name = nullptr) noexcept {
  for (const Compiled<Function>& c : all) {
    const bool wanted = c.function && (!name || std::strcmp(hwy::TargetName(c.target), name) == 0);
    if (wanted && (&c == &all[n - 1] || runs(c.target))) return c.function;
  }
  return nullptr;
}

}  // namespace stretto

#if HWY_ARCH_X86
#define STRETTO_COMPILED(name)                                                                               \
  {                                                                                                          \
    {HWY_AVX3, HWY_CHOOSE_AVX3(name)}, {HWY_AVX2, HWY_CHOOSE_AVX2(name)}, {HWY_SSE4, HWY_CHOOSE_SSE4(name)}, \
        {HWY_SSSE3, HWY_CHOOSE_SSSE3(name)}, {                                                               \
      HWY_STATIC_TARGET, &HWY_STATIC_DISPATCH(name)                                                          \
    }                                                                                                        \
  }
#elif HWY_ARCH_ARM
#define STRETTO_COMPILED(name)                                                          \
  {                                                                                     \
    {HWY_SVE2_128, HWY_CHOOSE_SVE2_128(name)}, {HWY_SVE_256, HWY_CHOOSE_SVE_256(name)}, \
        {HWY_SVE2, HWY_CHOOSE_SVE2(name)}, {HWY_SVE, HWY_CHOOSE_SVE(name)}, {           \
      HWY_STATIC_TARGET, &HWY_STATIC_DISPATCH(name)                                     \
    }                                                                                   \
  }
#else
#define STRETTO_COMPILED(name)                        \
  {                                                   \
    { HWY_STATIC_TARGET, &HWY_STATIC_DISPATCH(name) } \
  }
#endif
