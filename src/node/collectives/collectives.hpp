// Collectives of the ranks of one node.
//
// Contracts that all share. The ranks call the same collectives in the same order with the same kind, length, type,
// operation and root. Where they do not, every rank gets `incompatible`, and the message says which rank called what:
// in that call if the rank takes something there, else in a later call (docs/node.md, Waiting). A rank that does not
// come is a `timeout` after the limit. Counts may be zero. Buffers may lie anywhere and are the caller's again on
// return; input and output do not overlap unless in place: `in` null means that the input lies in `out` (as
// MPI_IN_PLACE does; the block of this rank where `out` has one a rank). Types are those of payload::Type; bytes that
// are only moved have none.
//
// Reductions are in a fixed order, so all ranks get the same bytes and a repeated call gives the same bytes again. On
// one level the order is that of ranks, ((x0 + x1) + x2) + ..., whatever the length, the chunks and the memory. On
// several levels the members of each group are added in that order, and groups in the order of their lowest ranks.
// Options::reproducible, Combination::rank_by_rank, and operations that do not commute, use one level.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "node/collectives/combine.hpp"
#include "node/collectives/manners.hpp"
#include "node/collectives/moves.hpp"
#include "node/group/group.hpp"
#include "node/group/hierarchy.hpp"
#include "node/memory/kernels.hpp"
#include "node/memory/memory.hpp"

namespace stretto::node {

struct Options {
  GroupOptions group;
  MemoryOptions memory;
  Hierarchy hierarchy;  // of as many ranks as the exchange has, or of one (the default): one level
  std::vector<std::pair<Collective, Hierarchy>>
      hierarchies;  // of single kinds of reduction, of broadcasts, and of barriers, instead of that one
  bool reproducible = false;
  // Reductions up to so many bytes, of up to kFlat ranks: every rank reads all in one round (at most a slot). The same
  // of reduce, where only the root reads. Unset: 32 KiB shared out among the ranks, and at least 4 KiB. Where ranks
  // share cores, 16 KiB, and 64 KiB of reduce: a wait for another rank's work is there a wait for a core.
  std::optional<std::size_t> eager, eager_reduce;
  std::size_t direct = 16 * 1024;  // from so many bytes a block on, buffers that peers can see are used where they are
  // In allgather, gather, scatter and alltoall, private buffers are copied by the kernel from so many bytes a block on.
  // Broadcasts and reductions are faster by slots, since copies in and out overlap there (docs/node.md).
  std::size_t kernel = 256 * 1024;
};

// What one node's collectives did, to be explained to people.
struct Counters {
  std::uint64_t calls = 0;
  std::uint64_t inlined = 0, eager = 0, pipelined = 0;  // by protocol
  std::uint64_t mapped = 0, copyable = 0, staged = 0;   // of pipelined ones: by this rank's own input
  std::uint64_t lent = 0;     // reductions of two ranks in which the other wrote results into slots of this one
  std::uint64_t refused = 0;  // blocks that were exposed, could not be got at, and came through slots after all
};

class Collectives {
 public:
  // Collective over the exchange's ranks.
  static Status create(Exchange& exchange, const Options& options, std::unique_ptr<Collectives>* made) noexcept;
  ~Collectives();

  // Collectives of the same ranks in an order of their own (Group::beside). Throws std::bad_alloc. These outlive them.
  std::unique_ptr<Collectives> beside() const;

  int rank() const noexcept { return group_->rank(); }
  int size() const noexcept { return group_->size(); }

  Status barrier() noexcept;

  // Whether all ranks gave the same value.
  Status agree(std::uint64_t value, bool* same) noexcept;
  Status bcast(void* data, std::size_t bytes, int root) noexcept;

  // out is written on the root only (and may be null elsewhere). In place: on the root.
  Status reduce(const void* in, void* out, std::size_t count, payload::Type type, const Combination& operation,
                int root) noexcept;
  Status allreduce(const void* in, void* out, std::size_t count, payload::Type type,
                   const Combination& operation) noexcept;
  // `in` holds size() blocks of `count`; out receives block rank(). In place: out holds all blocks, and its first receives.
  Status reduce_scatter(const void* in, void* out, std::size_t count, payload::Type type,
                        const Combination& operation) noexcept;

  // `bytes` is the length of one block.
  Status allgather(const void* in, void* out, std::size_t bytes) noexcept;
  Status gather(const void* in, void* out, std::size_t bytes, int root) noexcept;   // in place: on the root
  Status scatter(const void* in, void* out, std::size_t bytes, int root) noexcept;  // in place: out null on the root
  Status alltoall(const void* in, void* out, std::size_t bytes) noexcept;

  const Memory& memory() const noexcept { return *memory_; }
  Group& group() noexcept { return *group_; }
  const Hierarchy& hierarchy() const noexcept { return options_.hierarchy; }
  const Hierarchy& hierarchy(Collective kind) const noexcept {
    for (const auto& [of, hierarchy] : options_.hierarchies)
      if (of == kind) return hierarchy;
    return options_.hierarchy;
  }
  const Counters& counters() const noexcept { return counters_; }
  // Whether it makes a difference for moves of such blocks who copies private buffers.
  bool copies_differ(std::size_t bytes) const noexcept {
    const auto can = [this](Access a) { return memory_->usable(a); };
    return size() > 1 && bytes >= options_.direct && can(Access::kernel) && !can(Access::process) &&
           !can(Access::xpmem);
  }
  // Uses these from now on, instead of what is measured. The same call on every rank.
  void use(Stores stores) noexcept {
    stores_.fill(stores);
    fixed_stores_ = true;
  }

