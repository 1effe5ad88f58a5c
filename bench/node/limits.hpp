// What the machine itself allows between two ranks of a node: the plainest programs that do the same as a collective,
// without its promises (two ranks, one buffer, one length, nothing checked). Collectives are compared with them.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "node/memory/kernels.hpp"
#include "node/memory/segment.hpp"

namespace stretto::bench {

enum class Operation : std::uint8_t { bcast, reduce, allreduce, allgather, alltoall };
const char* name(Operation operation) noexcept;
constexpr bool combines(Operation o) noexcept { return o == Operation::reduce || o == Operation::allreduce; }

// How bytes get from one rank to the other. Loaded and stored in place, in memory that both see. Or copied through
// shared memory in pieces that stay in cache, with sums written over the operand. Or copied by the kernel, a sum's
// operands by each rank that wants it, or half by half.
enum class Way : std::uint8_t {
  mapped_plain,
  mapped_streaming,
  staged_plain,
  staged_streaming,
  staged_back,
  kernel,
  kernel_halves
};
// Is of use to those operations alone.
constexpr bool combines(Way w) noexcept { return w == Way::staged_back || w == Way::kernel_halves; }
const char* name(Way way) noexcept;
// Those that buffers in the arena allow, and those of private buffers.
std::span<const Way> ways(bool mapped) noexcept;

// Memory that both ranks see: two flags, and room for the buffers.
class Limits {
 public:
  // Collective over two ranks; `bytes` of the longest vector.
  Limits(node::Exchange& exchange, std::size_t bytes);

  // Input and output are from now on in memory that both see, or in what a program's allocator gives: at least 16 bytes
  // past a page's beginning, which costs the plainest program what it costs all others.
  void use(bool mapped) noexcept;

  // Microseconds of a round trip of a flag, the median of some: tells the placement regime.
  double flag_round_trip();

  // Makes `n` floats of this rank's input anew, as a program would between two collectives.
  void rewrite(std::size_t n, float by) noexcept;

  // One collective on a vector of n floats a rank (of allgather and alltoall: of all blocks). Sums are those of floats; the root is rank 0.
  void run(Operation operation, Way way, std::size_t n) noexcept;

  float* output() noexcept { return out_; }

 private:
  struct alignas(64) Flag {
    std::atomic<std::uint64_t> value;
  };
  void meet() noexcept;
  void combine_mapped(bool all, node::Stores stores, std::size_t n) noexcept;
  void combine_staged(bool all, node::Stores stores, std::size_t n) noexcept;
  void combine_staged_back(bool all, std::size_t n) noexcept;
  void combine_by_kernel(bool all, std::size_t n) noexcept;
  void combine_halves_by_kernel(bool all, std::size_t n) noexcept;
  // n floats from `give` on of this rank's input, if it gives; and to `to`, if it takes, as many from `take` on of the other's.
  struct Move {
    bool gives, takes;
    std::size_t give, take, n;
    float* to;
  };
  void move(const Move& m, Way way) noexcept;
  // n floats from the other process; ends this one where the kernel copies none.
  void read(std::uint64_t address, float* to, std::size_t n) const noexcept;

  int rank_;
  std::shared_ptr<node::Mapping> memory_;
  Flag* flags_;
  std::uint64_t turn_ = 0;
  float *in_ = nullptr, *out_ = nullptr;             // those in use
  float *mapped_in_ = nullptr, *peer_in_ = nullptr;  // mapped
  float *mapped_out_ = nullptr, *peer_out_ = nullptr;
  std::vector<float> private_in_, private_out_;
  float *stage_ = nullptr, *peer_stage_ = nullptr;
  pid_t peer_ = 0;
  std::uint64_t peer_address_ = 0, peer_output_ = 0;  // of its private input and output, in its own process
};

}  // namespace stretto::bench
