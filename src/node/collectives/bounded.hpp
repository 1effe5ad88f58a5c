// Collectives whose values travel within a bound: as streams through the slots of a group, summed in code space.
//
// Contracts as in collectives.hpp, and: every rank gives the same spec. Results are, bit for bit, what the codec alone gives for all
// contributions: they depend neither on the number of chunks, nor on who adds what, nor on the order. So all ranks that hold a block of an
// allreduce or allgather hold the same bytes; the root of a broadcast keeps its exact data. The error is payload::error_factor() * spec.eps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "node/group/group.hpp"
#include "payload/payload.hpp"
#include "payload/pool.hpp"
#include "payload/seconds.hpp"

namespace stretto::node {

struct BoundedCall {
  Kind kind = Kind::allreduce;  // or reduce, reduce_scatter, bcast, allgather
  const void* in = nullptr;     // null: in place
  void* out = nullptr;          // of bcast: the data, on every rank
  std::size_t count = 0;        // elements of the vector; of reduce_scatter and allgather: of a block
  int root = 0;
  payload::Spec spec;  // homomorphic or fused, of a floating type, one operation for all (nothing travels raw)
};

// What one rank put into its slots, once each however many read it, and what that took.
struct Streamed {
  std::uint64_t raw_bytes = 0, stream_bytes = 0;
  payload::Seconds seconds;
};

// Whether run() can: else `unsupported`, `invalid_argument` or `invalid_bound`, and why.
Status check_bounded(Kind kind, const payload::Spec& spec) noexcept;

// One rank's; the group outlives it.
class Bounded {
 public:
  explicit Bounded(Group& group) noexcept : group_(group) {}

  Status run(const BoundedCall& call, Streamed* streamed) noexcept;

 private:
  Group& group_;
  payload::Pool pool_;
};

}  // namespace stretto::node
