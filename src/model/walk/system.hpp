#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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
  // all ranks decode results from streams, so that values are equal; else a rank keeps its own
  bool agree = true;
  bool own_beside = false;  // a completed block is decoded while sent (without other overlap)
  int sums_after = 0;       // sums of streams before the last decoding
  bool raw_inside = false;
  double raw_below = 0;  // bytes: shorter messages are raw
};

System system_of(payload::Kind kind, bool raw_inside = false, double raw_below = 0) noexcept;

// A published system, its schedules (empty: none), and whether codec and transfers overlap.
struct PublishedSystem {
  std::string_view name;
  System system;
  bool overlap;
  std::string_view allreduce, reduce_scatter, allgather;
};
std::span<const PublishedSystem> known_systems() noexcept;
const PublishedSystem* find_system(std::string_view name) noexcept;

}  // namespace stretto::model
