#include "node/kernels.hpp"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stretto::node {

const char* name(Stores s) noexcept {
  switch (s) {
    case Stores::plain: return "plain";
    case Stores::streaming: return "streaming";
  }
  return "?";
}

#if defined(__x86_64__)
namespace {

constexpr std::size_t line = 64;

[[gnu::target("avx512f")]] void stream_512(char* to, const char* from, std::size_t lines) noexcept {
  for (std::size_t i = 0; i < lines; ++i)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i * line), _mm512_loadu_si512(from + i * line));
}

[[gnu::target("avx")]] void stream_256(char* to, const char* from, std::size_t lines) noexcept {
  for (std::size_t i = 0; i < 2 * lines; ++i)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to) + i,
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from) + i));
}

void stream_128(char* to, const char* from, std::size_t lines) noexcept {
  for (std::size_t i = 0; i < 4 * lines; ++i)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to) + i, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from) + i));
}

using Stream = void (*)(char*, const char*, std::size_t) noexcept;
Stream find_stream() noexcept {
  if (__builtin_cpu_supports("avx512f")) return stream_512;
  if (__builtin_cpu_supports("avx")) return stream_256;
  return stream_128;
}
const Stream stream = find_stream();

}  // namespace

void copy(void* to, const void* from, std::size_t bytes, Stores stores) noexcept {
  if (bytes == 0) return;
  if (stores == Stores::plain || bytes < 4 * line) {
    std::memcpy(to, from, bytes);
    return;
  }
  char* d = static_cast<char*>(to);
  const char* s = static_cast<const char*>(from);
  const std::size_t head = (line - reinterpret_cast<std::uintptr_t>(d) % line) % line;
  std::memcpy(d, s, head);
  const std::size_t lines = (bytes - head) / line, tail = (bytes - head) % line;
  stream(d + head, s + head, lines);
  std::memcpy(d + bytes - tail, s + bytes - tail, tail);
  _mm_sfence();
}
#else
void copy(void* to, const void* from, std::size_t bytes, Stores) noexcept {
  if (bytes != 0) std::memcpy(to, from, bytes);
}
#endif

}  // namespace stretto::node
