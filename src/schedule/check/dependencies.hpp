#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// The dependency rule of schedule.hpp. Implied edges may be missing.
class Dependencies {
 public:
  // Accepts even a malformed list of steps.
  explicit Dependencies(const Schedule& schedule);

  // Earlier steps that step i waits for, ascending.
  std::span<const std::int32_t> of(std::size_t i) const noexcept {
    return {edges_.data() + first_[i], static_cast<std::size_t>(first_[i + 1] - first_[i])};
  }
  std::size_t size() const noexcept { return first_.size() - 1; }

 private:
  std::vector<std::int32_t> first_;
  std::vector<std::int32_t> edges_;
};

// A combining step also reads its result's blocks. count 0: none.
Range read_by(const Step& step) noexcept;
Range written_by(const Step& step) noexcept;

}  // namespace stretto::schedule
