#pragma once

#include <cstdint>

#include "payload/payload.hpp"

namespace stretto::model {

enum class Compression : std::uint8_t {
  raw,
  every_hop,  // compressed and decoded per hop
  once,       // compressed once, forwarded unchanged
};

enum class Combining : std::uint8_t {
  raw,      // streams are decoded first
  streams,  // raw operands are compressed first
  quantised,
  fused,
};

struct System {
  Compression compression = Compression::raw;
  Combining combining = Combining::raw;
  bool up_front = false;  // contributions are coded before the first message
  // all ranks decode results from streams, for equal values; else a rank keeps its own
  bool agree = true;
  bool own_beside = false;  // a completed block is decoded while sent
  int sums_after = 0;       // sums of streams before the last decoding
  bool raw_inside = false;
  double raw_below = 0;  // bytes: shorter messages are raw
  bool halves = false;
};

constexpr System system_of(payload::Kind kind, bool raw_inside = false, double raw_below = 0) noexcept {
  System s;
  s.raw_inside = raw_inside;
  s.raw_below = raw_below;
  const payload::Traits& t = payload::traits(kind);
  if (payload::is_compressed(kind)) s.compression = t.forwards ? Compression::once : Compression::every_hop;
  if (t.adds_codes) s.combining = t.fuses ? Combining::fused : Combining::streams;
  s.halves = t.form == payload::Form::halves;
  return s;
}

}  // namespace stretto::model
