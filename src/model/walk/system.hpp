// Rules of a system for compressing, decoding and combining, as data: each system of the literature is a row, not a
// code path.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "payload/payload.hpp"

namespace stretto::model {

enum class Travel : std::uint8_t {
  raw,
  every_hop,  // compressed by each sender, decoded by each receiver
  once,       // compressed once and forwarded unchanged
};

enum class Meet : std::uint8_t {
  raw,        // incoming and local streams are decoded first
  streams,    // stream + stream; a raw operand is compressed first
  quantised,  // local codes + stream; a raw operand is quantised first, by a kernel of its own
  fused,      // raw + stream in one pass
};

struct System {
  Travel travel = Travel::raw;
  Meet meet = Meet::raw;
  bool up_front = false;  // the whole contribution is compressed (or quantised) before the first message
  // every rank decodes its results from streams, so that all ranks hold equal values; else a rank keeps its own
  bool agree = true;
  bool own_beside = false;  // the block that a rank completes is decoded while it is sent on (without other overlap)
  int sums_after = 0;       // sums of streams before the last decoding, in addition to the rounds'
  bool raw_inside = false;  // raw on links inside a node
  double raw_below = 0;     // bytes: shorter messages are raw, too
};

// The payloads of src/payload.
System system_of(payload::Kind kind, bool raw_inside = false, double raw_below = 0) noexcept;

// A system by name, with its published schedules (empty: none for that collective), and whether it overlaps codec and
// transfers.
struct Known {
  std::string_view name;
  System system;
  bool overlap;
  std::string_view allreduce, reduce_scatter, allgather;
};
std::span<const Known> known_systems() noexcept;
const Known* find_system(std::string_view name) noexcept;  // null when there is none

}  // namespace stretto::model
