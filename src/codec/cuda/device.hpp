// Compiler primitives for nvcc and for emulation on the host. Arithmetic is IEEE: to nearest, with denormals, never
// contracted (nvcc -fmad=false -ftz=false).
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define STRETTO_DEVICE __device__ __forceinline__
#define STRETTO_APART __device__ __noinline__          // rare code, which would cost common code registers
#define STRETTO_INLINE __attribute__((always_inline))  // for lambdas
#define STRETTO_UNROLL _Pragma("unroll")
#define STRETTO_ROLLED _Pragma("unroll 1")
#else
#include <bit>
#include <cmath>
#include <cstring>
#define STRETTO_DEVICE inline
#define STRETTO_APART inline
#define STRETTO_INLINE
#define STRETTO_UNROLL
#define STRETTO_ROLLED
#endif

namespace stretto::codec::cuda {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

#if defined(__CUDACC__)
STRETTO_DEVICE int popcount(u32 v) { return __popc(v); }
STRETTO_DEVICE int bit_width(u32 v) { return 32 - __clz(static_cast<int>(v)); }
STRETTO_DEVICE int bit_width(u64 v) { return 64 - __clzll(static_cast<long long>(v)); }
STRETTO_DEVICE int trailing_zeros(u32 v) { return v ? __ffs(static_cast<int>(v)) - 1 : 32; }
STRETTO_DEVICE int trailing_zeros(u64 v) { return v ? __ffsll(static_cast<long long>(v)) - 1 : 64; }
STRETTO_DEVICE u32 bits_of(float v) { return __float_as_uint(v); }
STRETTO_DEVICE u64 bits_of(double v) { return static_cast<u64>(__double_as_longlong(v)); }
STRETTO_DEVICE float float_of(u32 v) { return __uint_as_float(v); }
STRETTO_DEVICE double double_of(u64 v) { return __longlong_as_double(static_cast<long long>(v)); }
STRETTO_DEVICE float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
STRETTO_DEVICE double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
STRETTO_DEVICE double nearest_integer(double v) { return rint(v); }
STRETTO_DEVICE double absolute(double v) { return fabs(v); }
STRETTO_DEVICE float absolute(float v) { return fabsf(v); }
STRETTO_DEVICE double integer_below(double v) { return floor(v); }
STRETTO_DEVICE float least_of(float a, float b) { return fminf(a, b); }
STRETTO_DEVICE float most_of(float a, float b) { return fmaxf(a, b); }
STRETTO_DEVICE u32 rotated(u32 v, int left) { return __funnelshift_l(v, v, static_cast<u32>(left)); }
STRETTO_DEVICE const u32* in_device(const u32* p) {
  __builtin_assume(__isGlobal(p));
  return p;
}
// Predicated, so that no load waits for an earlier load.
STRETTO_DEVICE u32 load_once_if(bool wanted, const u32* p) {
  u32 r;
  asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; mov.u32 %0, 0; @p ld.global.nc.u32 %0, [%1];}"
               : "=r"(r)
               : "l"(__cvta_generic_to_global(p)), "r"(static_cast<u32>(wanted)));
  return r;
}
STRETTO_DEVICE u32 load_if(bool wanted, const u32* p) {
  u32 r;
  asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; mov.u32 %0, 0; @p ld.u32 %0, [%1];}"
               : "=r"(r)
               : "l"(p), "r"(static_cast<u32>(wanted))
               : "memory");
  return r;
}
STRETTO_DEVICE u32 permute_bytes(u32 low, u32 high, u32 which) {
  u32 r;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "r"(which));
  return r;
}
STRETTO_DEVICE u32 dot_bytes(u32 a, u32 b, u32 c) {
  return static_cast<u32>(__dp4a(static_cast<i32>(a), static_cast<i32>(b), static_cast<i32>(c)));
}
// Atomic among the device's threads, without an order.
STRETTO_DEVICE void or_bits(u32* p, u32 bits) { atomicOr(p, bits); }
STRETTO_DEVICE void add_to(u32* p, u32 v) { atomicAdd(p, v); }
#else
inline int popcount(u32 v) { return std::popcount(v); }
inline int bit_width(u32 v) { return std::bit_width(v); }
inline int bit_width(u64 v) { return std::bit_width(v); }
inline int trailing_zeros(u32 v) { return std::countr_zero(v); }
inline int trailing_zeros(u64 v) { return std::countr_zero(v); }
inline u32 bits_of(float v) { return std::bit_cast<u32>(v); }
inline u64 bits_of(double v) { return std::bit_cast<u64>(v); }
inline float float_of(u32 v) { return std::bit_cast<float>(v); }
inline double double_of(u64 v) { return std::bit_cast<double>(v); }
inline float fused(float a, float b, float c) { return std::fma(a, b, c); }
inline double fused(double a, double b, double c) { return std::fma(a, b, c); }
inline double nearest_integer(double v) { return std::nearbyint(v); }
inline double absolute(double v) { return std::fabs(v); }
inline float absolute(float v) { return std::fabs(v); }
inline double integer_below(double v) { return std::floor(v); }
// std::fmin gives NaN for a signalling NaN.
inline float least_of(float a, float b) { return b < a || a != a ? b : a; }
inline float most_of(float a, float b) { return b > a || a != a ? b : a; }
inline u32 rotated(u32 v, int left) { return std::rotl(v, left); }
inline const u32* in_device(const u32* p) { return p; }
inline u32 load_once_if(bool wanted, const u32* p) { return wanted ? *p : 0; }
inline u32 load_if(bool wanted, const u32* p) { return wanted ? *p : 0; }
// The k-th four bits of `which` select byte k: 0-3 of `low`, 4-7 of `high`; plus 8: its sign in all bits.
inline u32 permute_bytes(u32 low, u32 high, u32 which) {
  const u64 both = static_cast<u64>(high) << 32 | low;
  u32 r = 0;
  for (int k = 0; k < 4; ++k) {
    const u32 name = which >> (4 * k) & 15, byte = static_cast<u32>(both >> (8 * (name & 7))) & 255;
    r |= (name & 8 ? (byte >> 7) * 255 : byte) << (8 * k);
  }
  return r;
}
inline u32 dot_bytes(u32 a, u32 b, u32 c) {
  for (int k = 0; k < 32; k += 8)
    c += static_cast<u32>(i32{static_cast<std::int8_t>(a >> k)} * i32{static_cast<std::int8_t>(b >> k)});
  return c;
}
inline void or_bits(u32* p, u32 bits) { *p |= bits; }
inline void add_to(u32* p, u32 v) { *p += v; }
#endif

