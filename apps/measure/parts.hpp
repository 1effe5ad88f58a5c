// What is measured, a file a part. Each function is collective over the ranks of the job and reports rows (docs/command.md).
#pragma once

#include <cstddef>
#include <vector>

#include "placement.hpp"
#include "ranks.hpp"
#include "report.hpp"
#include "sampling.hpp"

namespace stretto::measure {

struct Job {
  const Ranks& ranks;
  const Machine& machine;
  Report& report;
  bool quick = false;
  std::size_t largest = std::size_t{64} << 20;  // bytes of a message of pingpong

  double seconds(double unhurried) const { return quick ? unhurried / 8 : unhurried; }
};

// Ping-pong at every placement that the job has, sizes from 0 bytes to `largest`, with both kinds of buffers.
void pingpong(const Job& job);

// Latency and time a byte for each kind of link; whether both directions run at once; how many ranks of a host send at full rate.
void links(const Job& job);

// compress, decompress, add, fused: by type, size and ratio, on one core alone and on all cores at once.
void codec(const Job& job);

// raw + raw and memcpy, on one core alone and on all cores at once.
void local(const Job& job);

// What a step of the engine costs beside its bytes, and a round of the agreement before a collective.
void engine(const Job& job);

// The MPI's own collectives on all ranks of the job; nothing over UCX, which has none.
void native(const Job& job);

// The collectives of src/node on all ranks of the job, where these share a host; nothing elsewhere.
void node(const Job& job);

// Around the lengths at which the collectives of src/node change protocols: each protocol at each length; where the ranks share a host.
void switches(const Job& job);

// Launch of a kernel and staging of values, where there is a GPU.
void device(const Job& job);

}  // namespace stretto::measure