  static constexpr int kFlat = 8;                  // ranks that one rank reads in turn without minding,
  static constexpr std::size_t kFlatBytes = 4096;  // and bytes of a broadcast that so many read from its root

 private:
  friend class Reduction;
  friend class Transfer;

  Collectives() = default;
  Status prepare(const Exchange& exchange, const Options& options);
  Status reduction(CallRecord call, const void* in, void* out, std::size_t count, payload::Type type,
                   const Combination& operation) noexcept;
  Status eager(const CallRecord& call, const void* in, void* out, std::size_t count, payload::Type type,
               const Combination& operation) noexcept;
  std::size_t eager_limit(Collective kind) const noexcept;
  // Whether so many blocks of a rank are one round of small.cpp. The same on every rank.
  bool small(std::size_t bytes, std::size_t blocks) const noexcept {
    return bytes > 0 && size() > 1 && bytes <= kSmall / std::max<std::size_t>(blocks, 1) && bytes < options_.direct;
  }
  template <class Step>
  Status small_move(const CallRecord& call, std::size_t given, bool mutual, const Step& step) noexcept;
  Status small_bcast(void* data, std::size_t bytes, int root) noexcept;
  Status small_allgather(const void* in, void* out, std::size_t bytes) noexcept;
  Status small_gather(const void* in, void* out, std::size_t bytes, int root) noexcept;
  Status small_scatter(const void* in, void* out, std::size_t bytes, int root) noexcept;
  Status small_alltoall(const void* in, void* out, std::size_t bytes) noexcept;
  template <class Describe>
  Status move(const CallRecord& call, const Describe& describe) noexcept;
  Status finish_call(Status s) noexcept;
  // What stores are chosen for. Moves: also reduce-scatters, and outputs of others that are stored to.
  enum class Use : std::uint8_t { moves, allreduce, reduce };
  static constexpr std::size_t index(Use use) noexcept { return static_cast<std::size_t>(use); }
  static constexpr std::size_t kUses = 3;
  Stores stores(Use use) const noexcept { return stores_[index(use)]; }
  // Microseconds that a rank spent on the best trial with such stores.
  struct Spent {
    double plain = 1e30, streaming = 1e30;
    void least(Stores stores, double spent) noexcept {
      double& best = stores == Stores::plain ? plain : streaming;
      best = std::min(best, spent);
    }
  };
  Status try_when_due(Use use, std::size_t bytes) noexcept;
  Status try_moves() noexcept;
  Status try_reductions(Use use) noexcept;
  Status agree_on_stores(const Spent& mine, Use use) noexcept;
  // Of reductions of such a length in memory that is seen; null where nothing is tried.
  Manners* manners(Collective kind, std::size_t bytes) noexcept {
    if (fixed_stores_ || group_->oversubscribed()) return nullptr;
    const std::size_t use = kind == Collective::reduce ? 0 : kind == Collective::allreduce ? 1 : 2;
    const auto length = static_cast<std::size_t>(std::bit_width(bytes >> 14));
    return &manners_[use][std::min(length, kLengths - 1)];
  }
  std::byte* scratch(std::size_t bytes);
  // Of what a peer left: in the caches of another core, unless ranks share cores.
  void copy_from_peer(void* to, const void* from, std::size_t bytes, Stores stores) const noexcept {
    (group_->oversubscribed() ? copy : copy_theirs)(to, from, bytes, stores);
  }
  // Where a peer read last, or wrote.
  void copy_to_peer(void* to, const void* from, std::size_t bytes, Stores stores) const noexcept {
    (group_->oversubscribed() ? copy : copy_to_theirs)(to, from, bytes, stores);
  }

  // Bytes between two trials of stores: tens of milliseconds at least. The first trial comes sooner, but not so soon that a
  // program's first calls wait for it.
  static constexpr std::uint64_t kTryEvery = std::uint64_t{256} << 20, kTryFirst = std::uint64_t{32} << 20;

  Options options_;
  std::unique_ptr<Group> group_;
  std::unique_ptr<Memory> memory_;
  Hierarchy one_level_;
  std::vector<int> others_;  // all ranks but this one
  std::vector<std::byte> scratch_;
  Moves moves_;                 // of the call in hand
  Operands operands_;           // the same, of the reduction in hand
  std::vector<int> offspring_;  // in the tree of the last broadcast
  int offspring_root_ = -1, offspring_levels_ = 0;
  std::array<Stores, kUses> stores_{};  // plain, until they are tried
  bool fixed_stores_ = false;
  std::array<std::uint64_t, kUses> until_tried_{kTryFirst, kTryFirst, kTryFirst};  // bytes
  static constexpr std::size_t kLengths = 16;                                      // powers of two, from 16 KiB
  std::array<std::array<Manners, kLengths>, 3> manners_;  // of reduce, allreduce, reduce_scatter
  Counters counters_;
};

}  // namespace stretto::node
