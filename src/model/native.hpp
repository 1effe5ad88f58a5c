// What a collective takes that we did not build from a schedule: the MPI's own, or that of a node's shared memory.
#pragma once

#include <optional>

#include "model/choose.hpp"
#include "model/machine.hpp"

namespace stretto::model {

// From the points of the profile that were measured with as many ranks and hosts, interpolated on logarithmic scales; beyond the
// ends, in proportion to bytes above and constant below. Nothing where there are none.
std::optional<double> measured_native(const Profile& profile, Provider provider, schedule::Collective collective,
                                      int ranks, int hosts, double bytes) noexcept;

// What part of the MPI's time the collectives of a node's memory are taken to need where nobody measured them. Half of it for a few ranks, about
// what they gain on machines that were (docs/measurements.md). Of many ranks nothing is known, and short messages between ranks
// that share cores gain nothing: there they win no prediction.
constexpr double unmeasured_node(int ranks, int cores, double bytes) noexcept {
  return ranks > 8 || (ranks > cores && bytes < 1024) ? 1 : 0.5;
}

// Seconds of a collective with streams inside a node (src/node/bounded.hpp), where one of raw values takes `raw` seconds: that, since
// rounds and readers are the same, and the codec's work on n bytes of each rank, for which ranks take turns where cores are fewer. Of
// allreduce and reduce (p-1)/p n are compressed, n/p fused, (p-2)/p n added and n decoded. Infinite: there is none.
double streamed_node(const Machine& machine, schedule::Collective collective, int ranks, int cores, double bytes,
                     double raw) noexcept;

}  // namespace stretto::model
