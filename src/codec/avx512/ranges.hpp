// Contracts: codec/kernels.hpp.
#pragma once

#include "codec/kernels.hpp"

namespace stretto::codec::avx512 {

void ranges_f32(const float* x, std::size_t n, const MarkSet<float>& marks, PartRanges<float>* found) noexcept;
void ranges_f64(const double* x, std::size_t n, const MarkSet<double>& marks, PartRanges<double>* found) noexcept;

}  // namespace stretto::codec::avx512
