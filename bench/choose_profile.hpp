// A profile of the place that bench_choose runs on, as `stretto tune` would make one: links by ping-pong, the MPI's own collectives and
// those in a host's shared memory; the rest is the built-in profile's.
#pragma once

#include <string>
#include <vector>

#include "bench/choose_calls.hpp"

namespace stretto::bench {

constexpr int most_ping = 4 << 20;  // bytes; Calls must hold them

// How many hosts the ranks are on. Collective.
int count_hosts();

// Measures at these lengths, and writes the profile to `path` (rank 0). Collective.
void measure_profile(Calls& calls, const std::vector<std::uint64_t>& sizes, const std::string& path);

}  // namespace stretto::bench
