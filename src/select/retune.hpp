// A contest over the life of a program: what it came to is looked at again from time to time, as the first look may have been disturbed, and
// machines change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "select/autotuner.hpp"

namespace stretto::select {

// Calls by what is settled are counted, alike on all ranks, as they all make them. A look begins after 16 times as many as the last one took,
// and not before these took 50 times what the last one cost beyond its calls by the winner. Each that finds the same winner makes the wait of 16
// four times as long.
class Retuner {
 public:
  Retuner(std::size_t contestants, double expected, std::size_t alike = 1) : autotuner_(contestants, expected, alike) {}

  const Autotuner& autotuner() const noexcept { return autotuner_; }

  // How many looks there were: who kept what was settled has to ask again once there is one more.
  std::uint32_t looks() const noexcept { return looks_; }

  // A call of the contest took so long; and what comes of it: as of Autotuner.
  bool took(double seconds) noexcept;
  void compare(const std::vector<double>& slowest) noexcept;

  // A call ran by what is settled. The next one may be of a contest again.
  void ran() noexcept {
    if (left_ != 0 && --left_ == 0) look_again();
  }

  static constexpr std::uint32_t first_wait = 16, longest_wait = 4096;

 private:
  void look_again() noexcept;

  std::uint64_t calls_ = 0, left_ = 0;  // of this look; until the next one
  std::uint32_t wait_ = first_wait, looks_ = 0;
  std::size_t winner_ = 0;  // of the last look
  Autotuner autotuner_;
};

}  // namespace stretto::select
