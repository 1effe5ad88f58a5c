// A schedule over fewer ranks and blocks becomes part of a larger one. Successive parts are ordered by shared blocks
// alone. Objects made here borrow the floors.
#pragma once

#include <functional>

#include "schedule/floors.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {

using Ranks = std::function<int(int rank)>;
Ranks members(const Floors& floors, int group);
Ranks leaders(const Floors& floors);
Ranks owners(const Floors& floors, int piece);

// Maps blocks [first, first + count) of the part to intervals of the whole, equal on all ranks, by calls of add(first,
// count). Without intervals nothing travels.
using Add = std::function<void(int first, int count)>;
using Blocks = std::function<void(int first, int count, const Add& add)>;
Blocks evenly(int first, int width);  // block b: `width` blocks from first + b * width on
Blocks all_of(int blocks);
Blocks shares(const Floors& floors, int group, int width);  // block i: the pieces of member i, `width` blocks each
Blocks blocks_of_members(const Floors& floors, int group);
Blocks blocks_of_groups(const Floors& floors);

struct Part {
  Ranks rank{};
  Blocks blocks{};

  int level = 0;

  // Copies within one buffer are left out.
  Buffer in = Buffer::out;
  Buffer out = Buffer::out;
  Buffer tmp = Buffer::tmp;

  // Messages to this rank, which already holds the result, are left out; -1: none. No rank may then forward received
  // blocks.
  int complete = -1;
};

void append(Program& program, const Schedule& flat, const Part& part);

// As signals, to a reduction's root or from a broadcast's.
void append_signals(Program& program, const Schedule& flat, const Part& part);

}  // namespace stretto::schedule
