// Replaces a missing prototype, or one for other processors; only present() is called then.
#include "bench/codec/prototype.hpp"

namespace stretto::bench::prototype {

bool present() noexcept { return false; }
std::size_t compress(const float*, std::size_t, float, std::uint8_t*, std::size_t*) noexcept { return 0; }
void decompress(const std::uint8_t*, std::size_t, float, float*) noexcept {}
std::size_t add(const std::uint8_t*, const std::uint8_t*, std::size_t, std::uint8_t*) noexcept { return 0; }

}  // namespace stretto::bench::prototype
