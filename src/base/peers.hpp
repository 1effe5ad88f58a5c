// Tells if this host's ranks use up their cores, so that no other program has a part.
#pragma once

#include <sched.h>

#include <cstdint>

namespace stretto {

// A rank of this host, in the caller's PID namespace. Repeating does nothing. At most 256 are kept.
void add_peer(std::int32_t process) noexcept;

struct CoreSet {
  cpu_set_t sets[8];  // Linux allows more than the 1024 of a cpu_set_t

  // Cores that a process's first thread may use, or for 0 the caller's. None: there is no such process.
  void find(std::int32_t process = 0) noexcept {
    CPU_ZERO_S(sizeof sets, sets);
    sched_getaffinity(process, sizeof sets, sets);
  }
  void join(const CoreSet& other) noexcept { CPU_OR_S(sizeof sets, sets, sets, other.sets); }
  int count() const noexcept { return CPU_COUNT_S(sizeof sets, sets); }
};

struct PeersTime {
  double when = 0;  // CLOCK_MONOTONIC, in seconds
  double used = 0;  // all peers' processor time in seconds
  int cores = 0;    // on which they may run now; 0: unknown, or peers have a core each
};

// A program may bind its ranks anew at any time. Cores are those of first threads, and time is of all threads: threads
// bound elsewhere may hide that another program has the cores. Takes a few system calls a peer.
PeersTime peers_time() noexcept;

// Between the samples the peers used all their cores but 0.3 of one, which they leave when they sleep and wake. False
// if a sample has no cores.
bool peers_used_cores(const PeersTime& before, const PeersTime& after) noexcept;

class PeersWatch {
 public:
  // Peers had the core that was taken. False where they left a part unused, twice in succession over 4 ms or more, or
  // `now` has no cores. More than 2 s, or samples of different numbers of cores, say nothing.
  bool had_cores(const PeersTime& now) noexcept;

 private:
  PeersTime judged_;
  int unused_ = 0;  // successive samples that left a part unused
};

}  // namespace stretto
