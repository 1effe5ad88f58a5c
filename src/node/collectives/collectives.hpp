// Collectives of the ranks of one node.
//
// All ranks call the same collectives in the same order, with the same kind, length, type, operation and root.
// Otherwise every rank gets `incompatible`, with a message naming ranks and calls. A rank that receives data gets it in
// that call, another in a later call (docs/node.md, Waiting). A missing rank is a `timeout` after the limit. Counts may
// be zero. Buffers belong to the caller again on return. Input and output do not overlap, unless `in` is null: the
// input then lies in `out`, as with MPI_IN_PLACE (in this rank's block if `out` has a block per rank). Moved bytes have
// no type.
//
// Reductions have a fixed order: all ranks get the same bytes, and so does a repeated call. On one level the order is
// that of ranks, ((x0 + x1) + x2) + ..., for any length, chunk and kind of memory. On several levels the members of
// each group are added in rank order, and groups in the order of their lowest ranks. Options::reproducible,
// Combination::rank_by_rank and non-commutative operations use one level.
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
#include "node/collectives/moves.hpp"
#include "node/collectives/store_tuner.hpp"
#include "node/group/group.hpp"
#include "node/hierarchy/hierarchy.hpp"
#include "node/memory/kernels.hpp"
#include "node/memory/memory.hpp"
#include "node/tree/passed_on.hpp"

namespace stretto::node {

// Bytes of a slot for ranks with processes of their own (docs/node.md, "What makes copies fast"). Chunks of a long
// reduction fill slots, and each costs two waits. More ranks have smaller slots, so that a round's data stay in the
// caches.
constexpr std::size_t slot_for(int ranks) noexcept {
  constexpr std::size_t least = 128 * 1024, most = 1024 * 1024;
  return std::clamp(2 * most / static_cast<std::size_t>(std::max(ranks, 1)) / kLine * kLine, least, most);
}

struct Options {
  GroupOptions group;
  MemoryOptions memory;
  Hierarchy hierarchy;                                        // one rank (the default): one level
  std::vector<std::pair<Collective, Hierarchy>> hierarchies;  // of single kinds of reduction, broadcasts and barriers
  bool reproducible = false;
  // Reductions up to this many bytes, of up to kFlat ranks, are eager: every rank reads all inputs in one round (at
  // most a slot). eager_reduce: for reduce, where only the root reads. Unset: 32 KiB divided by the ranks, at least 4
  // KiB. Oversubscribed: 16 KiB, and 64 KiB for reduce, since waiting for a rank means waiting for a core.
  std::optional<std::size_t> eager, eager_reduce;
  std::size_t direct = 16 * 1024;  // bytes of a block from which visible buffers are used in place
  // Block length from which the kernel copies private buffers in allgather, gather, scatter and alltoall.
  std::size_t kernel = 256 * 1024;
};

struct Counters {
  std::uint64_t calls = 0;
  std::uint64_t inlined = 0, eager = 0, pipelined = 0;
  std::uint64_t mapped = 0, copyable = 0, staged = 0;
  std::uint64_t lent = 0;     // reductions of two ranks with results in the peer's slots
  std::uint64_t refused = 0;  // exposed blocks that came through slots
};

struct TreeTask;

class Collectives {
 public:
  static Status create(Exchange& exchange, const Options& options, std::unique_ptr<Collectives>* made) noexcept;
  ~Collectives();

  // Group::beside(). This object outlives it.
  std::unique_ptr<Collectives> beside() const;

  int rank() const noexcept { return group_->rank(); }
  int size() const noexcept { return group_->size(); }

  Status barrier() noexcept;

  Status agree(std::uint64_t value, bool* same) noexcept;
  Status agree(std::uint64_t value, bool* same, std::uint64_t other, bool* same_other) noexcept;
  Status bcast(void* data, std::size_t bytes, int root) noexcept;

