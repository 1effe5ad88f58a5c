#include "node/memory/kernels.hpp"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stretto::node {
namespace {

constexpr std::size_t kOwned = 1024;  // bytes prefetched while as many are written

}  // namespace

const char* name(Stores s) noexcept {
  switch (s) {
    case Stores::plain: return "plain";
    case Stores::streaming: return "streaming";
  }
  return "?";
}

#if defined(__x86_64__)
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kAhead = 48;  // lines: about the outstanding misses of a second-level cache

// To an aligned destination. Ahead: prefetches each line `kAhead` lines before its copy.
using Lines = void (*)(char*, const char*, std::size_t) noexcept;

template <bool Ahead>
inline void ask(const char* from, std::size_t i, std::size_t lines) noexcept {
  if constexpr (Ahead) __builtin_prefetch(from + std::min(i + kAhead, lines - 1) * kCacheLine, 0, 2);
}

template <bool Ahead, bool Streams>
[[gnu::target("avx512f")]] void lines_512(char* to, const char* from, std::size_t lines) noexcept {
  for (std::size_t i = 0; i < lines; ++i) {
    ask<Ahead>(from, i, lines);
    auto* const at = reinterpret_cast<__m512i*>(to + i * kCacheLine);
    const __m512i value = _mm512_loadu_si512(from + i * kCacheLine);
    if constexpr (Streams)
      _mm512_stream_si512(at, value);
    else
      _mm512_store_si512(at, value);
  }
}

template <bool Ahead, bool Streams>
[[gnu::target("avx")]] void lines_256(char* to, const char* from, std::size_t lines) noexcept {
  for (std::size_t i = 0; i < 2 * lines; ++i) {
    if (i % 2 == 0) ask<Ahead>(from, i / 2, lines);
    const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from) + i);
    if constexpr (Streams)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to) + i, value);
    else
      _mm256_store_si256(reinterpret_cast<__m256i*>(to) + i, value);
  }
}

template <bool Ahead, bool Streams>
void lines_128(char* to, const char* from, std::size_t lines) noexcept {
  for (std::size_t i = 0; i < 4 * lines; ++i) {
    if (i % 4 == 0) ask<Ahead>(from, i / 4, lines);
    const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from) + i);
    if constexpr (Streams)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to) + i, value);
    else
      _mm_store_si128(reinterpret_cast<__m128i*>(to) + i, value);
  }
}

template <bool Ahead, bool Streams>
Lines find_lines() noexcept {
  if (__builtin_cpu_supports("avx512f")) return lines_512<Ahead, Streams>;
  if (__builtin_cpu_supports("avx")) return lines_256<Ahead, Streams>;
  return lines_128<Ahead, Streams>;
}
const Lines kCopyStreaming = find_lines<false, true>(), kCopyFetched = find_lines<true, false>(),
            kCopyFetchedStreaming = find_lines<true, true>();

// At least one line.
void copy_lines(char* to, const char* from, std::size_t bytes, Lines copy) noexcept {
  const std::size_t head = (kCacheLine - reinterpret_cast<std::uintptr_t>(to) % kCacheLine) % kCacheLine;
  std::memcpy(to, from, head);
  const std::size_t lines = (bytes - head) / kCacheLine, tail = (bytes - head) % kCacheLine;
  copy(to + head, from + head, lines);
  std::memcpy(to + bytes - tail, from + bytes - tail, tail);
}

}  // namespace

void copy(void* to, const void* from, std::size_t bytes, Stores stores) noexcept {
  if (bytes == 0) return;
  if (stores == Stores::plain || bytes < 4 * kCacheLine) {
    std::memcpy(to, from, bytes);
    return;
  }
  copy_lines(static_cast<char*>(to), static_cast<const char*>(from), bytes, kCopyStreaming);
  _mm_sfence();
}

void copy_theirs(void* to, const void* from, std::size_t bytes, Stores stores) noexcept {
  if (bytes < kAhead * kCacheLine) {
    copy(to, from, bytes, stores);
    return;
  }
  const bool plain = stores == Stores::plain;
  copy_lines(static_cast<char*>(to), static_cast<const char*>(from), bytes,
             plain ? kCopyFetched : kCopyFetchedStreaming);
  if (!plain) _mm_sfence();
}
#else
void copy(void* to, const void* from, std::size_t bytes, Stores) noexcept {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

void copy_theirs(void* to, const void* from, std::size_t bytes, Stores stores) noexcept {
  copy(to, from, bytes, stores);
}
#endif

void copy_to_theirs(void* to, const void* from, std::size_t bytes, Stores stores) noexcept {
  if (stores == Stores::streaming || bytes < kOwned) return copy(to, from, bytes, stores);
  auto* const t = static_cast<std::byte*>(to);
  const auto* const f = static_cast<const std::byte*>(from);
  will_write(t, kOwned);
  for (std::size_t at = 0; at < bytes; at += kOwned) {
    const std::size_t n = std::min(kOwned, bytes - at);
    will_write(t + at + n, std::min(kOwned, bytes - at - n));
    std::memcpy(t + at, f + at, n);
  }
}

}  // namespace stretto::node
