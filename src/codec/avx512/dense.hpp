// The entropy stage (dense/coder.hpp). A set's 32 states are two registers of 16-bit words; a block's table lies in
// registers.
#pragma once

#include "codec/avx512/planes.hpp"
#include "codec/dense/coder.hpp"

namespace stretto::codec::avx512 {

// A block's planes are one register up to kMostWidth, else taken one by one. Beyond kMostSymbol decoders look up in two
// registers; encoders use scalar code.
inline constexpr int kMostWidth = 16;
inline constexpr int kMostSymbol = 31;

STRETTO_AVX512_BEGIN

// Words of a vector for loads of 8 bytes: one of the upper half waits for a store of 64 bytes, but not for two of 32.
template <int kWords>
struct Words {
  alignas(64) std::uint8_t bytes[64];

  __attribute__((always_inline)) explicit Words(__m512i v) noexcept {
    _mm256_store_si256(reinterpret_cast<__m256i*>(bytes), _mm512_castsi512_si256(v));
    if constexpr (kWords > 8)
      _mm256_store_si256(reinterpret_cast<__m256i*>(bytes + 32), _mm512_extracti64x4_epi64(v, 1));
    asm("" : "+m"(bytes));  // else the compiler takes words out of registers, which is slower
  }
  __attribute__((always_inline)) std::uint64_t pair(int i) const noexcept { return load<std::uint64_t>(bytes + 8 * i); }
  __attribute__((always_inline)) std::uint32_t word(int i) const noexcept { return load<std::uint32_t>(bytes + 4 * i); }
};

STRETTO_AVX512_END

void scan_dense(const std::uint8_t* planes, const dense::Widths& widths, bool is_unsigned, std::uint8_t* classes,
                dense::Counts* counts, dense::BitWriter* low) noexcept;
std::uint8_t* encode_dense(const dense::Widths* groups, int n, const std::uint8_t* classes, const dense::Tables& tables,
                           int sets, dense::States* states, std::uint8_t* out) noexcept;
std::size_t decode_dense(dense::Decoder* d, int widest, bool is_unsigned, std::uint8_t* planes,
                         std::uint8_t* widths) noexcept;

}  // namespace stretto::codec::avx512
