// The time of a communicator's calls before it has a stretto_comm, and what of it making one may take.
#pragma once

#include <chrono>
#include <cstdint>

namespace stretto::mpi {

class EarlyTime {
 public:
  using Duration = std::chrono::steady_clock::duration;

  void add(std::int64_t bytes, Duration took) noexcept { (bytes > longest_short ? long_ : short_) += took; }

  // Between hosts short calls gain little over the MPI's own, and many gain nothing: making takes a fiftieth of the time
  // that they have taken, so that a program is no slower by more. Long exact calls gain more than a fifth.
  Duration affordable() const noexcept { return short_ / 50 + long_ / 5; }

  static constexpr std::int64_t longest_short = 4096;  // bytes

 private:
  Duration short_{}, long_{};
};

}  // namespace stretto::mpi
