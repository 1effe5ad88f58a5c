// The entropy stage of dense chunks (AVX-512); contracts: dense/coder.hpp. The 32 states of a set are two registers of
// 16-bit words, and a block's table lies in registers.
#pragma once

#include "codec/avx512/planes.hpp"
#include "codec/dense/coder.hpp"

namespace stretto::codec::avx512 {

// The scalar code serves wider blocks and longer tables.
inline constexpr int kMostWidth = 16;   // of a block whose planes are one register
inline constexpr int kMostSymbol = 31;  // of a table that is one register

void scan_dense(const std::uint8_t* planes, const dense::Widths& widths, bool is_unsigned, std::uint8_t* classes,
                dense::Counts* counts, dense::BitWriter* low) noexcept;
std::uint8_t* encode_dense(const dense::Widths* groups, int n, const std::uint8_t* classes, const dense::Tables& tables,
                           int sets, dense::States* states, std::uint8_t* out) noexcept;
std::size_t decode_dense(dense::Decoder* d, int widest, bool is_unsigned, std::uint8_t* planes,
                         std::uint8_t* widths) noexcept;

}  // namespace stretto::codec::avx512
