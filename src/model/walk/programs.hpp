// The schedules of all ranks, made ready for a walk: who meets whom, over what distance, which blocks are touched.
//
// Ranks that behave alike are walked once. With a period d, rank r stands for all ranks r + k d. That takes hosts of d
// ranks in a row that are all alike. It also takes an algorithm that the shift by a host (ring, pairwise, ...) or an
// exclusive-or of the host's number (recursive doubling, ...) maps onto itself. So 131,072 ranks of a ring on hosts of
// four are four programs. The walk over the folded programs is exact where all blocks have the same length; tests
// compare it to the walk over all ranks.
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
  std::int32_t peer = -1;     // of messages: the program that stands for it
  std::int32_t partner = -1;  // of messages: the act there that it meets
  std::int32_t blocks = 0;    // how many; 0: a signal
  std::int32_t slots = 0;     // that these blocks are
  std::int32_t dst = -1;      // first slot written; -1: none
  std::int32_t src = -1;      // first slot read
  bool far = false;           // between leaves of the fabric
};

// Blocks of a buffer that a rank touches, [block, block + blocks), always together: no step parts them. So a walk has as many slots as
// steps, about, however many blocks the vector is cut into.
struct Slot {
  schedule::Buffer buffer{};
  std::int32_t block = 0;
  std::int32_t blocks = 1;
  bool held = false;             // by the caller, from the start
  bool expected = false;         // by the caller, in the end
  std::int32_t last_write = -1;  // act; -1: never
};

struct Program {
  std::int32_t rank = 0;
  std::int32_t host = 0;  // index among the hosts that are walked
  double share = 1;       // ranks of its host over cores of it, at least 1: CPU work takes that much longer
  std::vector<Act> acts;
  std::vector<Slot> slots;
};

struct Programs {
  schedule::Collective collective{};
  std::int32_t ranks = 1;
  std::int32_t blocks = 0;
  std::int32_t root = 0;
  std::int32_t period = 1;          // programs; == ranks: nothing is folded
  int hosts = 1;                    // of what is walked
  int leaves = 1;                   // of the fabric, of what is walked
  std::vector<int> leaf;            // by host
  std::vector<std::int32_t> torus;  // sides, as of the topology: nothing is folded then
  std::vector<Program> all;
};

// Blocks of the shortest message that has some, and of the longest; 0 where there are none.
std::pair<std::int32_t, std::int32_t> lengths_of(const Programs& programs) noexcept;

// Steps and slots of a walk, of about 200 bytes and 0.5 to 1 microseconds each: 2 GB, and seconds.
inline constexpr std::size_t most_cells = 10'000'000;

struct Folding {
  bool allowed = true;
  int hosts_per_leaf = 0;         // of the fabric (machine.hpp); a leaf is walked as a whole
  int cores = 0;                  // of a host; 0: as many as ranks
  std::size_t most = most_cells;  // steps and slots that are walked
};

// request.rank is ignored; request.groups is made from the topology where it is null and the algorithm uses groups. Fails as
// unsupported where what is to be walked has more than `folding.most` steps and slots, internal where schedules do not match.
Status make_programs(const schedule::Algorithm& algorithm, schedule::Request request,
                     const topology::Topology& topology, const Folding& folding, Programs* programs);

// The smallest number of ranks whose programs stand for all; topology.ranks() where nothing folds.
int fold_period(const schedule::Algorithm& algorithm, const schedule::Request& request,
                const topology::Topology& topology, int hosts_per_leaf);

// Hosts of the topology, the torus that they lie on, and inside them the levels that it takes: for algorithms of groups.
schedule::Groups groups_of(const topology::Topology& topology);

}  // namespace stretto::model
