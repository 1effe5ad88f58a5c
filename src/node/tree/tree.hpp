// Rooted collectives by the steps of a tree's schedule (docs/overlap.md, "Split trees"), so that each of its lanes can
// have a driver of its own. Sums are bracketed by the tree.
//
// The work is cut into passes, one for each lane, and a pass into rounds, one for each chunk of all blocks. In a round
// a rank takes a chunk from its sources, in the order of its steps, and then exposes its own: in place, where peers see
// the memory, else through its slot, where each block has a fixed place. Data that are passed on lie in the arena,
// where there is one: an edge costs one copy or addition, and one copy more from private memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "node/collectives/collectives.hpp"
#include "schedule/schedule.hpp"

namespace stretto::node {

struct TreeTask {
  const schedule::Schedule& schedule;
  // As of the function of that name: null where the data are in place.
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;  // of the vector, or of each block
  payload::Type type = payload::Type::u8;
  Combination operation{};
  // The schedule has steps before or after the work; equal on every rank. enter() returns once they may run.
  bool split = false;
  void (*enter)(void*, schedule::Lane) = nullptr;
  void* context = nullptr;
  std::int32_t radix = 2;  // with which the schedule was made
};

class Tree {
 public:
  Tree(Collectives& c, const TreeTask& task) noexcept;
  Status run();

 private:
  // Follows the exposure in a line's payload.
  struct Published {
    Exposure exposure;
    std::int32_t first = 0;  // block at its address
  };
  static_assert(sizeof(Published) <= kInline);
  struct Chunk {
    std::size_t at, bytes;
  };

  Status look_at_steps();
  std::byte* at(schedule::Buffer buffer, int block) const noexcept;
  Chunk chunk(std::uint64_t k) const noexcept;
  Status pass(schedule::Lane lane, std::uint64_t first);
  Status take(const schedule::Step& step, const Chunk& c, std::uint64_t round);
  Status source(int peer, const Published& published, int block, const Chunk& c, std::uint64_t round,
                const std::byte** found);
  Status combine(const schedule::Step& step, const Chunk& c, const std::byte* theirs) noexcept;
  Status expose(schedule::Lane lane, const Chunk& c, std::uint64_t round) noexcept;

  Collectives& c_;
  Group& g_;
  const TreeTask& t_;
  const schedule::Schedule& s_;
  std::size_t size_, bytes_;  // of an element and of a block
  std::size_t step_ = 0;      // bytes of a chunk
  std::byte *in_ = nullptr, *out_ = nullptr, *passed_on_ = nullptr;
  int first_passed_on_ = 0;
  const schedule::Step *first_sum_ = nullptr, *last_sum_ = nullptr;
  Published published_;
  std::vector<int> readers_;
};

}  // namespace stretto::node
