#pragma once

#include <cstddef>
#include <cstdint>

#include "carrier/carrier.hpp"
#include "engine/run/failure.hpp"
#include "engine/tags.hpp"

namespace stretto::engine {

// Beside a unit in a transfer's id: a notice, or a message between devices or its part.
constexpr std::uint32_t kNoticeBit = 0x80000000u;
constexpr std::uint32_t kCrossingBit = 0x40000000u;

class Channel {
 public:
  Channel(const Plan& plan, const Values& values) noexcept : plan_(plan), values_(values) {}

  // invalid_argument: the carrier has too few tags for the plan.
  Status begin(carrier::Carrier& carrier, std::uint32_t slot, std::uint64_t sequence,
               std::size_t segment_bytes) noexcept;

  std::uint64_t sequence() const noexcept { return sequence_; }
  std::uint64_t id(std::uint32_t u, std::uint32_t bits = 0) const noexcept {
    return std::uint64_t{slot_} << 32 | u | bits;
  }
  std::uint64_t tag(const Unit& unit) const noexcept;

  Status send(std::uint32_t u, const void* data, std::size_t bytes, std::uint32_t bits = 0) noexcept;
  Status receive(std::uint32_t u, void* data, std::size_t bytes) noexcept;
  bool cancel(std::uint32_t u, std::uint32_t bits = 0) noexcept { return carrier_->cancel(id(u, bits)); }

  // incompatible: a message of this run's number proves a different call.
  Status compare_calls(std::int32_t peer, const Failure& failure) noexcept;

 private:
  std::uint64_t signature() const noexcept;

  const Plan& plan_;
  const Values& values_;
  carrier::Carrier* carrier_ = nullptr;
  std::uint32_t slot_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t signature_ = 0;
  Tags tags_;
};

}  // namespace stretto::engine
