#pragma once

#include <cstddef>

#include "payload/stopwatch.hpp"
#include "payload/worker.hpp"

namespace stretto::payload {

inline void set_raw(Value& value, const std::byte* raw, bool fixed) noexcept {
  value.raw = raw;
  value.raw_store = Buffer{};
  value.raw_fixed = fixed;
  value.codes = Buffer{};
  value.settled = false;
  value.absent = false;
}

}  // namespace stretto::payload
