#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stretto::mpi {

// Calls over time, in equal stretches and constant space. A call beyond the last stretch doubles all stretches, and
// adjacent counts merge. So timelines can be added.
class Timeline {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr double kShortest = 1e-3;  // seconds

  // Calls count at their `end`, seconds where they passed; times before 0 as 0.
  void add(double end, double seconds, std::uint64_t calls) noexcept;
  void add(const Timeline& other) noexcept;

  void lengthen(double stretch) noexcept;

  double stretch() const noexcept { return stretch_; }
  const std::array<std::uint64_t, kMost>& calls() const noexcept { return calls_; }
  const std::array<double, kMost>& seconds() const noexcept { return seconds_; }

  // For counts of another process; ignores places beyond the last.
  static Timeline empty(double stretch) noexcept;
  void put(std::size_t place, std::uint64_t calls, double seconds) noexcept;

 private:
  void halve() noexcept;

  double stretch_ = kShortest;
  std::array<std::uint64_t, kMost> calls_{};
  std::array<double, kMost> seconds_{};
};

}  // namespace stretto::mpi
