// When a system compresses, decodes and combines, as data: each system of the literature is a row, not a code path.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "payload/payload.hpp"

namespace stretto::model {

enum class Travel : std::uint8_t {
  raw,
  every_hop,  // compressed by each sender, decoded by each receiver
  once,       // compressed once and forwarded as it is
};

enum class Meet : std::uint8_t {
  raw,        // what arrives, and a stream that is met, are decoded first
  streams,    // stream + stream; a raw operand is compressed first
  quantised,  // local codes + stream; a raw operand is quantised first, by a kernel of its own
  fused,      // raw + stream in one pass
};

struct System {
  Travel travel = Travel::raw;
  Meet meet = Meet::raw;
  bool up_front = false;  // all of the contribution is compressed (or quantised) before the first message
  bool agree = true;      // every rank takes its results from streams, so that all hold the same; else own values stay
  bool own_beside =
      false;           // the block that a rank completes is decoded while it travels on (where nothing else overlaps)
  int sums_after = 0;  // sums of streams before the last decoding, beyond those of the rounds
  bool raw_inside = false;  // raw on links inside a node
  double raw_below = 0;     // bytes: and raw in messages of fewer
};

// The payloads of src/payload.
System system_of(payload::Kind kind, bool raw_inside = false, double raw_below = 0) noexcept;

// A system by name, with the schedules that it is known with (empty: it has none for that collective), and whether it
// overlaps codec and transfers.
struct Known {
  std::string_view name;
  System system;
  bool overlap;
  std::string_view allreduce, reduce_scatter, allgather;
};
std::span<const Known> known_systems() noexcept;
const Known* find_system(std::string_view name) noexcept;  // null when there is none

}  // namespace stretto::model
