// Schedules as data: what one rank does in a collective, as a list of steps over numbered blocks of the vector.
//
// A builder is a pure function of (ranks, rank, root, ...) that never fails for ranks >= 1. Its result is printed, checked
// symbolically for all ranks together (checker.hpp), costed, and run (src/engine).
//
// Model of a rank. Three buffers share one numbering of blocks 0..blocks-1; block b has the same extent in each of them
// and on every rank (possibly zero elements):
//   in    the caller's contribution, read only;
//   out   the result;
//   tmp   scratch, allocated by the engine for just the blocks used.
// The collective fixes the blocks that the caller holds at the start and expects at the end (see Collective). A schedule reads
// only held blocks of `in`, and touches only expected blocks of `out`. So both can be the caller's own memory, and all other
// blocks are in tmp. in and out may be one memory (in place), block by block. Where another
// step than its copy from in writes a block of out, that copy stands before the step and is the only reader of the
// block in `in`. (Alltoall and reduce_scatter are excepted: in place they put blocks into the memory of others, so `in`
// must be moved away first.)
//
// Meaning of the list. Steps are in program order. A step depends on an earlier step exactly when one of the two writes
// a block that the other reads or writes, or is a signal (names no block) of another level. Everything else may run
// concurrently (dependencies.hpp computes it). Between two ranks, the k-th send of A to B meets the k-th receive at B
// from A: there are no tags in a schedule. Both name the same blocks and the same level, but perhaps another buffer.
// Sends and receives of one rank on one level never conflict. Steps may also be issued strictly in list order, each as
// soon as its dependencies are complete, without deadlock even when a send ends only with its receive.
//
// Sums of floating-point numbers depend on how they are bracketed. So all ranks that expect a block bracket its sum
// alike, or its bits differ between ranks. The two operands of one combination may stand in either order: addition
// commutes. A schedule that breaks this law says so (Schedule::ranks_differ), and serves only what has the same bits in
// any brackets: integers, minimum, maximum, sums of codes.
//
// Lanes. A started collective that communication cores drive may be split: some steps are done by the application's
// core, the others beside its work (Lane). Lanes only assign steps to drivers. They only go forward: the dependencies of a
// step, and the step at the other end of its message, are in its own lane or an earlier one. So no lane waits for a later
// one. Trees take a split (Request::split): of S levels from the leaves. Where leaves come first, in reductions and
// gathers, these are before the work; where they come last, in broadcasts and scatters, after it.
//
// The checker proves all of this (checker.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/collective.hpp"

namespace stretto::schedule {

// The families of collectives, their blocks and the contract on buffers, p = ranks:
//   allreduce       B blocks (any B >= 1). in: all blocks. out: all blocks hold the combination of all ranks' in.
//   reduce          as allreduce, out defined at root only.
//   reduce_scatter  p blocks. in: all. out: block `rank` holds the combination of all ranks' block `rank`.
//   allgather       p blocks. in: block `rank`. out: all blocks, block i from rank i.
//   broadcast       B blocks. in: all blocks at root. out: all blocks everywhere.
//   gather          p blocks. in: block `rank`. out: all blocks at root.
//   scatter         p blocks. in: all blocks at root. out: block `rank`.
//   alltoall        p*p blocks; block s*p+d is what rank s has for rank d. in: blocks rank*p+0..p-1.
//                   out: blocks 0*p+rank, 1*p+rank, ...
//   barrier         0 blocks; no rank may finish before every rank has started.

enum class Buffer : std::uint8_t { in, out, tmp };

// Blocks [first, first + count) of a buffer. count == 0 is a signal: an empty message, as barriers send; it must travel.
// (A range of blocks that have no elements is something else: nothing needs to travel for it.)
struct Range {
  Buffer buffer = Buffer::out;
  std::int32_t first = 0;
  std::int32_t count = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

enum class Kind : std::uint8_t {
  send,          // src goes to peer
  recv_replace,  // dst = what peer sent
  recv_combine,  // dst = dst (+) incoming, or incoming (+) dst when `incoming_first`
  copy,          // dst = src, the same blocks of another buffer
  combine,       // dst = dst (+) src, or src (+) dst when `incoming_first`; the same blocks of two local buffers
};

// The link that a step crosses: none, one inside a group of Request::groups, one between groups.
enum class Link : std::uint8_t { local, node, network };

// The driver of a step of a started collective, and its time. All steps of a collective that is not split are `beside`.
enum class Lane : std::uint8_t {
  before,  // the application's core, before the call that starts the collective returns
  beside,  // a communication core, while the application works
  after,   // the application's core again, once it waits
};
inline constexpr std::size_t lane_count = 3;

struct Step {
  Kind kind{};
  bool incoming_first = false;  // operand order of a combining step, for operations that do not commute
  Link link = Link::network;
  Lane lane = Lane::beside;
  std::uint32_t level = 0;  // round, counted from 0; in trees counted from the leaves in reductions, from the root else
  std::int32_t peer = -1;   // -1 for copy and combine
  Range dst{};              // written (receive, copy, combine)
  Range src{};              // read (send, copy, combine)
};

struct Schedule {
  Collective collective{};
  std::string algorithm;  // "ring", "recursive_doubling", "binomial", ...
  std::int32_t ranks = 1;
  std::int32_t rank = 0;
  std::int32_t root = 0;      // for rooted collectives
  std::int32_t blocks = 0;    // blocks the vector is cut into
  bool keeps_order = false;   // combines contributions in rank order: fit for operations that do not commute
  bool ranks_differ = false;  // ranks may bracket a sum differently: fit only where brackets change no bit
  std::vector<Step> steps;
};

// Groups of close ranks, for hierarchical algorithms: ranks of the same group exchange cheaply. Groups are numbered from 0
// in the order of their lowest rank and may be of unequal size. The members of a group may be grouped in turn, to any depth: hosts, in
// them sockets, in them caches. groups_of() (floors.hpp) fills all of it.
struct Groups {
  std::vector<std::int32_t> group_of;              // by rank
  std::vector<std::vector<std::int32_t>> members;  // ranks of a group, ascending
  std::int32_t largest = 0;                        // ranks of the largest group
  bool consecutive = false;                        // every group is an interval of ranks
  bool ordered = false;                            // and so inside, all the way down
  std::vector<Groups>
      inside;  // by group: its members by their index, grouped; without members: they are not. Empty: none are
  // Lengths of the sides of the torus that the groups lie on, row by row, the last dimension changing fastest; empty: none is known.
  std::vector<std::int32_t> torus;
  // Rounds inside the largest group, floor by floor: each with every other one in turn, and along a tree.
  std::int32_t exchange_rounds = 0;
  std::int32_t tree_rounds = 0;
};

// The arguments of a builder. `blocks` is used by pipelined algorithms (how many pieces), `radix` by k-nomial trees,
// `split` by algorithms that take one (registry.hpp): as many levels from the leaves, or all that there are.
struct Request {
  Collective collective{};
  std::int32_t ranks = 1;
  std::int32_t rank = 0;
  std::int32_t root = 0;
  std::int32_t blocks = 0;  // 0: as many as the algorithm needs
  std::int32_t radix = 2;
  std::int32_t split = 0;
  const Groups* groups = nullptr;  // of these ranks; borrowed while building; null: every rank is alone
};

}  // namespace stretto::schedule
