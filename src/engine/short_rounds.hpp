#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "carrier/carrier.hpp"
#include "engine/engine.hpp"
#include "engine/tags.hpp"

namespace stretto::engine {

class ShortRounds {
 public:
  // In the upper half of its transfers' ids, unlike all runs.
  static constexpr std::uint32_t kSlot = 0xFFFFFFFFu;

  // Borrowed.
  ShortRounds(carrier::Carrier& carrier, const Tags& tags) noexcept : carrier_(carrier), tags_(tags) {}

  // Precondition: !open().
  Status begin(const ShortRun& run, std::span<const ShortMessage> messages) noexcept;

  void complete(std::uint32_t index, const carrier::Completion& done) noexcept;

  bool open() const noexcept { return open_ > 0; }
  bool failed() const noexcept { return status_ != Status::ok; }

  // Status of the first message that failed, with its text set.
  Status status() const noexcept;

  // incompatible: a rank calls differently.
  Status compare(const ShortRun& run) noexcept;

  // timeout, with the missing ranks.
  Status overdue(const ShortRun& run) const noexcept;

  // -1: none.
  int missing() const noexcept;

  void withdraw() noexcept;

 private:
  std::uint64_t tag_of(const ShortRun& run, const ShortMessage& message) const noexcept;

  struct Transfer {
    ShortMessage message;
    bool open = false;
  };

  carrier::Carrier& carrier_;
  const Tags& tags_;
  std::array<Transfer, Engine::kMostShortMessages> transfers_{};
  std::size_t used_ = 0, open_ = 0;
  Status status_ = Status::ok;
  std::array<char, 256> text_{};
};

}  // namespace stretto::engine
