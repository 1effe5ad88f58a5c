// An optional speed reference: a fast, unsafe experiment with the same class of stream, for processors with AVX-512,
// VBMI, VNNI and GFNI. A separate translation unit, since it is compiled for those processors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::bench::prototype {

inline constexpr std::size_t kChunk = 4096;  // counts are multiples of it

// True if this program contains the prototype.
bool present() noexcept;

// Room for a stream, including the writes past its end.
constexpr std::size_t room(std::size_t count) noexcept {
  return count / kChunk * (4 + kChunk / 32 * (1 + 4 * 33)) + 4096;
}

// Compresses, and checks the bound; *broken counts the chunks that break it. Returns the stream's bytes.
std::size_t compress(const float* x, std::size_t count, float eps, std::uint8_t* out, std::size_t* broken) noexcept;
void decompress(const std::uint8_t* in, std::size_t count, float eps, float* y) noexcept;
std::size_t add(const std::uint8_t* a, const std::uint8_t* b, std::size_t count, std::uint8_t* out) noexcept;

}  // namespace stretto::bench::prototype
