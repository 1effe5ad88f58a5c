// Reductions too long for every rank to read all: reduce, allreduce, reduce-scatter, over any number of levels.
//
// The vector is cut in chunks. At level l a chunk is split statically among the members of each group. A member
// combines, over its part, what the groups below contributed, in the order of their lowest ranks. It leaves the partial
// result in its slot. The top level leaves the result, which ranks that want it copy out. So a chunk takes levels + 2
// steps (copy in, one a level, copy out). A step of each of as many successive chunks is done in one round, and the
// levels overlap. On one level a chunk has a piece of each rank's block of the vector.
//
// Of two ranks, one whose input came through its slot gets its part of the result there, over the operand. The other
// core holds the slot's lines once it has read them, and writes the result to them without a transfer. A line changes
// cores three times, not four.
//
// Inputs that peers can see are not copied in. On one level, if all can see the outputs (of a reduce the root's), each
// rank stores its part of the result straight into all outputs. Nothing is then copied out. A rank that sees all that it
// reads and writes does so with its whole block at once; where all do, the other rounds are left out.
//
// Cost of n bytes over p ranks, one level: rounds ⌈n/chunk⌉ + 2; a rank copies (p-1)/p·n in, combines n/p from p sources,
// copies (p-1)/p·n out. Where all see all: two rounds, and no copies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "node/collectives/collectives.hpp"

namespace stretto::node {

class Reduction {
 public:
  struct Task {
    Collective kind = Collective::allreduce;  // or reduce, reduce_scatter
    const std::byte* in = nullptr;
    std::byte* out = nullptr;  // of reduce: null where nothing is wanted
    std::size_t count = 0;     // of the vector; of reduce_scatter: of a block
    payload::Type type = payload::Type::f32;
    Combination operation;
    int root = -1;
  };

  Reduction(Collectives& c, const Task& task, const Hierarchy& hierarchy);
  Status run() noexcept;

  // Which stores serve it. Of a barrier or an agreement: those of the allreduce that it is.
  static Collectives::Use use(Collective kind) noexcept {
    switch (kind) {
      case Collective::reduce: return Collectives::Use::reduce;
      case Collective::reduce_scatter: return Collectives::Use::moves;
      default: return Collectives::Use::allreduce;
    }
  }

 private:
  using Source = Operands::Source;
  // What is combined in one go: `elements`, which are `per_block` from `at` on of each block, one block after the other. A
  // reduce_scatter has its blocks. On one level a vector is cut in as many as there are ranks, so that what a rank
  // combines lies in a row; the last may be shorter. On several levels the vector is one block.
  struct Chunk {
    std::size_t at, elements, per_block;
  };
  // Where a rank leaves its results: in its slot; in all outputs, chunk by chunk; or there all at once.
  enum class Reach : std::uint32_t { slot, chunk, all };
  // What a rank tells in its lines.
  struct Told {
    Exposure in, out;
    Reach results = Reach::slot;
    std::uint32_t reserved = 0;
  };
  static_assert(sizeof(Told) <= kInline);
  // A source of a combination: where its elements are from some position on, and how many there are.
  struct Piece {
    const std::byte* at;
    std::size_t end;
  };

  Stores results() const noexcept { return stores_of_result(t_.count * size_, kReduced); }
  Chunk chunk(std::uint64_t k) const noexcept;
  std::size_t part_size(int level, int rank, const Chunk& c) const noexcept;
  Range part(int level, int rank, const Chunk& c) const noexcept;
  std::size_t region(int level, int rank) const noexcept;
  std::size_t source_at(const Chunk& c, std::size_t position) const noexcept;
  std::size_t source_run(const Chunk& c, std::size_t position) const noexcept;
  void find_readers();
  void choose_chunk() noexcept;

  Status copy_in(const Chunk& c, std::byte* body) noexcept;
  Status combine(int level, std::uint64_t k, std::byte* body) noexcept;
  Status combine_all(std::uint64_t k, std::byte* body) noexcept;
  std::byte* result_at(const Chunk& c, std::size_t position) const noexcept;
  Status combine_part(int level, const Chunk& c, const Range& mine, std::byte* body) noexcept;
  Status all_are_through(std::uint64_t round, bool* through) noexcept;
  void find_reach(bool outputs_mapped) noexcept;
  Status gather_sources(int level, std::uint64_t k, const Range& mine) noexcept;
  Status fetch(int source, const Told& told, const Chunk& c, const Range& mine, std::byte* to) noexcept;
  Piece piece(std::size_t child, const Chunk& c, std::size_t position) const noexcept;
  Status combine_row(int level, const Chunk& c, const Range& row, std::byte* body, const Range& mine) noexcept;
  void ask_ahead(std::byte* lent, std::size_t next, std::size_t bytes) const noexcept;
  Status combine_block(bool top, std::size_t at, std::size_t count, std::byte* sum) noexcept;
  void deliver(std::size_t in_vector, std::size_t in_part, std::size_t bytes, const std::byte* sum,
               std::byte* body) noexcept;
  Status copy_out(std::uint64_t k) noexcept;
  // Of two ranks, who have one level: whether a rank whose input was in its slots gets its results there. The same on
  // both: all ranks use the same stores.
  bool lends() const noexcept { return ranks_ == 2 && levels_ == 1 && stores_ == Stores::plain; }
  void find_lent(std::uint64_t round, const Range& mine) noexcept;

  Collectives& c_;
  Group& g_;
  Task t_;
  const Hierarchy& h_;
  int levels_, me_, ranks_;
  std::size_t size_;       // bytes of an element
  std::size_t quantum_;    // elements of a cache line, or 1
  Stores stores_;          // into slots
  Manner manner_;          // where results are wanted
  std::size_t all_ = 0;    // elements of all blocks
  std::size_t block_ = 1;  // elements of a block
  std::size_t chunk_ = 1;  // elements of a whole chunk, of each block
  std::uint64_t chunks_ = 0, first_ = 0;
  bool large_ = false;
  Told told_;
  std::vector<int>& readers_;  // as in Operands
  Reach reach_ = Reach::slot;
  std::byte* lent_ =
      nullptr;  // of two ranks: where results go back in the other's slot, as if its chunk began there; else null
  std::vector<std::byte*>& outputs_;

  // Of the combination in hand.
  std::vector<std::vector<Source>>& sources_;
  std::vector<const std::byte*>& operands_;
};

}  // namespace stretto::node
