// The collectives of bench_choose, as calls of the MPI's own and of stretto's on the same buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "schedule/schedule.hpp"
#include "stretto/stretto_mpi.h"

namespace stretto::bench {

struct Kind {
  schedule::Collective collective;
  const char* name;
  bool bounded;  // also measured with a bound
  bool by_rank;  // with one block per rank
  std::vector<const char*> schedules;
};
const std::vector<Kind>& kinds();

// Calls on MPI_COMM_WORLD. `bytes` is the length of the whole vector, all blocks together.
class Calls {
 public:
  explicit Calls(std::uint64_t most_bytes);

  int rank() const noexcept { return rank_; }
  int ranks() const noexcept { return ranks_; }
  int hosts() const noexcept { return hosts_; }
  float* x() noexcept { return x_.data(); }  // input, rewritten by sample()
  float* y() noexcept { return y_.data(); }

  // The least valid length from `bytes` on: one value, or one per block; 0 for a barrier.
  std::uint64_t fit(const Kind& kind, std::uint64_t bytes) const noexcept;

  void mpi(const Kind& kind, std::uint64_t bytes);
  stretto_status ours(const Kind& kind, std::uint64_t bytes, stretto_comm comm, const stretto_options& options);

  // Milliseconds of one of `calls` consecutive calls on rewritten inputs, as in programs; the slowest rank's.
  double sample(const std::function<void()>& call, int calls, std::uint64_t bytes);

  // Number of calls that take half a millisecond.
  static int calls_for(double ms);

 private:
  int rank_ = 0, ranks_ = 1, hosts_ = 1;
  std::vector<float> x_, y_, master_;
};

}  // namespace stretto::bench
