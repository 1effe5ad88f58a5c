#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "schedule/collective.hpp"

namespace stretto::node {

using schedule::Collective;

struct CallRecord {
  Collective kind = Collective::barrier;
  std::uint8_t type = 0, op = 0;
  std::int32_t root = 0;
  std::uint64_t bytes = 0;  // of the vector, or of each block
  double eps = 0;           // bound of streams; 0: exact values
  double magnitude = 0;     // see payload::Spec; valid with eps
  std::uint8_t tree = 0;    // Collectives::tree(): number of its algorithm and radix, 1 to 127

  bool bounded() const noexcept { return std::bit_cast<std::uint64_t>(eps) != 0; }
  std::uint64_t packed() const noexcept {
    return static_cast<std::uint64_t>(kind) | std::uint64_t{type} << 8 | std::uint64_t{op} << 16 |
           std::uint64_t{bounded()} << 24 | std::uint64_t{tree} << 25 |
           std::uint64_t{static_cast<std::uint32_t>(root)} << 32;
  }
  // eps and magnitude are used only if `packed` is of a bounded call.
  static CallRecord unpack(std::uint64_t packed, std::uint64_t bytes, double eps, double magnitude) noexcept;

  // Hash of all calls up to this one; `before` is the previous call's. Each step is injective, so signatures that
  // differ stay different. Calls that move nothing are alike.
  std::uint64_t signature(std::uint64_t before) const noexcept {
    const std::uint64_t what = bytes != 0 || kind == Collective::barrier ? packed() : ~std::uint64_t{0};
    std::uint64_t hash = (before ^ what) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 31) ^ bytes) * 0x94d049bb133111ebu;
    return bounded() && bytes != 0 ? with_bound(hash) : hash;
  }

  std::string text() const;
  // "root", "bytes and type".
  std::string difference(const CallRecord& other) const;

 private:
  std::uint64_t with_bound(std::uint64_t hash) const noexcept;
};

}  // namespace stretto::node
