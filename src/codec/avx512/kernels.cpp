#include "codec/avx512/kernels.hpp"

#include "codec/avx512/dense.hpp"
#include "codec/avx512/ranges.hpp"
#include "codec/avx512/target.hpp"

namespace stretto::codec {

const Kernels* avx512_kernels() noexcept;

const Kernels* avx512_kernels() noexcept {
  using namespace avx512;
  static const Kernels kKernels{
      {&compress_f32, &add_values_f32, &decompress_f32, &range_f32, &add_filled_f32, portable<float>().survey,
       &ranges_f32, &compress_part_f32},
      {&compress_f64, &add_values_f64, &decompress_f64, &range_f64, &add_filled_f64, portable<double>().survey,
       &ranges_f64, &compress_part_f64},
      &add,
      {&scan_dense, &encode_dense, &decode_dense},
      {&compress_i32, &add_values_i32, &decompress_i32, nullptr, nullptr, nullptr, nullptr, &compress_part_i32},
      {&compress_i64, &add_values_i64, &decompress_i64, nullptr, nullptr, nullptr, nullptr, &compress_part_i64},
      &add_wide,
  };
  static const bool here = present();
  return here ? &kKernels : nullptr;
}

}  // namespace stretto::codec