// A NaN yields to the other operand.
STRETTO_DEVICE double least_of(double a, double b) { return b < a || a != a ? b : a; }
STRETTO_DEVICE double most_of(double a, double b) { return b > a || a != a ? b : a; }

STRETTO_DEVICE u32 extended_byte(u32 word, int k) {
  return permute_bytes(word, word, 0x8880 + 0x1111 * static_cast<u32>(k));
}

STRETTO_DEVICE double smaller(double a, double b) { return a < b ? a : b; }
STRETTO_DEVICE u64 larger(u64 a, u64 b) { return a > b ? a : b; }
STRETTO_DEVICE u32 smaller(u32 a, u32 b) { return a < b ? a : b; }
STRETTO_DEVICE u64 magnitude(i64 q) { return q < 0 ? 0 - static_cast<u64>(q) : static_cast<u64>(q); }

template <class T>
struct BitsOf {
  using type = u32;
};
template <>
struct BitsOf<double> {
  using type = u64;
};
template <class T>
using Bits = typename BitsOf<T>::type;
STRETTO_DEVICE void from_bits(u32 v, float* x) { *x = float_of(v); }
STRETTO_DEVICE void from_bits(u64 v, double* x) { *x = double_of(v); }
template <class T>
STRETTO_DEVICE T number_of(Bits<T> v) {
  T x;
  from_bits(v, &x);
  return x;
}

}  // namespace stretto::codec::cuda
