#pragma once

#include <cstdint>

namespace stretto::payload {

// f16 and bf16 compute in float32 and round to nearest even. c64 and c128 are complex of two f32, two f64. The *_i32
// pairs are C structs { value; int32 index } laid out as MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_2INT, MPI_LONG_INT.
enum class Type : std::uint8_t {
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  c64,
  c128,
  f32_i32,
  f64_i32,
  i32_i32,
  i64_i32
};

// Beyond MPI's operations:
//   difference  contribution of rank 0 minus all others (each other rank negates its own first; then a sum)
//   mean        sum divided by the number of ranks at the end (floating point only)
//   user        the caller's function (UserFunction)
enum class Op : std::uint8_t {
  sum,
  prod,
  min,
  max,
  land,
  lor,
  lxor,
  band,
  bor,
  bxor,
  minloc,
  maxloc,
  difference,
  mean,
  user
};

}  // namespace stretto::payload
