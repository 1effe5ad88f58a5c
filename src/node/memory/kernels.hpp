// Copies with plain or streaming stores, which bypass the caches. The better choice depends on the reader's place, so
// it is measured (tune.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::node {

enum class Stores : std::uint8_t { plain, streaming };
const char* name(Stores s) noexcept;

// Lengths from which results in the caller's memory use streaming stores (docs/node.md). memcpy never streams where
// caches have hundreds of megabytes.
constexpr std::size_t kMoved = std::size_t{8} << 20;  // blocks copied from a peer's memory
// blocks copied from a peer's slots, and a rank's own block
constexpr std::size_t kMovedByCaches = std::size_t{32} << 20;
constexpr std::size_t kReduced = std::size_t{64} << 20;
constexpr Stores stores_of_result(std::size_t bytes, std::size_t least) noexcept {
  return bytes < least ? Stores::plain : Stores::streaming;
}

// A fence follows streaming stores, so that a later release store publishes them.
void copy(void* to, const void* from, std::size_t bytes, Stores stores) noexcept;

// For data that another core wrote last: its caches are slow to read, so this prefetches far ahead.
void copy_theirs(void* to, const void* from, std::size_t bytes, Stores stores) noexcept;

// Into lines that another core accessed last: prefetches each for writing.
void copy_to_theirs(void* to, const void* from, std::size_t bytes, Stores stores) noexcept;

inline void will_write(std::byte* to, std::size_t bytes) noexcept {
#if defined(__x86_64__)
  // __builtin_prefetch would emit a load prefetch for the baseline processor.
  for (std::size_t at = 0; at < bytes; at += 64) asm volatile("prefetchw %0" : : "m"(to[at]));
#else
  for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(to + at, 1, 3);
#endif
}

inline void will_read(const std::byte* from, std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(from + at, 0, 2);
}

}  // namespace stretto::node
