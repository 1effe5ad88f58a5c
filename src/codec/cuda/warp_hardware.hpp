// Interface: warp_emulated.hpp. A lane's value is a register of its thread.
#pragma once

#include "codec/cuda/device.hpp"

namespace stretto::codec::cuda {

struct HardwareWarp {
  template <class T>
  using Lane = T;
  static constexpr unsigned kAll = 0xffffffffu;

  template <class T>
  static STRETTO_DEVICE T splat(T v) {
    return v;
  }
  static STRETTO_DEVICE int lane() { return static_cast<int>(threadIdx.x & 31); }
  static STRETTO_DEVICE int lane_anew() {
    int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
  }
  template <class F, class... T>
  static STRETTO_DEVICE auto map(F f, T... v) {
    return f(v...);
  }
  template <class F, class... T>
  static STRETTO_DEVICE void each(F f, T... v) {
    f(v...);
  }

  template <class T>
  static STRETTO_DEVICE T shuffle(T v, int from) {
    return __shfl_sync(kAll, v, from);
  }
  template <class T>
  static STRETTO_DEVICE T shuffle_xor(T v, int mask) {
    return __shfl_xor_sync(kAll, v, mask);
  }
  template <class T>
  static STRETTO_DEVICE T broadcast(T v, int from) {
    return __shfl_sync(kAll, v, from);
  }
  static STRETTO_DEVICE u32 ballot(bool v) { return __ballot_sync(kAll, v); }
  static STRETTO_DEVICE bool any(bool v) { return __any_sync(kAll, v) != 0; }

  static STRETTO_DEVICE u32 reduce_or(u32 v) { return __reduce_or_sync(kAll, v); }
  static STRETTO_DEVICE u64 reduce_or(u64 v) {
    return static_cast<u64>(reduce_or(static_cast<u32>(v >> 32))) << 32 | reduce_or(static_cast<u32>(v));
  }
  static STRETTO_DEVICE u32 reduce_max(u32 v) { return __reduce_max_sync(kAll, v); }
  static STRETTO_DEVICE u64 reduce_max(u64 v) {
    STRETTO_UNROLL
    for (int s = 16; s; s >>= 1) v = larger(v, shuffle_xor(v, s));
    return v;
  }
  static STRETTO_DEVICE u32 reduce_add(u32 v) { return __reduce_add_sync(kAll, v); }
  static STRETTO_DEVICE u64 reduce_add(u64 v) {
    STRETTO_UNROLL
    for (int s = 16; s; s >>= 1) v += shuffle_xor(v, s);
    return v;
  }
  template <class T>
  static STRETTO_DEVICE T scan_add(T v) {
    STRETTO_UNROLL
    for (int s = 1; s < 32; s <<= 1) {
      const T before = __shfl_up_sync(kAll, v, static_cast<unsigned>(s));
      if (lane() >= s) v += before;
    }
    return v;
  }
  static STRETTO_DEVICE u32 scan_add(u32 v) {
    STRETTO_UNROLL
    for (int s = 1; s < 32; s <<= 1)
      asm volatile("{.reg .u32 r; .reg .pred p; shfl.sync.up.b32 r|p, %0, %1, 0, 0xffffffff; @p add.u32 %0, r, %0;}"
                   : "+r"(v)
                   : "r"(s));
    return v;
  }

  static STRETTO_DEVICE void sync() { __syncwarp(); }
  static STRETTO_DEVICE const u32* copy_ahead(u32* to, const u32* from, u32 words) {
    const u64 source = static_cast<u64>(__cvta_generic_to_global(from));
    const u32 skew = static_cast<u32>(source) & 15, bytes = skew + 4 * words;
    const u32 target = static_cast<u32>(__cvta_generic_to_shared(to));
    STRETTO_ROLLED
    for (u32 at = 16 * static_cast<u32>(lane()); at < bytes; at += 512)
      asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(target + at), "l"(source - skew + at),
                   "r"(bytes - at < 16 ? bytes - at : 16)
                   : "memory");
    return to + skew / 4;
  }
  static STRETTO_DEVICE void copies_done() {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
  }
  static STRETTO_DEVICE void atomic_or(u32* p, int index, u32 bits) {
    if (bits) atomicOr(p + index, bits);
  }

  static STRETTO_DEVICE u64 read(const u64* p) { return *const_cast<const volatile u64*>(p); }
  static STRETTO_DEVICE void write(u64* p, u64 v) { *const_cast<volatile u64*>(p) = v; }
  static STRETTO_DEVICE u64 fetch_add(u64* p, u64 v) {
    return atomicAdd(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(v));
  }
  static STRETTO_DEVICE void fetch_max(u64* p, u64 v) {
    atomicMax(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(v));
  }
  static STRETTO_DEVICE void fence() { __threadfence(); }
  static STRETTO_DEVICE void pause() {}
  static STRETTO_DEVICE void prefetch(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }
};

}  // namespace stretto::codec::cuda
