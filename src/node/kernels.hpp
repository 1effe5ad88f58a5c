// Copies whose stores are plain, or pass by the caches.
//
// Which is better depends on where the reader is. Stores that stay in a cache which the reader shares are fetched from there at once;
// a line that another core has dirty is fetched slowly, and memory that was written around the caches several times faster (facts of
// a machine, and on a virtual one they change while it runs). So it is measured, not assumed: tune.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::node {

enum class Stores : std::uint8_t { plain, streaming };
const char* name(Stores s) noexcept;

// Into the caller's memory: so long a result finds no room in a core's caches, and stores that pass by them spare reading what they
// overwrite. Where a processor shares a cache of hundreds of megabytes, memcpy does that for no length that occurs.
constexpr std::size_t kPastCaches = std::size_t{16} << 20;
constexpr Stores stores_of_result(std::size_t bytes) noexcept {
  return bytes < kPastCaches ? Stores::plain : Stores::streaming;
}

// As memcpy. After streaming stores it fences, so that a release store that follows publishes them.
void copy(void* to, const void* from, std::size_t bytes, Stores stores) noexcept;

}  // namespace stretto::node
