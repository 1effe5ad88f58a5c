// How the calls of a kind are spread over the time of a program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stretto::mpi {

// Counts in equal stretches of time from 0 on, as many as hold a program of any length in the same space: stretches double where a call lies beyond the
// last, and two counts become one. Their length is a power of two times the first, so timelines of several ranks add up.
class Timeline {
 public:
  static constexpr std::size_t most = 64;
  static constexpr double shortest = 1e-3;  // seconds

  // Of calls that ended at `end` and took `seconds` until then: calls count where they ended, seconds where they passed. Times before 0 are 0.
  void add(double end, double seconds, std::uint64_t calls) noexcept;
  void add(const Timeline& other) noexcept;

  // Makes stretches at least so long.
  void lengthen(double stretch) noexcept;

  double stretch() const noexcept { return stretch_; }
  const std::array<std::uint64_t, most>& calls() const noexcept { return calls_; }
  const std::array<double, most>& seconds() const noexcept { return seconds_; }

  // Of counts that come from another process: a place beyond the last is left out.
  static Timeline empty(double stretch) noexcept;
  void put(std::size_t place, std::uint64_t calls, double seconds) noexcept;

 private:
  void halve() noexcept;

  double stretch_ = shortest;
  std::array<std::uint64_t, most> calls_{};
  std::array<double, most> seconds_{};
};

}  // namespace stretto::mpi
