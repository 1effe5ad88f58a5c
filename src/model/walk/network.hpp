// Shared resources of messages: the sending and receiving side of a rank, the cards of a host, the uplinks of a fabric,
// the links of a torus.
#pragma once

#include <vector>

#include "model/profile/machine.hpp"
#include "model/walk/programs.hpp"
#include "model/walk/torus.hpp"

namespace stretto::model {

// Times of the first and the last segment.
struct Flow {
  double head = 0;
  double tail = 0;
};

class Network {
 public:
  // `latency_occupies`: a side is busy for latency and bytes, not for bytes alone.
  Network(const Programs& programs, const Machine& machine, bool latency_occupies);

  // Passes a message of `bytes` in `pieces`, ready at the sender at `ready`, with a receive posted at `posted`. Returns
  // its arrival. *busy: seconds of a core, at either end.
  Flow pass(const Act& send, std::int32_t from, std::int32_t to, double bytes, double pieces, Flow ready, double posted,
            double* busy);

 private:
  struct Shared {  // a resource with a queue that is busy until `free`
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
  std::vector<Shared> out_, in_;             // by rank
  std::vector<Shared> host_out_, host_in_;   // by host
  std::vector<Shared> leaf_up_, leaf_down_;  // by leaf
  Routes routes_;
  std::vector<Shared> links_;  // of the torus
};

}  // namespace stretto::model
