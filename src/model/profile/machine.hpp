// For one element type and compression ratio.
#pragma once

#include <array>
#include <cstdint>

#include "model/profile/profile.hpp"
#include "topology/topology.hpp"

namespace stretto::model {

// n raw bytes: call + n byte.
struct Rate {
  double call = 0;
  double byte = 0;
  double of(double bytes, double calls = 1) const noexcept { return calls * call + bytes * byte; }
};

// Switches of `hosts` hosts have uplinks of the hosts' whole rate divided by `oversubscription`. hosts 0: nothing is
// shared.
struct Fabric {
  int hosts = 0;
  double oversubscription = 1;
};

struct Machine {
  std::array<Link, topology::kDistances> links;
  bool full_duplex = true;
  int nics = 1;
  int cores = 1;
  double ratio = 1;
  double value_bits = 32;
  double growth = 0;
  double step = 0;
  double eager_limit = 0;
  int codec_threads = 1;
  Rate combine, copy;                     // raw + raw
  Rate compress, decompress, add, fused;  // stream + stream; raw + stream
  Rate quantise, add_codes;               // values to codes; codes + stream
  Fabric fabric;
  double hop = 0;

  const Span& span(topology::Distance d, double bytes) const noexcept;
  // Core time at either end for messages of `bytes` in all.
  double moving(topology::Distance d, double bytes, double messages) const noexcept;
  double ratio_of(double contributions) const noexcept;
  // Seconds of the codec at one of its rates. A thread takes whole chunks of each call.
  static constexpr double kCodecChunk = 65536;  // values
  double codec(const Rate& rate, double bytes, double calls) const noexcept;
};

// In bytes, a power of two: longer streams between hosts save more than their codec work. 0: always; infinite: never.
double break_even(const Machine& machine) noexcept;

// A sum's spread grows with the root of the number of independent contributions.
inline constexpr double kIndependentGrowth = 0.5;

// Interpolates codec costs in 1/ratio. Unmeasured distances take the nearest measured. Sums cost as at one
// contribution's ratio. Quantising counts as a copy, adding codes as an addition of streams.
Machine machine_of(const Profile& profile, std::uint32_t element, double ratio);

// `dense_ratio` is of dense streams, `ratio` of fixed ones. Unmeasured costs are estimated.
Machine machine_of_dense(const Profile& profile, std::uint32_t element, double ratio, double dense_ratio);

// Streams are half as long (float32 as bfloat16); a conversion counts as one thread's copy.
Machine with_halves(Machine machine);

// Segments are on `lanes` streams. Unmeasured costs are estimated. `reaching` > 0: devices reach each other's memory,
// with that many ranks per device (docs/model.md).
Machine machine_on_device(const Profile& profile, std::uint32_t element, double ratio, int lanes, bool staged,
                          int reaching = 0);

// A power of two. Streams hide least times of kernels and transfers, but each costs two waits.
inline constexpr int kMostLanes = 8;
int lanes_for(const Profile& profile, std::uint32_t element, double ratio, bool streams, double block,
              double segment) noexcept;

}  // namespace stretto::model
