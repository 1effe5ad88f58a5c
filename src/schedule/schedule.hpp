// Schedules as data: the steps of one rank in a collective, over numbered blocks of the vector. Builders are pure
// functions that never fail for ranks >= 1. The checker (checker.hpp) proves the rules below.
//
// Three buffers share one numbering of blocks; block b has the same extent in each and on every rank, perhaps zero:
//   in    the caller's contribution, read only;
//   out   the result;
//   tmp   scratch, allocated by the engine for the blocks used.
// A schedule reads only blocks of `in` that the caller holds, and touches only blocks of `out` that the caller expects.
// in and out may be one memory (in place), block by block. So a block's copy from in to out is the only reader in `in`,
// and precedes all other writers of the block in out. Except in alltoall and reduce_scatter: in place, `in` must be
// moved away first.
//
// A step depends on an earlier step exactly when one of the two writes a block that the other reads or writes, or is a
// signal (names no block) of another level. All other steps may run concurrently. The k-th send of A to B meets the
// k-th receive at B from A; both name equal blocks and level, perhaps of different buffers. Sends and receives of one
// rank on one level never conflict. Steps may be issued in list order, each as soon as its dependencies are complete,
// without deadlock even when a send ends only with its receive.
//
// All ranks that expect a block bracket its sum alike, up to the order of two operands, so that floating-point sums
// have the same bits. (Ranks of scan and exscan expect different sums.) Otherwise Schedule::ranks_differ is set, and
// bits of the operation must not depend on brackets: integers, minimum, maximum, sums of codes.
//
// Lanes assign steps of a split collective to the application's core or to communication cores (docs/overlap.md). A
// step's dependencies, and the step at the other end of its message, are in its own lane or an earlier one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/collective.hpp"

namespace stretto::schedule {

// Families of collectives, their blocks and the contract on buffers, p = ranks:
//   allreduce       B blocks (any B >= 1). in: all. out: all, with the combination of all ranks' in.
//   reduce          as allreduce, out defined at root only.
//   reduce_scatter  p blocks. in: all. out: block `rank`, with the combination of all ranks' block `rank`.
//   allgather       p blocks. in: block `rank`. out: all, block i from rank i.
//   broadcast       B blocks. in: all at root. out: all everywhere.
//   gather          p blocks. in: block `rank`. out: all at root.
//   scatter         p blocks. in: all at root. out: block `rank`.
//   alltoall        p*p blocks; block s*p+d is what rank s has for rank d. in: blocks rank*p+0..p-1.
//                   out: blocks 0*p+rank, 1*p+rank, ...
//   scan            B blocks. in: all. out: all, with the combination of in of ranks 0 to `rank`.
//   exscan          B blocks. in: all. out: that of ranks 0 to `rank` - 1; rank 0 has no out.
//   barrier         0 blocks; no rank may finish before every rank has started.

enum class Buffer : std::uint8_t { in, out, tmp };

// count == 0 is a signal, an empty message that must travel. A range without elements need not.
struct Range {
  Buffer buffer = Buffer::out;
  std::int32_t first = 0;
  std::int32_t count = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

enum class Kind : std::uint8_t {
  send,
  recv_replace,  // dst = message
  recv_combine,  // dst = dst (+) incoming, or reversed (`incoming_first`)
  copy,          // dst = src, equal blocks of two buffers
  combine,       // dst = dst (+) src, or reversed; equal blocks of two buffers
};

// None, inside a group of Request::groups, or between groups.
enum class Link : std::uint8_t { local, node, network };

// Collectives that are not split have `beside` alone.
enum class Lane : std::uint8_t {
  before,  // the application's core, before the starting call returns
  beside,  // a communication core, while the application works
  after,   // the application's core, once it waits
};
inline constexpr std::size_t kLaneCount = 3;

struct Step {
  Kind kind{};
  bool incoming_first = false;  // operand order, for operations that do not commute
  Link link = Link::network;
  Lane lane = Lane::beside;
  std::uint32_t level = 0;  // round from 0; trees count from the leaves in reductions, else from the root
  std::int32_t peer = -1;
  Range dst{};
  Range src{};
};

struct Schedule {
  Collective collective{};
  std::string algorithm;
  std::int32_t ranks = 1;
  std::int32_t rank = 0;
  std::int32_t root = 0;
  std::int32_t blocks = 0;
  bool keeps_order = false;   // combines in rank order: fit for operations that do not commute
  bool ranks_differ = false;  // ranks may bracket a sum differently: only if brackets change no bit
  std::vector<Step> steps;
};

// Groups of close ranks, numbered by their lowest rank, perhaps of unequal size, and grouped in turn. Made by
// groups_of().
struct Groups {
  std::vector<std::int32_t> group_of;
  std::vector<std::vector<std::int32_t>> members;  // ascending
  std::int32_t largest = 0;
  bool consecutive = false;    // every group is an interval of ranks
  bool ordered = false;        // consecutive on all depths
  std::vector<Groups> inside;  // by group: its members' groups, without members if none; empty: no group has any
  // As topology::Topology::torus().
  std::vector<std::int32_t> torus;
  // Inside the largest group over all depths, pairwise and along a tree.
  std::int32_t exchange_rounds = 0;
  std::int32_t tree_rounds = 0;
};

// `blocks`: pieces of a pipeline; `radix`: of k-nomial trees; `split`: levels from the leaves (Traits::uses_split).
struct Request {
  Collective collective{};
  std::int32_t ranks = 1;
  std::int32_t rank = 0;
  std::int32_t root = 0;
  std::int32_t blocks = 0;  // 0: the algorithm's choice
  std::int32_t radix = 2;
  std::int32_t split = 0;
  const Groups* groups = nullptr;  // borrowed while building; null: every rank is alone
};

}  // namespace stretto::schedule
