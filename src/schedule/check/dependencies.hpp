// The rule of schedule.hpp, computed: which steps must be complete before a step may start.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// The dependencies of each step of a rank. Edges that follow from others may be left out: the transitive closure is the rule.
class Dependencies {
 public:
  // Any list of steps, also one that breaks other rules.
  explicit Dependencies(const Schedule& schedule);

  // Earlier steps (indices, ascending, each once) that step i waits for.
  std::span<const std::int32_t> of(std::size_t i) const noexcept {
    return {edges_.data() + first_[i], static_cast<std::size_t>(first_[i + 1] - first_[i])};
  }
  std::size_t size() const noexcept { return first_.size() - 1; }

 private:
  std::vector<std::int32_t> first_;  // edges_ of step i are [first_[i], first_[i + 1])
  std::vector<std::int32_t> edges_;
};

// The blocks that a step only reads, and those that it writes (a combining step also reads these); count 0 for none.
Range read_by(const Step& step) noexcept;
Range written_by(const Step& step) noexcept;

}  // namespace stretto::schedule
