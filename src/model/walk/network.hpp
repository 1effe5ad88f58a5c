#pragma once

#include <vector>

#include "model/profile/machine.hpp"
#include "model/walk/programs.hpp"
#include "model/walk/torus.hpp"

namespace stretto::model {

struct Flow {
  double head = 0;
  double tail = 0;
};

class Network {
 public:
  // `latency_occupies`: sides are busy for latency, too.
  Network(const Programs& programs, const Machine& machine, bool latency_occupies);

  // Arrival of a message ready at `ready`, with a receive posted at `posted`. *busy: seconds of a core at each end.
  // `pause`: the link's wait in each piece.
  Flow pass(const Act& send, std::int32_t from, std::int32_t to, double bytes, double pieces, Flow ready, double posted,
            double* busy, double pause = 0);

 private:
  struct Shared {
    double free = 0;
    double take(double start, double seconds) noexcept {
      free = (free > start ? free : start) + seconds;
      return free;
    }
  };
  Shared& receiving(std::int32_t rank) noexcept;
  double latency(const Act& send, std::int32_t from, std::int32_t to, double alpha) const;

  const Programs& programs_;
  const Machine& machine_;
  bool latency_occupies_;
  std::vector<Shared> out_, in_;
  std::vector<Shared> host_out_, host_in_;
  std::vector<Shared> leaf_up_, leaf_down_;
  Routes routes_;
  std::vector<Shared> links_;
};

}  // namespace stretto::model
