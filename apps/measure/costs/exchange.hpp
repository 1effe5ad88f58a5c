// Ping-pong between two ranks: half the round-trip time of a message, the definition of IMB (PingPong) and OSU
// (osu_latency).
//
//   reused   one unmodified buffer, as in those benchmarks: from the second iteration on the data lie in the receiver's
//            cache and are not rewritten. `mean` is their figure.
//   rotated  buffers that walk through more memory than the cache holds, written by the sender before every message and
//            read by the receiver after it, outside the timed section: the case of a computing program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "costs/sampling.hpp"
#include "world.hpp"

namespace stretto::measure {

enum class Buffers : std::uint8_t { reused, rotated };
const char* name(Buffers buffers) noexcept;

class PingPong {
 public:
  // Between this rank and `peer`; the `first` of them starts. `largest` message in bytes; rotated buffers walk through
  // at least `cache` bytes, and two messages.
  PingPong(const World& world, int peer, bool first, std::size_t largest, std::size_t cache);

  // Both ranks call it with equal arguments. Only the first rank gets a timing.
  Timing measure(std::size_t bytes, Buffers buffers, const Budget& budget);

  // Rotated buffers with both ranks sending at once: the time until both have sent and received.
  Timing both_ways(std::size_t bytes, const Budget& budget);

  // Time of one of `count` messages in a row, from the first rank alone or each way at once. Half a round trip hides
  // the rate of a network that lets short bursts pass at full speed, as shaped ports and clouds do: a direction is idle
  // half of the time.
  Timing stream(std::size_t bytes, int count, bool each_way, const Budget& budget);

 private:
  double iterate(std::size_t bytes, Buffers buffers);  // there and back; seconds on the first rank
  double reused(std::size_t bytes, int iterations);
  double cross(std::size_t bytes);
  double send_in_a_row(std::size_t bytes, int count, bool each_way);
  void advance(std::size_t bytes);
  void rewrite(std::size_t bytes);
  void read(std::size_t bytes);
  void meet();  // waits until the second rank is ready
  template <class Once>
  Timing repeat(const Budget& budget, const Once& once);

  const World& world_;
  int peer_;
  bool first_;
  double clock_cost_;
  std::vector<std::uint64_t> out_, in_;
  std::size_t at_ = 0;  // position of the current buffers, in words
  std::uint64_t value_ = 0;
};

}  // namespace stretto::measure
