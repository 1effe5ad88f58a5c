// Copies whose stores are plain, or pass by the caches.
//
// Which is better depends on where the reader is. Stores that stay in a cache which the reader shares are fetched from
// there at once. A line that another core has dirty is fetched slowly; memory that was written around the caches,
// several times faster. These are facts of a machine, and on a virtual machine they change during a run. So the choice
// is measured (tune.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::node {

enum class Stores : std::uint8_t { plain, streaming };
const char* name(Stores s) noexcept;

// Into the caller's memory: a result of such length has no room in a core's caches, and streaming stores do not read
// what they overwrite. Where a processor shares a cache of hundreds of megabytes, memcpy streams for no length that
// occurs. Reductions store in turns with what they read and write elsewhere, and gain from longer results on only. The
// lengths are measured (docs/node.md).
constexpr std::size_t kMoved = std::size_t{8} << 20;           // blocks copied from a peer's memory
constexpr std::size_t kMovedByCaches = std::size_t{32} << 20;  // blocks out of a peer's slots, and a rank's own
constexpr std::size_t kReduced = std::size_t{64} << 20;
constexpr Stores stores_of_result(std::size_t bytes, std::size_t least) noexcept {
  return bytes < least ? Stores::plain : Stores::streaming;
}

// As memcpy. After streaming stores it fences, so that a release store that follows publishes them.
void copy(void* to, const void* from, std::size_t bytes, Stores stores) noexcept;

// The same of what another core wrote last. Most of it comes from that core's caches, which takes long, so it is
// prefetched far ahead. Data in this core's own caches are better copied by copy().
void copy_theirs(void* to, const void* from, std::size_t bytes, Stores stores) noexcept;

// The same into lines that another core read or wrote last: each is prefetched for writing before it is written.
void copy_to_theirs(void* to, const void* from, std::size_t bytes, Stores stores) noexcept;

// Prefetches for writing what another core had last.
inline void will_write(std::byte* to, std::size_t bytes) noexcept {
#if defined(__x86_64__)
  // As the compiler's builtin would, had it not been told to serve processors that take this for a load.
  for (std::size_t at = 0; at < bytes; at += 64) asm volatile("prefetchw %0" : : "m"(to[at]));
#else
  for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(to + at, 1, 3);
#endif
}

// Prefetches what will be read soon.
inline void will_read(const std::byte* from, std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(from + at, 0, 2);
}

}  // namespace stretto::node
