// The machine's limits between two ranks of a node: minimal programs for the work of a collective, without its
// guarantees (two ranks, one buffer, one length, no checks). Collectives are compared with them.
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

// How bytes move between the ranks: loaded and stored in place, in shared memory; or copied through shared memory in
// pieces that stay in cache, with sums written over the operand; or copied by the kernel, a sum's operands by each
// receiving rank, or half by half.
enum class CopyPath : std::uint8_t {
  mapped_plain,
  mapped_streaming,
  staged_plain,
  staged_streaming,
  staged_back,
  kernel,
  kernel_halves
};
// True if only those operations use it.
constexpr bool combines(CopyPath w) noexcept { return w == CopyPath::staged_back || w == CopyPath::kernel_halves; }
const char* name(CopyPath path) noexcept;
// For buffers in the arena (mapped), or for private buffers.
std::span<const CopyPath> copy_paths(bool mapped) noexcept;

// Memory shared by both ranks: two flags, and room for the buffers.
class Limits {
 public:
  // Collective over two ranks; `bytes` of the longest vector.
  Limits(node::Exchange& exchange, std::size_t bytes);

  // Places input and output in shared memory, or in memory of a program's allocator: at least 16 bytes past the start
  // of a page, an offset with the same cost for all contestants.
  void use(bool mapped) noexcept;

  // Median microseconds of a flag's round trip, which shows the placement regime.
  double flag_round_trip();

  // Rewrites `n` floats of this rank's input, as a program would between two collectives.
  void rewrite(std::size_t n, float by) noexcept;

  // One collective on a vector of n floats per rank (allgather and alltoall: of all blocks). Sums are of floats; the
  // root is rank 0.
  void run(Operation operation, CopyPath path, std::size_t n) noexcept;

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
  // If this rank gives: n floats of its input from `give` on. If it takes: n floats of the other's from `take` on,
  // stored at `to`.
  struct Move {
    bool gives, takes;
    std::size_t give, take, n;
    float* to;
  };
  void move(const Move& m, CopyPath path) noexcept;
  // Reads n floats from the other process; aborts if the kernel refuses.
  void read(std::uint64_t address, float* to, std::size_t n) const noexcept;

  int rank_;
  std::shared_ptr<node::Mapping> memory_;
  Flag* flags_;
  std::uint64_t turn_ = 0;
  float *in_ = nullptr, *out_ = nullptr;             // current buffers
  float *mapped_in_ = nullptr, *peer_in_ = nullptr;  // mapped
  float *mapped_out_ = nullptr, *peer_out_ = nullptr;
  std::vector<float> private_in_, private_out_;
  float *stage_ = nullptr, *peer_stage_ = nullptr;
  pid_t peer_ = 0;
  std::uint64_t peer_address_ = 0, peer_output_ = 0;  // addresses of its private input and output, in its own process
};

}  // namespace stretto::bench
