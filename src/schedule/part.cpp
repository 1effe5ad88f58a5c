#include "schedule/part.hpp"

#include <algorithm>
#include <vector>

namespace stretto::schedule {
namespace {

Buffer named(const Part& part, Buffer b) {
  switch (b) {
    case Buffer::in: return part.in;
    case Buffer::out: return part.out;
    case Buffer::tmp: break;
  }
  return part.tmp;
}

bool left_out(const Step& step, int rank, const Part& part) {
  if (part.complete < 0 || step.peer < 0) return false;
  return step.kind == Kind::send ? step.peer == part.complete : rank == part.complete;
}

void add_intervals(std::vector<int> blocks, const Add& add) {
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t i = 0; i < blocks.size();) {
    std::size_t end = i + 1;
    while (end < blocks.size() && blocks[end] == blocks[end - 1] + 1) ++end;
    add(blocks[i], static_cast<int>(end - i));
    i = end;
  }
}

}  // namespace

Ranks members(const Floors& floors, int group) {
  return [&floors, group](int i) { return floors.member(group, i); };
}
Ranks leaders(const Floors& floors) {
  return [&floors](int group) { return floors.leader(group); };
}
Ranks owners(const Floors& floors, int piece) {
  return [&floors, piece](int group) { return floors.owner(group, piece); };
}

Blocks evenly(int offset, int width) {
  return [=](int first, int count, const Add& add) { add(offset + first * width, count * width); };
}

Blocks all_of(int blocks) {
  return [=](int, int, const Add& add) { add(0, blocks); };
}

Blocks shares(const Floors& floors, int group, int width) {
  return [&floors, group, width](int first, int count, const Add& add) {
    const int begin = floors.first_piece(group, first);
    add(begin * width, (floors.first_piece(group, first + count) - begin) * width);
  };
}

Blocks blocks_of_members(const Floors& floors, int group) {
  return [&floors, group](int first, int count, const Add& add) {
    if (floors.consecutive()) return add(floors.member(group, first), count);
    std::vector<int> blocks;
    for (int i = first; i < first + count; ++i) blocks.push_back(floors.member(group, i));
    add_intervals(std::move(blocks), add);
  };
}

Blocks blocks_of_groups(const Floors& floors) {
  return [&floors](int first, int count, const Add& add) {
    const int last = first + count - 1;
    if (floors.consecutive()) {
      const int begin = floors.member(first, 0);
      return add(begin, floors.member(last, floors.size(last) - 1) + 1 - begin);
    }
    std::vector<int> blocks;
    for (int g = first; g <= last; ++g) {
      for (int i = 0; i < floors.size(g); ++i) blocks.push_back(floors.member(g, i));
    }
    add_intervals(std::move(blocks), add);
  };
}

void append(Program& program, const Schedule& flat, const Part& part) {
  for (const Step& step : flat.steps) {
    if (left_out(step, flat.rank, part)) continue;
    const Buffer dst = named(part, step.dst.buffer);
    const Buffer src = named(part, step.src.buffer);
    const int level = part.level + static_cast<int>(step.level);
    const int peer = step.peer >= 0 ? part.rank(step.peer) : -1;
    const Range& range = step.kind == Kind::send ? step.src : step.dst;
    part.blocks(range.first, range.count, [&](int first, int count) {
      if (count == 0) return;
      switch (step.kind) {
        case Kind::send: program.send(peer, src, first, count, level); break;
        case Kind::recv_replace: program.replace(peer, dst, first, count, level); break;
        case Kind::recv_combine: program.combine(peer, dst, first, count, step.incoming_first, level); break;
        case Kind::copy:
          if (dst != src) program.copy(dst, src, first, count, level);
          break;
        case Kind::combine: program.combine_local(dst, src, first, count, step.incoming_first, level); break;
      }
    });
  }
}

void append_signals(Program& program, const Schedule& flat, const Part& part) {
  for (const Step& step : flat.steps) {
    if (step.peer < 0) continue;
    const int level = part.level + static_cast<int>(step.level);
    if (step.kind == Kind::send) {
      program.signal(part.rank(step.peer), level);
    } else {
      program.await(part.rank(step.peer), level);
    }
  }
}

}  // namespace stretto::schedule
