#include "codec/avx512/kernels.hpp"

namespace stretto::codec {

const Kernels* avx512_kernels() noexcept;

const Kernels* avx512_kernels() noexcept {
  using namespace avx512;
  static const Kernels table{
      {&compress_f32, &add_values_f32, &decompress_f32, &range_f32, &add_filled_f32},
      {&compress_f64, &add_values_f64, &decompress_f64, &range_f64, &add_filled_f64},
      &add,
  };
  static const bool present = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vbmi") &&
                              __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vnni") &&
                              __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("gfni") &&
                              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  return present ? &table : nullptr;
}

}  // namespace stretto::codec
