// A profile of the place of bench_choose, as `stretto tune` would make one: the link between hosts by ping-pong, the
// MPI's own collectives and those in a host's shared memory. Links inside a host, the codec and the engine come from a
// base profile made by `stretto tune` on this host. Without a base profile these links are measured by ping-pong too,
// and the rest is the built-in profile's.
#pragma once

#include <string>
#include <vector>

#include "bench/choose/calls.hpp"

namespace stretto::bench {

constexpr int most_ping = 4 << 20;  // bytes; Calls must hold them

// Number of the ranks' hosts. Collective.
int count_hosts();

// Measures at these lengths, and writes the profile to `path` (rank 0). `base`: a file, or empty. Collective.
void measure_profile(Calls& calls, const std::vector<std::uint64_t>& sizes, const std::string& path,
                     const std::string& base);

}  // namespace stretto::bench
