// Copies whose stores are plain, or pass by the caches.
//
// Which is better depends on where the reader is. Stores that stay in a cache which the reader shares are fetched from there at once;
// a line that another core has dirty is fetched slowly, and memory that was written around the caches several times faster (facts of
// a machine, and on a virtual one they change while it runs). So it is measured, not assumed: tune.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::node {

enum class Stores : std::uint8_t { plain, streaming };
const char* name(Stores s) noexcept;

// As memcpy. After streaming stores it fences, so that a release store that follows publishes them.
void copy(void* to, const void* from, std::size_t bytes, Stores stores) noexcept;

}  // namespace stretto::node
