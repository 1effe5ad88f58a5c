// Collectives within an error bound: values travel as streams through the slots of a group, and are summed in code
// space. The contracts of collectives.hpp hold, and all ranks give equal specs. Results equal, bit for bit, the codec's
// sum of all contributions, whatever the chunks and the order; a broadcast's root keeps its exact data. Error:
// payload::error_factor() * spec.eps.
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
  Collective kind = Collective::allreduce;  // or reduce, reduce_scatter, bcast, allgather
  const void* in = nullptr;                 // null: in place
  void* out = nullptr;                      // bcast: the data, on every rank
  std::size_t count = 0;                    // elements of the vector; reduce_scatter and allgather: of one block
  int root = 0;
  payload::Spec spec;  // homomorphic or fused, a floating type
};

struct StreamCounts {
  std::uint64_t raw_bytes = 0, stream_bytes = 0;
  payload::Seconds seconds;
};

// run() supports the arguments; else `unsupported`, `invalid_argument` or `invalid_bound`.
Status check_bounded(Collective kind, const payload::Spec& spec) noexcept;

class Bounded {
 public:
  explicit Bounded(Group& group) noexcept : group_(group) {}

  Status run(const BoundedCall& call, StreamCounts* streamed) noexcept;

 private:
  Group& group_;
  payload::Pool pool_;
};

}  // namespace stretto::node
