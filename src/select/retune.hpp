// A trial that is repeated over the life of a program: the first look may have been disturbed, and machines change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "select/autotuner.hpp"

namespace stretto::select {

// Counts the calls by the winner; all ranks make them and count alike. Another look begins after 16 times as many calls
// as the last look took. It also waits until the cost of the last look (Autotuner::price()) is at most 2 % of the calls
// since. A look that finds the same winner makes the factor 16 four times as large, up to 4096.
class Retuner {
 public:
  Retuner(std::size_t contestants, double expected, std::size_t alike = 1) : autotuner_(contestants, expected, alike) {}

  const Autotuner& autotuner() const noexcept { return autotuner_; }

  // The number of repeated looks. Whoever cached the winner must ask again when this number has grown.
  std::uint32_t looks() const noexcept { return looks_; }

  // As Autotuner::took() and Autotuner::compare().
  bool took(double seconds) noexcept;
  void compare(const std::vector<double>& slowest) noexcept;

  // A call ran by the winner. The next call may belong to a new look.
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
