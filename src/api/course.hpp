// A contest over the life of a program: what it came to is looked at again from time to time, as the first look may have been disturbed, and
// machines change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "api/contest.hpp"

namespace stretto::api {

// Calls by what is settled are counted, alike on all ranks, as they all make them. A look begins after 16 times as many as the last one took,
// and not before these took 50 times what the last one cost beyond its calls by the winner. Each that finds the same winner makes the wait of 16
// four times as long.
class Course {
 public:
  Course(std::size_t contestants, double expected, std::size_t alike = 1) : contest_(contestants, expected, alike) {}

  const Contest& contest() const noexcept { return contest_; }

  // How many looks there were: who kept what was settled has to ask again once there is one more.
  std::uint32_t looks() const noexcept { return looks_; }

  // A call of the contest took so long; and what comes of it: as of Contest.
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
  Contest contest_;
};

// A blocking call that is one of a trial, for Choices::took. 0: it is none.
using Trial = std::uint64_t;

// How a blocking call that ran without asking Choices again tells of it.
struct Unasked {
  Trial first = 0;           // not 0: its shape may come to a trial, but has not run yet
  Course* course = nullptr;  // not null: of the trial that it ran by; valid as long as the communicator
};

}  // namespace stretto::api
