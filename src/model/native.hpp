// Times of collectives that are not built from schedules: the MPI's own, and those of a node's shared memory.
#pragma once

#include <optional>

#include "model/choose.hpp"
#include "model/profile/machine.hpp"
#include "topology/topology.hpp"

namespace stretto::model {

// A schedule replaces a native collective only if its predicted time is below this: a fraction of the native time, and
// a minimum gain. Predictions are rough, and the native collective is the baseline. Not positive: never.
double longest_worthwhile(double native) noexcept;

// Seconds of a native collective up to which longest_worthwhile() is not positive.
inline constexpr double longest_unbeaten = 200e-6;

// From the points of the profile that were measured with as many ranks and hosts, interpolated on logarithmic scales;
// beyond the ends, in proportion to bytes above and constant below. Nothing where there are none.
std::optional<double> measured_native(const Profile& profile, Provider provider, schedule::Collective collective,
                                      int ranks, int hosts, double bytes) noexcept;

// Seconds of NCCL's own collective on the devices of so many ranks, with n bytes of the whole vector: the better of a
// ring and, of an allreduce, a double binary tree (docs/model.md). Figures that were not measured are those of the
// profile's links. Infinite: NCCL has none.
double nccl_seconds(const Profile& profile, const topology::Topology& topology, schedule::Collective collective,
                    double bytes);

// The unmeasured time of a collective of a node's memory, in parts of the MPI's time: half of it for a few ranks, about
// the gain on measured machines (docs/measurements.md). For many ranks nothing was measured, and a rank alone shares
// nothing: there it wins no prediction.
constexpr double unmeasured_node(int ranks) noexcept { return ranks == 1 || ranks > 8 ? 1 : 0.5; }

// Where ranks share cores, a call of so few bytes takes what its ranks wait for a core, and the next measurement shows
// another time. A measured time counts only where it is less than the unmeasured one.
constexpr bool scattered(int ranks, int cores, double bytes) noexcept { return ranks > cores && bytes <= 1024; }

// Seconds of a collective with streams inside a node (src/node/collectives/bounded.hpp), where raw values take `raw`
// seconds: these, since rounds and readers are equal, and the codec's work on n bytes of each rank, in turns where
// ranks share cores. In allreduce and reduce (p-1)/p n are compressed, n/p fused, (p-2)/p n added and n decoded.
// Infinite: there is none.
double streamed_node(const Machine& machine, schedule::Collective collective, int ranks, int cores, double bytes,
                     double raw) noexcept;

}  // namespace stretto::model
