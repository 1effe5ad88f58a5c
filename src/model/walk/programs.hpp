// The schedules of all ranks, prepared for a walk: peers, distances, and touched blocks.
//
// Ranks that behave alike are walked once. With a period d, rank r represents all ranks r + k d. This requires equal
// hosts of d consecutive ranks, and an algorithm that is invariant under a shift by a host (ring, pairwise, ...) or an
// exclusive-or of the host's number (recursive doubling, ...). So 131,072 ranks of a ring on hosts of four are four
// programs. The walk over the folded programs is exact for blocks of equal length; tests compare it to the walk over
// all ranks.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "schedule/registry.hpp"
#include "schedule/schedule.hpp"
#include "topology/topology.hpp"

namespace stretto::model {

struct Act {
  schedule::Kind kind{};
  topology::Distance distance = topology::Distance::network;  // of messages
  std::uint32_t level = 0;
  schedule::Lane lane = schedule::Lane::beside;
  std::int32_t peer = -1;     // messages: the program that represents the peer
  std::int32_t partner = -1;  // messages: the matching act there
  std::int32_t blocks = 0;    // number of blocks; 0: a signal
  std::int32_t slots = 0;     // number of slots of these blocks
  std::int32_t dst = -1;      // first slot written; -1: none
  std::int32_t src = -1;      // first slot read
  bool far = false;           // between leaves of the fabric
};

// Blocks [block, block + blocks) of a buffer that no step of a rank divides. So a walk has about as many slots as
// steps, for any number of blocks.
struct Slot {
  schedule::Buffer buffer{};
  std::int32_t block = 0;
  std::int32_t blocks = 1;
  bool held = false;             // holds the caller's data at the start
  bool expected = false;         // holds a result at the end
  std::int32_t last_write = -1;  // act; -1: never
};

struct Program {
  std::int32_t rank = 0;
  std::int32_t host = 0;  // index among the walked hosts
  double share = 1;       // ranks of its host per core, at least 1: CPU work takes that much longer
  std::vector<Act> acts;
  std::vector<Slot> slots;
};

struct Programs {
  schedule::Collective collective{};
  std::int32_t ranks = 1;
  std::int32_t blocks = 0;
  std::int32_t root = 0;
  std::int32_t period = 1;          // number of programs; == ranks: nothing is folded
  int hosts = 1;                    // walked hosts
  int leaves = 1;                   // walked leaves of the fabric
  std::vector<int> leaf;            // by host
  std::vector<std::int32_t> torus;  // sides, as in the topology; then nothing is folded
  std::vector<Program> all;
};

// Blocks of the shortest non-empty message, and of the longest; 0 if there is none.
std::pair<std::int32_t, std::int32_t> lengths_of(const Programs& programs) noexcept;

// Limit of a walk's steps and slots, of about 200 bytes and 0.5 to 1 microseconds each: 2 GB, and seconds.
inline constexpr std::size_t most_cells = 10'000'000;

struct Folding {
  bool allowed = true;
  int hosts_per_leaf = 0;         // of the fabric (machine.hpp); leaves are walked as a whole
  int cores = 0;                  // per host; 0: as many as ranks
  std::size_t most = most_cells;  // limit of walked steps and slots
};

// request.rank is ignored; a null request.groups is made from the topology if the algorithm uses groups. unsupported:
// more than `folding.most` steps and slots; internal: schedules do not match.
Status make_programs(const schedule::Algorithm& algorithm, schedule::Request request,
                     const topology::Topology& topology, const Folding& folding, Programs* programs);

// The smallest number of ranks whose programs represent all; topology.ranks() if nothing folds.
int fold_period(const schedule::Algorithm& algorithm, const schedule::Request& request,
                const topology::Topology& topology, int hosts_per_leaf);

// Groups for algorithms: the topology's hosts, their torus, and the levels inside them.
schedule::Groups groups_of(const topology::Topology& topology);

}  // namespace stretto::model
