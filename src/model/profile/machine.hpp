// A profile for one element type and one compression ratio: the costs that a walk needs, step by step.
#pragma once

#include <array>
#include <cstdint>

#include "model/profile/profile.hpp"
#include "topology/topology.hpp"

namespace stretto::model {

// Time of a piece of work on n bytes of raw values: call + n byte.
struct Rate {
  double call = 0;
  double byte = 0;
  double of(double bytes, double calls = 1) const noexcept { return calls * call + bytes * byte; }
};

// How hosts are joined, beyond a card of their own: a tree whose switches of `hosts` hosts have an uplink of their
// hosts' whole rate divided by `oversubscription`. hosts 0: nothing between hosts is shared.
struct Fabric {
  int hosts = 0;
  double oversubscription = 1;
};

struct Machine {
  std::array<Link, topology::kDistances> links;  // each with at least one range
  bool full_duplex = true;
  int nics = 1;
  int cores = 1;
  double ratio = 1;        // of one contribution
  double value_bits = 32;  // of a raw value
  double growth = 0;       // bits of a value that a stream gains with each doubling of the contributions summed in it
  double step = 0;
  Rate combine, copy;                     // raw + raw
  Rate compress, decompress, add, fused;  // stream + stream, raw + stream
  Rate quantise, add_codes;               // values to codes; codes + stream
  Fabric fabric;
  double hop = 0;  // of a torus (torus.hpp)

  const Span& span(topology::Distance d, double bytes) const noexcept;
  double ratio_of(double contributions) const noexcept;  // of a stream of so many; at least 1
};

// Bytes from which a message between hosts gains more as a stream than its codec work costs, as a power of two. A
// schedule may send shorter messages raw. 0: always a gain; infinite: never.
double break_even(const Machine& machine) noexcept;

// For independent contributions: the spread of their sum grows with the root of their number, while the grid stays.
inline constexpr double kIndependentGrowth = 0.5;

// Codec costs are linear in 1/ratio between those of the profile. Distances that were not measured take the nearest
// that was. Sums grow as those of independent contributions do; what codec work on them costs is taken at the ratio of
// one contribution. Quantising alone, and adding codes to a stream, are not in profiles: a kernel that reads and writes
// each value once (copy), and the addition of streams.
Machine machine_of(const Profile& profile, std::uint32_t element, double ratio);

// As machine_of() for dense streams, which shrink values by `dense_ratio` where fixed streams shrink them by `ratio`.
// Where the profile has no costs of dense streams, the entropy stage adds costs measured on one processor, scaled for
// profiles whose codec is slower.
Machine machine_of_dense(const Profile& profile, std::uint32_t element, double ratio, double dense_ratio);

// For device memory, with segments on `lanes` streams. Work means the device's kernels, of which as many run
// concurrently; staged messages pass through pinned host memory at both ends. Unmeasured costs of a device are
// estimated (docs/model.md). `reaching` > 0: devices reach each other's memory, and that many ranks share one. A message
// then takes two host messages beside a copy, at any distance, and the device's bytes take that many times as long.
Machine machine_on_device(const Profile& profile, std::uint32_t element, double ratio, int lanes, bool staged,
                          int reaching = 0);

// How many streams the segments of blocks of `block` bytes should be on: a power of two up to most_lanes. More of them
// hide the least time of a kernel behind others, and transfers behind kernels; each costs two waits.
inline constexpr int most_lanes = 8;
int lanes_for(const Profile& profile, std::uint32_t element, double ratio, bool streams, double block,
              double segment) noexcept;

}  // namespace stretto::model
