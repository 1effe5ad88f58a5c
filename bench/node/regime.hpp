// Distance of two ranks' cores, by the round trip of a flag. On a virtual machine the placement changes within seconds,
// unseen, and so does the fastest copy: only rows of one regime are comparable.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "bench/node/limits.hpp"
#include "timing/mpi.hpp"

namespace stretto::bench {

// Microseconds of the round trip: 0.1 to 0.3 where cores share a cache, 0.35 to 0.6 across a processor or with its
// caches slowed down, and about 1.1 across sockets.
constexpr double kNearLimit = 0.33, kFarLimit = 0.8;

inline const char* regime_of(double flag_us) noexcept {
  return flag_us < kNearLimit ? "near" : flag_us < kFarLimit ? "far" : "remote";
}

// For a row: the regime, if equal before and after, else "mixed".
inline std::string regime_of(double before, double after) {
  return regime_of(before) == std::string(regime_of(after)) ? regime_of(before) : "mixed";
}

// The slowest of the ranks' measurements. Collective.
inline double flag_between(Limits& limits) { return timing::largest(MPI_COMM_WORLD, limits.flag_round_trip()); }

// Waits up to 8 seconds for a regime, and returns the final round trip: the scheduler moves busy cores together in
// time, and may place idle cores anew. Collective.
inline double await_regime(Limits& limits, const std::string& wanted) {
  double spent = 0, flag = flag_between(limits);
  while (!wanted.empty() && regime_of(flag) != wanted && spent < 8) {
    const auto begin = std::chrono::steady_clock::now();
    if (wanted != "near") std::this_thread::sleep_for(std::chrono::milliseconds(500));
    flag = flag_between(limits);
    spent += timing::largest(MPI_COMM_WORLD,
                             std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return flag;
}

}  // namespace stretto::bench
