// Groups with codes beyond 16 bits, or with values that are no codes (AVX-512): every code is checked as the format says.
#include <cstring>

#include "codec/avx512/choose.hpp"
#include "codec/avx512/group.hpp"
#include "codec/avx512/kernels.hpp"

namespace stretto::codec::avx512 {
std::size_t compress_wide(const float*, const Grid<float>&, std::uint8_t*, Tally*) noexcept { return kDeclined; }
std::size_t compress_wide(const double*, const Grid<double>&, std::uint8_t*, Tally*) noexcept { return kDeclined; }
}  // namespace stretto::codec::avx512
