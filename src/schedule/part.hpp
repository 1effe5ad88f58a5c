// Composition: a schedule over fewer ranks and blocks becomes part of a larger one.
//
// The steps of the part are renamed: its ranks, blocks and buffers are ranks, blocks and buffers of the whole, and its rounds
// follow the earlier rounds. Parts that follow each other on the same blocks are ordered by those blocks, as all steps are; no
// step waits for the end of a part. Objects made here borrow the floors.
#pragma once

#include <functional>

#include "schedule/floors.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {

// Ranks of the whole, by rank of the part.
using Ranks = std::function<int(int rank)>;
Ranks members(const Floors& floors, int group);
Ranks leaders(const Floors& floors);
Ranks owners(const Floors& floors, int piece);

// Blocks [first, first + count) of the part stand for intervals of blocks of the whole, the same on all ranks. Calls
// add(first, count) for each interval; where there is none, nothing travels.
using Add = std::function<void(int first, int count)>;
using Blocks = std::function<void(int first, int count, const Add& add)>;
Blocks evenly(int first, int width);                        // block b is `width` blocks from first + b * width on
Blocks all_of(int blocks);                                  // the single block of the part is the whole vector
Blocks shares(const Floors& floors, int group, int width);  // block i is the pieces of member i, `width` blocks each
Blocks blocks_of_members(const Floors& floors, int group);  // block i is the block of the i-th member
Blocks blocks_of_groups(const Floors& floors);              // block g is the blocks of all members of group g

struct Part {
  Ranks rank{};
  Blocks blocks{};  // not asked for by append_signals

  int level = 0;  // of its first round

  // The buffers of this rank that serve as the part's in, out and tmp. A copy within one buffer is left out.
  Buffer in = Buffer::out;
  Buffer out = Buffer::out;
  Buffer tmp = Buffer::tmp;

  // A rank of the part that holds the result beforehand, or -1: messages to it are left out. Only for parts in which no rank
  // forwards received blocks.
  int complete = -1;
};

// Writes the steps of `flat`, the schedule of a rank of the part, as steps of this rank.
void append(Program& program, const Schedule& flat, const Part& part);

// Its messages alone, as empty ones: a reduction becomes a signal from all ranks to the root, a broadcast a signal from
// the root to all.
void append_signals(Program& program, const Schedule& flat, const Part& part);

}  // namespace stretto::schedule
