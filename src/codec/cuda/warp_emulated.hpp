// A warp on the host: a lane's value is an array of 32, and each operation does all lanes in turn. compute-sanitizer
// finds errors that such lockstep hides (a missing sync).
//
// The interface, also of warp_hardware.hpp. Plain types are shared by all lanes; Lane<T> is a value per lane.
//   map(f, a, b, ...)     f of each lane's values, as a Lane; f may read memory
//   each(f, a, b, ...)    without results; f may write memory that no other lane writes in the same call
//   shuffle, shuffle_xor, broadcast, ballot, reductions, scan_add (inclusive)
//   lane_anew()           lane(), recomputed to save registers
//   sync()                makes earlier writes of lanes visible to all
//   copy_ahead(to, from, n)  begins to copy n words from device memory to 16 * ceil(n / 4 + 1) bytes of shared memory,
//                         at a multiple of 16; returns the first word's place. copies_done() waits, and syncs
//   atomic_or(p, bits)    each lane ors into p[its index]
//   read, write           one access to a look-back descriptor, which may race with other blocks
//   fetch_add, fetch_max  by a single lane; fence() orders them with other blocks' writes
//   pause()               in a loop that waits for another block
//   prefetch(p)           device memory, in a lane's own function
#pragma once

#include <atomic>
#include <type_traits>

#include "codec/cuda/device.hpp"

namespace stretto::codec::cuda {

struct EmulatedWarp {
  template <class T>
  struct Lane {
    T of[32];
  };

  template <class T>
  static Lane<T> splat(T v) {
    Lane<T> r;
    for (auto& x : r.of) x = v;
    return r;
  }
  static Lane<int> lane() {
    Lane<int> r;
    for (int j = 0; j < 32; ++j) r.of[j] = j;
    return r;
  }
  static Lane<int> lane_anew() { return lane(); }
  template <class F, class... T>
  static auto map(F f, const Lane<T>&... v) {
    Lane<std::decay_t<decltype(f(v.of[0]...))>> r;
    for (int j = 0; j < 32; ++j) r.of[j] = f(v.of[j]...);
    return r;
  }
  template <class F, class... T>
  static void each(F f, const Lane<T>&... v) {
    for (int j = 0; j < 32; ++j) f(v.of[j]...);
  }

  template <class T>
  static Lane<T> shuffle(const Lane<T>& v, const Lane<int>& from) {
    return map([&v](int j) { return v.of[j & 31]; }, from);
  }
  template <class T>
  static Lane<T> shuffle_xor(const Lane<T>& v, int mask) {
    return map([&v, mask](int j) { return v.of[j ^ mask]; }, lane());
  }
  template <class T>
  static T broadcast(const Lane<T>& v, int from) {
    return v.of[from & 31];
  }
  static u32 ballot(const Lane<bool>& v) {
    u32 r = 0;
    for (int j = 0; j < 32; ++j) r |= static_cast<u32>(v.of[j]) << j;
    return r;
  }
  static bool any(const Lane<bool>& v) { return ballot(v) != 0; }
  template <class T>
  static T reduce_or(const Lane<T>& v) {
    T r = 0;
    for (const T x : v.of) r |= x;
    return r;
  }
  template <class T>
  static T reduce_max(const Lane<T>& v) {
    T r = v.of[0];
    for (const T x : v.of) r = x > r ? x : r;
    return r;
  }
  template <class T>
  static T reduce_add(const Lane<T>& v) {
    T r = 0;
    for (const T x : v.of) r = static_cast<T>(r + x);
    return r;
  }
  template <class T>
  static Lane<T> scan_add(Lane<T> v) {
    for (int j = 1; j < 32; ++j) v.of[j] = static_cast<T>(v.of[j] + v.of[j - 1]);
    return v;
  }

  static void sync() {}
  static const u32* copy_ahead(u32* to, const u32* from, u32 words) {
    const u32 skew = static_cast<u32>(reinterpret_cast<std::uintptr_t>(from) % 16 / 4);
    for (u32 i = 0; i < words; ++i) to[skew + i] = from[i];
    return to + skew;
  }
  static void copies_done() {}
  static void atomic_or(u32* p, const Lane<int>& index, const Lane<u32>& bits) {
    each(
        [p](int i, u32 b) {
          if (b) p[i] |= b;
        },
        index, bits);
  }

  static u64 read(const u64* p) {
    step(false);
    return std::atomic_ref(*const_cast<u64*>(p)).load(std::memory_order_relaxed);
  }
  static void write(u64* p, u64 v) {
    step(false);
    std::atomic_ref(*p).store(v, std::memory_order_relaxed);
  }
  static u64 fetch_add(u64* p, u64 v) {
    step(false);
    return std::atomic_ref(*p).fetch_add(v);
  }
  static void fetch_max(u64* p, u64 v) {
    step(false);
    std::atomic_ref<u64> at(*p);
    for (u64 seen = at.load(); seen < v && !at.compare_exchange_weak(seen, v);) {
    }
  }
  static void fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
  static void pause() { step(true); }
  static void prefetch(const void*) {}

  // Called before each access that other blocks may see, and by pause(): a test runs other blocks there.
  using Step = void (*)(void* self, bool waiting);
  static inline thread_local Step on_step = nullptr;
  static inline thread_local void* step_self = nullptr;

 private:
  static void step(bool waiting) {
    if (on_step) on_step(step_self, waiting);
  }
};

}  // namespace stretto::codec::cuda