  // Only the root writes `out`, perhaps null elsewhere. In place: on the root.
  Status reduce(const void* in, void* out, std::size_t count, payload::Type type, const Combination& operation,
                int root) noexcept;
  Status allreduce(const void* in, void* out, std::size_t count, payload::Type type,
                   const Combination& operation) noexcept;
  // `in` holds size() blocks of `count`; `out` receives block rank(). In place: `out` holds all blocks, and the result
  // replaces the first.
  Status reduce_scatter(const void* in, void* out, std::size_t count, payload::Type type,
                        const Combination& operation) noexcept;

  // `bytes`: of one block.
  Status allgather(const void* in, void* out, std::size_t bytes) noexcept;
  Status gather(const void* in, void* out, std::size_t bytes, int root) noexcept;   // in place: on the root
  Status scatter(const void* in, void* out, std::size_t bytes, int root) noexcept;  // in place: out null on the root
  Status alltoall(const void* in, void* out, std::size_t bytes) noexcept;

  Status tree(const TreeTask& task) noexcept;

  const Memory& memory() const noexcept { return *memory_; }
  Memory& memory() noexcept { return *memory_; }
  Group& group() noexcept { return *group_; }
  const Hierarchy& hierarchy() const noexcept { return options_.hierarchy; }
  const Hierarchy& hierarchy(Collective kind) const noexcept {
    for (const auto& [of, hierarchy] : options_.hierarchies)
      if (of == kind) return hierarchy;
    return options_.hierarchy;
  }
  const Counters& counters() const noexcept { return counters_; }
  // The kernel can copy private buffers of this size, and no cheaper access exists.
  bool copies_differ(std::size_t bytes) const noexcept {
    const auto can = [this](Access a) { return memory_->usable(a); };
    return size() > 1 && bytes >= options_.direct && can(Access::kernel) && !can(Access::process) &&
           !can(Access::xpmem);
  }
  void use(Stores stores) noexcept {
    stores_.fill(stores);
    fixed_stores_ = true;
  }

  static constexpr int kFlat = 8;                  // ranks whose data one rank reads in turn
  static constexpr std::size_t kFlatBytes = 4096;  // bytes of a broadcast to up to kFlat ranks without a tree

 private:
  friend class Reduction;
  friend class Transfer;
  friend class Tree;

