// Loops over a rank's own values beside a collective, compiled for each instruction set. All give the same bits.
#pragma once

#include <cstddef>

#include "payload/arithmetic/half.hpp"
#include "stretto/stretto.h"

namespace stretto::python {

struct Passes {
  // The sum of squares, in double precision and in an order that depends on n alone.
  double (*squares)(stretto_type, const void* values, std::size_t n);
  // left += values, where a `left` that is not finite counts as 0. Returns the sum of squares of the result.
  double (*add)(stretto_type, const void* values, void* left, std::size_t n);
  // left = kept - decoded; 0 where `kept` is not finite. `left` may be `kept`.
  void (*subtract)(stretto_type, const void* kept, const void* decoded, void* left, std::size_t n);
  // float32 to bfloat16 and back.
  void (*narrow)(const float* values, payload::BF16* out, std::size_t n);
  void (*widen)(const payload::BF16* values, float* out, std::size_t n);
  // out = the mean of `ranks` rows of n values each, summed in float32 in the order of the rows.
  void (*mean)(const payload::BF16* rows, std::size_t ranks, std::size_t n, payload::BF16* out);
  void (*mean_f32)(const payload::BF16* rows, std::size_t ranks, std::size_t n, float* out);
};

// Those of the best instruction set of this processor.
const Passes& passes() noexcept;

// True if the loops serve values of this type: the floating ones.
bool has_passes(stretto_type type) noexcept;

}  // namespace stretto::python
