#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "call/call.hpp"

namespace stretto::api {

// `values`: only for reductions within a bound; null: memory that the host cannot read.
struct Result {
  const call::Shape& shape;
  int rank = 0;
  std::uint64_t contributions = 1;
  bool bounded = false, streams = false;
  const void* values = nullptr;
};

// `additions`: the rounding of additions in the values' own type, beyond the promised error. The result's own is half a
// unit in the last place of its largest finite value. Infinite if the values were not examined.
double rounding_of(const Result& result, double additions) noexcept;

// Raw values of unknown magnitude: 0 if the result's rounding is that of the only addition; else infinite.
double unseen_additions(const call::Shape& shape, std::uint64_t contributions) noexcept;

}  // namespace stretto::api