  Collectives() = default;
  Status prepare(const Exchange& exchange, const Options& options);
  Status reduction(CallRecord call, const void* in, void* out, std::size_t count, payload::Type type,
                   const Combination& operation) noexcept;
  Status eager(const CallRecord& call, const void* in, void* out, std::size_t count, payload::Type type,
               const Combination& operation) noexcept;
  std::size_t eager_limit(Collective kind) const noexcept;
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
  // `moves` includes stores into other ranks' outputs and, where each rank has a core, reduce-scatters.
  enum class Use : std::uint8_t { moves, allreduce, reduce };
  static constexpr std::size_t index(Use use) noexcept { return static_cast<std::size_t>(use); }
  static constexpr std::size_t kUses = 3;
  Stores stores(Use use) const noexcept { return stores_[index(use)]; }
  // Microseconds of a rank's best trial.
  struct TrialTimes {
    double plain = 1e30, streaming = 1e30;
    void least(Stores stores, double spent) noexcept {
      double& best = stores == Stores::plain ? plain : streaming;
      best = std::min(best, spent);
    }
  };
  Status try_when_due(Use use, std::size_t bytes) noexcept;
  Status try_moves() noexcept;
  Status try_reductions(Use use) noexcept;
  Status agree_on_stores(const TrialTimes& mine, Use use) noexcept;
  StoreTuner* store_tuner(Collective kind, std::size_t bytes) noexcept {
    if (fixed_stores_ || group_->oversubscribed()) return nullptr;
    const std::size_t use = kind == Collective::reduce ? 0 : kind == Collective::allreduce ? 1 : 2;
    const auto length = static_cast<std::size_t>(std::bit_width(bytes >> 14));
    return &store_tuners_[use][std::min(length, kLengths - 1)];
  }
  std::byte* scratch(std::size_t bytes);
  // Bytes of a slot that a call may use, equal on every rank. A new page costs ten times the copy of its data, so the
  // first calls use few, and none uses more than pays. Ranks that share cores get kSharedRoom at once and no more: a
  // round costs them more than a page does.
  std::size_t room_of_slots(std::size_t bytes) noexcept {
    const bool shared = group_->oversubscribed();
    const std::size_t enough = shared ? kSharedRoom : std::max(kEnoughRoom, bytes / kCallPerRoom);
    const std::size_t all = std::min({group_->slot_bytes(), enough, most_room_});
    if (carried_ < all) carried_ += bytes / kCallPerNewRoom;
    const std::size_t least = shared ? kSharedRoom : kLeastRoom;
    return std::min(group_->slot_bytes(),
                    std::max({std::min(carried_, all), least, kLeastOfARank * static_cast<std::size_t>(size())}));
  }
  // From another core's caches, unless ranks share cores.
  void copy_from_peer(void* to, const void* from, std::size_t bytes, Stores stores) const noexcept {
    (group_->oversubscribed() ? copy : copy_theirs)(to, from, bytes, stores);
  }
  // A slot that streaming stores `filled` is in no cache.
  void copy_from_slot(void* to, const void* from, std::size_t bytes, Stores stores, Stores filled) const noexcept {
    (group_->oversubscribed() && filled == Stores::plain ? copy : copy_theirs)(to, from, bytes, stores);
  }
  void copy_to_peer(void* to, const void* from, std::size_t bytes, Stores stores) const noexcept {
    (group_->oversubscribed() ? copy : copy_to_theirs)(to, from, bytes, stores);
  }

  // Bytes between two trials of stores, at least tens of milliseconds. A program's first calls have none.
  static constexpr std::uint64_t kTryEvery = std::uint64_t{256} << 20, kTryFirst = std::uint64_t{32} << 20;
  // A trial of ranks that share cores takes ten times as long.
  static constexpr std::uint64_t kTryEveryShared = std::uint64_t{1} << 30;

  // Limits of room_of_slots(): in each of the four slots a call uses at most a sixteenth of its bytes where that is
  // more than kEnoughRoom, and at most a sixty-fourth more than earlier calls did. Rooms below the other two limits
  // would take many rounds.
  static constexpr std::size_t kCallPerRoom = 16, kCallPerNewRoom = 64, kEnoughRoom = 64 * 1024;
  static constexpr std::size_t kLeastRoom = 32 * 1024, kLeastOfARank = 2 * 1024;
  static constexpr std::size_t kSharedRoom = 128 * 1024;
  // A started reduction does a chunk in one step, between which its driver does other work.
  static constexpr std::size_t kStartedRoom = 128 * 1024;

  Options options_;
  std::unique_ptr<Group> group_;
  std::unique_ptr<Memory> memory_;
  Hierarchy one_level_;
  std::vector<int> others_;
  std::vector<std::byte> scratch_;
  std::size_t carried_ = 0;  // room_of_slots(): bytes of all calls so far over kCallPerNewRoom
  std::size_t most_room_ = std::size_t(-1);
  Moves moves_;
  Operands operands_;
  PassedOn passed_on_;
  std::vector<int> offspring_;  // children in the last broadcast's tree
  int offspring_root_ = -1, offspring_levels_ = 0;
  std::array<Stores, kUses> stores_{};
  bool fixed_stores_ = false;
  std::array<std::uint64_t, kUses> until_tried_{kTryFirst, kTryFirst, kTryFirst};  // bytes
  static constexpr std::size_t kLengths = 16;                                      // powers of two, from 16 KiB
  std::array<std::array<StoreTuner, kLengths>, 3> store_tuners_;  // of reduce, allreduce, reduce_scatter
  Counters counters_;
};

}  // namespace stretto::node
