// Times a communicator's calls before it has a stretto_comm, whose making may take a part of that time.
#pragma once

#include <chrono>
#include <cstdint>

namespace stretto::mpi {

class EarlyTime {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // True: time the next call. A clock costs a short call a quarter of its time, so the last of each `kEvery` stands for
  // all. The very first call makes connections and waits for late ranks.
  bool samples(std::int64_t bytes) noexcept { return bytes > kLongestShort || calls_++ % kEvery == kEvery - 1; }

  // Precondition: samples() returned true. `shrinks`: the messages become streams.
  void add(std::int64_t bytes, Duration took, bool shrinks = false) noexcept {
    if (bytes <= kLongestShort) took *= kEvery;
    (shrinks ? streamed_ : bytes > kLongestShort ? long_ : short_) += took;
  }

  // Short calls gain little between hosts, long exact ones more than a fifth, and streams more than a third.
  Duration affordable() const noexcept { return short_ / 50 + long_ / 5 + streamed_ / 3; }

  static constexpr std::int64_t kLongestShort = 4096;  // bytes
  static constexpr unsigned kEvery = 7;                // odd: programs repeat calls in even periods

 private:
  Duration short_{}, long_{}, streamed_{};
  unsigned calls_ = 0;
};

}  // namespace stretto::mpi
