// Long reductions over any number of levels.
//
// The vector is cut into chunks. At level l the members of each group split a chunk. A member combines its part from
// the results of the groups below, in the order of their lowest ranks, and leaves the partial result in its slot. Ranks
// copy the top level's results out. A chunk takes levels + 2 steps, and a round does one step of each of as many
// successive chunks. On one level a chunk has a piece of each rank's block of the vector.
//
// Two ranks: the result for a peer whose input came through its slot is written back over the operand, whose lines its
// core still holds.
//
// Inputs visible to peers are not copied in. On one level, if all ranks can see the outputs (reduce: the root's), each
// rank stores its part of the result straight into all outputs. A rank that sees all sources and destinations processes
// its whole block at once; if all ranks do, the other rounds are skipped.
//
// Cost of n bytes over p ranks, one level: rounds ⌈n/chunk⌉ + 2; a rank copies (p-1)/p·n in, combines n/p from p
// sources, copies (p-1)/p·n out. With all memory visible: two rounds, and no copies.
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
    Collective kind = Collective::allreduce;
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    std::size_t count = 0;  // of the vector; reduce_scatter: of one block
    payload::Type type = payload::Type::f32;
    Combination operation;
    int root = -1;
  };

  Reduction(Collectives& c, const Task& task, const Hierarchy& hierarchy);
  Status run() noexcept;

  // Barriers and agreements run as allreduces. Streaming stores of ranks that `share_cores` make a reduce-scatter
  // slower wherever they make a reduce slower.
  static Collectives::Use use(Collective kind, bool share_cores) noexcept {
    switch (kind) {
      case Collective::reduce: return Collectives::Use::reduce;
      case Collective::reduce_scatter: return share_cores ? Collectives::Use::reduce : Collectives::Use::moves;
      default: return Collectives::Use::allreduce;
    }
  }

 private:
  using Source = Operands::Source;
  // `per_block` elements from `at` on of each block, `elements` in all. On one level a vector has one block per rank
  // (the last may be shorter), so that each rank combines contiguous elements; on several levels it is one block. A
  // reduce_scatter has its own blocks.
  struct Chunk {
    std::size_t at, elements, per_block;
  };
  enum class Destination : std::uint32_t { slot, chunk, all };
  struct Published {
    Exposure in, out;
    Destination results = Destination::slot;
    std::uint32_t reserved = 0;
  };
  static_assert(sizeof(Published) <= kInline);
  // A contiguous run of a source: its address, and its end's position.
  struct Piece {
    const std::byte* at;
    std::size_t end;
  };

  Stores results() const noexcept { return stores_of_result(t_.count * size_, kReduced); }
  Chunk chunk(std::uint64_t k) const noexcept;
  std::size_t part_size(int level, int rank, const Chunk& c) const noexcept;
  Range part(int level, int rank, const Chunk& c) const noexcept;
  std::size_t region(int level, int rank, int owner) const noexcept;
  std::size_t source_at(const Chunk& c, std::size_t position) const noexcept;
  std::size_t source_run(const Chunk& c, std::size_t position) const noexcept;
  void find_readers();
  void choose_chunk() noexcept;

  Status copy_in(const Chunk& c, std::uint64_t round) noexcept;
  Status combine(int level, std::uint64_t k, std::byte* body) noexcept;
  bool fills_slot(int level) const noexcept;
  Status combine_all(std::uint64_t k, std::byte* body) noexcept;
  std::byte* result_at(const Chunk& c, std::size_t position) const noexcept;
  Status combine_part(int level, const Chunk& c, const Range& mine, std::byte* body) noexcept;
  Status all_are_through(std::uint64_t round, bool* through) noexcept;
  void find_destination(bool outputs_mapped) noexcept;
  Status gather_sources(int level, std::uint64_t k, const Range& mine) noexcept;
  // A peer's announced buffers: its input in place or copied, and its output.
  Status reach_source(const Line& line, const Chunk& c, const Range& mine, const Range& theirs, std::byte* copy,
                      Source* source, bool* outputs_mapped) noexcept;
  Status fetch(int source, const Published& published, const Chunk& c, const Range& mine, std::byte* to) noexcept;
  Piece piece(std::size_t child, const Chunk& c, std::size_t position) const noexcept;
  Status combine_row(int level, const Chunk& c, const Range& row, std::byte* body, const Range& mine) noexcept;
  void ask_ahead(std::byte* lent, std::size_t next, std::size_t bytes) const noexcept;
  Status combine_block(bool top, std::size_t at, std::size_t count, std::byte* sum) noexcept;
  void deliver(std::size_t in_vector, std::size_t in_part, std::size_t bytes, const std::byte* sum,
               std::byte* body) noexcept;
  Status copy_out(std::uint64_t k) noexcept;
  // Results are written back into the peer's slots. Equal on both ranks.
  bool lends() const noexcept { return ranks_ == 2 && levels_ == 1 && stores_ == Stores::plain; }
  void find_lent(std::uint64_t round) noexcept;

  Collectives& c_;
  Group& g_;
  Task t_;
  const Hierarchy& h_;
  int levels_, me_, ranks_;
  std::size_t size_;
  std::size_t quantum_;  // elements of a cache line, or 1
  Stores stores_;
  StoreMode mode_;
  std::size_t all_ = 0;    // elements of all blocks
  std::size_t block_ = 1;  // elements of a block
  std::size_t chunk_ = 1;  // elements of a whole chunk, of each block
  std::uint64_t chunks_ = 0, first_ = 0;
  bool large_ = false;
  Published published_;
  std::vector<int>& readers_;
  Destination destination_ = Destination::slot;
  // Two ranks: this rank's part of the chunk in the peer's slot; else null.
  std::byte* lent_ = nullptr;
  std::vector<std::byte*>& outputs_;

  std::vector<std::vector<Source>>& sources_;
  std::vector<const std::byte*>& operands_;
};

}  // namespace stretto::node
