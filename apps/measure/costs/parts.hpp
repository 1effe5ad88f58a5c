// The parts of a measurement, one per source file. Each function is collective over the ranks of the job and reports
// rows (docs/command.md).
#pragma once

#include <cstddef>
#include <vector>

#include "costs/sampling.hpp"
#include "placement.hpp"
#include "ranks.hpp"
#include "report.hpp"

namespace stretto::measure {

struct Job {
  const Ranks& ranks;
  const Machine& machine;
  Report& report;
  bool quick = false;
  std::size_t largest = std::size_t{64} << 20;  // bytes of the largest pingpong message

  double seconds(double unhurried) const { return quick ? unhurried / 8 : unhurried; }
};

// Ping-pong at every possible placement, from 0 bytes to `largest`, with both kinds of buffers.
void pingpong(const Job& job);

// Latency and time per byte for each kind of link; concurrency of both directions; number of ranks of a host that send
// at full rate.
void links(const Job& job);

// compress, decompress, add, fused of fixed and of dense streams: by type, size and ratio, on one core alone and on all
// cores at once.
void codec(const Job& job);

// raw + raw and memcpy, on one core alone and on all cores at once.
void local(const Job& job);

// Cost of an engine step beside its bytes, and of a round of the agreement before a collective.
void engine(const Job& job);

// The MPI's own collectives on all ranks of the job; nothing over UCX, which has none.
void native(const Job& job);

// The collectives of src/node on all ranks of the job, if they share a host.
void node(const Job& job);

// Each protocol of src/node's collectives at lengths around their switches, if the ranks share a host.
void switches(const Job& job);

// Launch of a kernel and staging of values, if there is a GPU.
void device(const Job& job);

}  // namespace stretto::measure
