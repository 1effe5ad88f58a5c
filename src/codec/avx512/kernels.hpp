// Contracts: codec/kernels.hpp.
#pragma once

#include "codec/kernels.hpp"

namespace stretto::codec::avx512 {

// For sums with different missing places and mostly missing float64 groups. Kernels are absent in builds without the
// portable ones.
template <class T>
const ValueKernels<T>& portable() noexcept {
  const Kernels* const found = find_kernels(Isa::portable);
  return value_kernels<T>(found ? *found : *find_kernels(Isa::reference));
}

std::size_t compress_f32(const float* x, const Grid<float>& grid, std::uint8_t* out, Tally* tally) noexcept;
std::size_t compress_f64(const double* x, const Grid<double>& grid, std::uint8_t* out, Tally* tally) noexcept;
std::size_t compress_i32(const std::int32_t* x, const Grid<std::int32_t>& grid, std::uint8_t* out,
                         Tally* tally) noexcept;
std::size_t compress_i64(const std::int64_t* x, const Grid<std::int64_t>& grid, std::uint8_t* out,
                         Tally* tally) noexcept;
std::size_t compress_part_f32(const float* x, int m, const Grid<float>& grid, std::uint8_t* out, Tally* tally) noexcept;
std::size_t compress_part_f64(const double* x, int m, const Grid<double>& grid, std::uint8_t* out,
                              Tally* tally) noexcept;
std::size_t compress_part_i32(const std::int32_t* x, int m, const Grid<std::int32_t>& grid, std::uint8_t* out,
                              Tally* tally) noexcept;
std::size_t compress_part_i64(const std::int64_t* x, int m, const Grid<std::int64_t>& grid, std::uint8_t* out,
                              Tally* tally) noexcept;
std::size_t add_values_f32(const std::uint8_t* a, std::size_t words, const float* x, const Grid<float>& grid,
                           std::uint8_t* out, std::size_t room, Tally* tally) noexcept;
std::size_t add_values_f64(const std::uint8_t* a, std::size_t words, const double* x, const Grid<double>& grid,
                           std::uint8_t* out, std::size_t room, Tally* tally) noexcept;
std::size_t add_values_i32(const std::uint8_t* a, std::size_t words, const std::int32_t* x,
                           const Grid<std::int32_t>& grid, std::uint8_t* out, std::size_t room, Tally* tally) noexcept;
std::size_t add_values_i64(const std::uint8_t* a, std::size_t words, const std::int64_t* x,
                           const Grid<std::int64_t>& grid, std::uint8_t* out, std::size_t room, Tally* tally) noexcept;

// `values`: m, repeated to a full group; aligned.
std::size_t compress_wide_part(const float* values, int m, const Grid<float>& grid, std::uint8_t* out,
                               Tally* tally) noexcept;
std::size_t compress_wide_part(const double* values, int m, const Grid<double>& grid, std::uint8_t* out,
                               Tally* tally) noexcept;
std::size_t compress_wide_part(const std::int32_t* values, int m, const Grid<std::int32_t>& grid, std::uint8_t* out,
                               Tally* tally) noexcept;
std::size_t compress_wide_part(const std::int64_t* values, int m, const Grid<std::int64_t>& grid, std::uint8_t* out,
                               Tally* tally) noexcept;
std::size_t compress_wide(const float* x, const Grid<float>& grid, std::uint8_t* out, Tally* tally) noexcept;
std::size_t compress_wide(const double* x, const Grid<double>& grid, std::uint8_t* out, Tally* tally) noexcept;
std::size_t compress_wide(const std::int32_t* x, const Grid<std::int32_t>& grid, std::uint8_t* out,
                          Tally* tally) noexcept;
std::size_t compress_wide(const std::int64_t* x, const Grid<std::int64_t>& grid, std::uint8_t* out,
                          Tally* tally) noexcept;

bool decompress_f32(const std::uint8_t* p, std::size_t words, const Grid<float>& grid, std::uint64_t code_bound,
                    std::uint32_t divisor, bool stream, float* y) noexcept;
bool decompress_f64(const std::uint8_t* p, std::size_t words, const Grid<double>& grid, std::uint64_t code_bound,
                    std::uint32_t divisor, bool stream, double* y) noexcept;
bool decompress_i32(const std::uint8_t* p, std::size_t words, const Grid<std::int32_t>& grid, std::uint64_t code_bound,
                    std::uint32_t divisor, bool stream, std::int32_t* y) noexcept;
bool decompress_i64(const std::uint8_t* p, std::size_t words, const Grid<std::int64_t>& grid, std::uint64_t code_bound,
                    std::uint32_t divisor, bool stream, std::int64_t* y) noexcept;

std::size_t add(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words, bool negate_b,
                std::uint8_t* out) noexcept;
std::size_t add_wide(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                     bool negate_b, std::uint8_t* out) noexcept;

std::size_t add_filled_f32(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                           bool negate_b, double width, std::uint8_t* out, std::size_t room, Tally* tally) noexcept;
std::size_t add_filled_f64(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                           bool negate_b, double width, std::uint8_t* out, std::size_t room, Tally* tally) noexcept;

void range_f32(const float* x, std::size_t n, float* lo, float* hi) noexcept;
void range_f64(const double* x, std::size_t n, double* lo, double* hi) noexcept;

}  // namespace stretto::codec::avx512
