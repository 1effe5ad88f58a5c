#include "bench/codec/prototype.hpp"

#include <codec_avx512.h>

namespace stretto::bench::prototype {

bool present() noexcept { return true; }

std::size_t compress(const float* x, std::size_t count, float eps, std::uint8_t* out, std::size_t* broken) noexcept {
  return pc::compress<true>(x, count, eps, out, broken);
}

// Uses streaming stores, best for outputs beyond the caches; they need an aligned output.
void decompress(const std::uint8_t* in, std::size_t count, float eps, float* y) noexcept {
  pc::decompress<true>(in, count, eps, y);
}

std::size_t add(const std::uint8_t* a, const std::uint8_t* b, std::size_t count, std::uint8_t* out) noexcept {
  return pc::hadd<true>(a, b, count, out);
}

}  // namespace stretto::bench::prototype
