// All ranks' schedules.
//
// Ranks that behave alike are walked once (docs/model.md, "Many ranks"): with a period d, rank r represents all ranks r
// + k d. This requires equal hosts of d consecutive ranks, and an algorithm that is invariant under a shift by a host
// or an exclusive-or of its number.
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
  topology::Distance distance = topology::Distance::network;
  std::uint32_t level = 0;
  schedule::Lane lane = schedule::Lane::beside;
  std::int32_t peer = -1;     // the peer's program, in messages
  std::int32_t partner = -1;  // the matching act there
  std::int32_t blocks = 0;    // 0: a signal
  std::int32_t slots = 0;
  std::int32_t dst = -1;
  std::int32_t src = -1;
  bool far = false;  // between the fabric's leaves
};

// Blocks [block, block + blocks) that no step divides.
struct Slot {
  schedule::Buffer buffer{};
  std::int32_t block = 0;
  std::int32_t blocks = 1;
  bool held = false;             // has the caller's data at the start
  bool expected = false;         // has a result at the end
  std::int32_t last_write = -1;  // act; -1: never
};

struct Program {
  std::int32_t rank = 0;
  std::int32_t host = 0;
  double share = 1;  // ranks per core of its host, at least 1: slows CPU work
  std::vector<Act> acts;
  std::vector<Slot> slots;
};

struct Programs {
  schedule::Collective collective{};
  std::int32_t ranks = 1;
  std::int32_t blocks = 0;
  std::int32_t root = 0;
  std::int32_t period = 1;  // number of programs; == ranks: no folding
  int hosts = 1;
  int leaves = 1;
  std::vector<int> leaf;
  std::vector<std::int32_t> torus;  // as in the topology; excludes folding
  std::vector<Program> all;
};

// Blocks of the shortest and longest non-empty message; 0: none.
std::pair<std::int32_t, std::int32_t> lengths_of(const Programs& programs) noexcept;

// A cell takes about 200 bytes and 0.5 to 1 microseconds: 2 GB, and seconds.
inline constexpr std::size_t kMostCells = 10'000'000;

struct Folding {
  bool allowed = true;
  int hosts_per_leaf = 0;  // leaves are walked whole (machine.hpp)
  int cores = 0;           // per host; 0: as many as ranks
  std::size_t most = kMostCells;
};

// Ignores request.rank; makes null groups if needed. unsupported: more than `folding.most` steps and slots; internal:
// schedules do not match.
Status make_programs(const schedule::Algorithm& algorithm, schedule::Request request,
                     const topology::Topology& topology, const Folding& folding, Programs* programs);

int fold_period(const schedule::Algorithm& algorithm, const schedule::Request& request,
                const topology::Topology& topology, int hosts_per_leaf);

schedule::Groups groups_of(const topology::Topology& topology);

}  // namespace stretto::model
