// The speed reference that the codec is measured against where it is there: a quick, unsafe experiment with the same class of stream, for
// processors with AVX-512, VBMI, VNNI and GFNI. Its own translation unit, since it is compiled for those processors alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::bench::prototype {

inline constexpr std::size_t kChunk = 4096;  // counts are multiples of it

// Whether this program has it.
bool present() noexcept;

// Room for a stream, with what it writes past the end.
constexpr std::size_t room(std::size_t count) noexcept {
  return count / kChunk * (4 + kChunk / 32 * (1 + 4 * 33)) + 4096;
}

// Compresses with its check of the bound; *broken counts the chunks where the bound does not hold. Returns the stream's bytes.
std::size_t compress(const float* x, std::size_t count, float eps, std::uint8_t* out, std::size_t* broken) noexcept;
void decompress(const std::uint8_t* in, std::size_t count, float eps, float* y) noexcept;
std::size_t add(const std::uint8_t* a, const std::uint8_t* b, std::size_t count, std::uint8_t* out) noexcept;

}  // namespace stretto::bench::prototype
