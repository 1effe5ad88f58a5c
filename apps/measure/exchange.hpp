// Ping-pong between two ranks: half the time of a message's round trip, as IMB (PingPong) and OSU (osu_latency) define
// it.
//
//   reused   one unmodified buffer, what those benchmarks use: from the second iteration on the data lies in the cache
//            that it was written to, and is not written again. `mean` is the number that they print.
//   rotated  buffers that walk through more memory than the cache holds, written by the sender before every message and read
//            by the receiver after it, outside the timed section: what a program that computes sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sampling.hpp"
#include "world.hpp"

namespace stretto::measure {

enum class Buffers : std::uint8_t { reused, rotated };
const char* name(Buffers buffers) noexcept;

class PingPong {
 public:
  // Between this rank and `peer`; one of them is `first` and starts. `largest` message in bytes; rotated buffers walk through
  // at least `cache` bytes, and two messages.
  PingPong(const World& world, int peer, bool first, std::size_t largest, std::size_t cache);

  // Both ranks call it with the same arguments. The timing is the first rank's; the other's is empty.
  Timing measure(std::size_t bytes, Buffers buffers, const Budget& budget);

  // As rotated, but both send at the same time: the time until both have sent and received.
  Timing both_ways(std::size_t bytes, const Budget& budget);

 private:
  double iterate(std::size_t bytes, Buffers buffers);  // there and back; seconds on the first rank
  double reused(std::size_t bytes, int iterations);
  double cross(std::size_t bytes);
  void advance(std::size_t bytes);
  void rewrite(std::size_t bytes);
  void read(std::size_t bytes);
  void meet();  // the second rank is ready
  template <class Once>
  Timing repeat(const Budget& budget, const Once& once);

  const World& world_;
  int peer_;
  bool first_;
  double clock_cost_;
  std::vector<std::uint64_t> out_, in_;
  std::size_t at_ = 0;  // of the buffers in use, in words
  std::uint64_t value_ = 0;
};

}  // namespace stretto::measure
