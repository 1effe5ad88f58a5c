// What the machine itself allows between two ranks of a node: the plainest programs that do the same as a collective, without any of its
// promises (two ranks, one buffer, one length, nothing checked). A collective is measured against them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "node/segment.hpp"

namespace stretto::bench {

// Memory that both ranks see: two flags, and room for the buffers.
class Limits {
 public:
  // Collective over two ranks; `bytes` of the longest vector.
  Limits(node::Exchange& exchange, std::size_t bytes);

  // Microseconds of a round trip of a flag, the median of some: tells the placement regime.
  double flag_round_trip();

  // Makes `n` floats of this rank's input anew, as a program would between two collectives.
  void rewrite(std::size_t n, float by) noexcept;

  // One allreduce of n floats, buffers of both ranks mapped: each adds half and stores it in both outputs.
  void allreduce_mapped(std::size_t n, bool streaming) noexcept;
  // The same of private buffers, copied in, added and copied out through shared memory in pieces that stay in cache.
  void allreduce_staged(std::size_t n, bool streaming) noexcept;
  // One broadcast of n bytes from rank 0: the other loads from where it lies.
  void bcast_mapped(std::size_t bytes) noexcept;

  float* output() noexcept { return out_; }

 private:
  struct alignas(64) Flag {
    std::atomic<std::uint64_t> value;
  };
  void meet() noexcept;

  int rank_;
  std::shared_ptr<node::Mapping> memory_;
  Flag* flags_;
  std::uint64_t turn_ = 0;
  float *in_ = nullptr, *peer_in_ = nullptr;  // mapped
  float *out_ = nullptr, *peer_out_ = nullptr;
  float *stage_ = nullptr, *peer_stage_ = nullptr;
};

}  // namespace stretto::bench
