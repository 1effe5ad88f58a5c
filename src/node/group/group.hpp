// A rank's group, used by one thread at a time. Ranks exchange lines in rounds (lines.hpp).
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/forks.hpp"
#include "base/guarded.hpp"
#include "base/status.hpp"
#include "node/group/call.hpp"
#include "node/group/exchange.hpp"
#include "node/group/lines.hpp"
#include "node/group/wait.hpp"
#include "node/memory/segment.hpp"

namespace stretto::node {

class WatchedProcess;
struct Peer;

struct GroupOptions {
  std::size_t slot = 128 * 1024;  // bytes, equal on every rank; each rank has kSlots
  int cores = 0;                  // cores for these ranks; 0: all that their processes may use
  int others = 0;                 // other ranks on the cores; may differ between ranks
  Patience patience{0};           // spins 0: spins and `shares` follow from ranks and cores
  Passing passing = Passing::proc_then_socket;
  std::span<const std::int32_t> numbers{};  // of the ranks in messages, borrowed by create(); empty: their own
};

class Group final : private Watch {
 public:
  // Collective over ranks of one node, word size and build.
  static Status create(Exchange& exchange, const GroupOptions& options, std::unique_ptr<Group>* group) noexcept;
  // In place of create(), by a rank that cannot go on: create() fails on the others, with this status. Returns `why`.
  static Status decline(Exchange& exchange, Status why) noexcept;
  ~Group();

  // A second group of the same ranks and segment, whose collectives are ordered independently; made once, without an
  // exchange. Giving up one ends the other's waits. This group outlives it.
  std::unique_ptr<Group> beside() const;

  // Maps the states and lines of a few peers, whose pages each has by now; else the first calls pay a page fault
  // each. Once, after an exchange that follows create(). No effect before Linux 5.14.
  void map_lines_of_peers() noexcept;

  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  std::size_t slot_bytes() const noexcept { return layout_.slot; }
  bool oversubscribed() const noexcept { return oversubscribed_; }
  bool same_process(int peer) const noexcept { return members_[static_cast<std::size_t>(peer)].same_process; }
  std::int32_t process(int peer) const noexcept { return members_[static_cast<std::size_t>(peer)].pid; }
  Patience& patience() noexcept { return patience_; }
  std::vector<Peer> peers() const;

  // After a failure on any rank, enter() returns it. enter_here() is inlined, for small functions.
  Status enter(const CallRecord& call) noexcept;
  Status enter_here(const CallRecord& call) noexcept;
  void leave() noexcept { mine_->returned.store(calls_, std::memory_order_relaxed); }

  // Equal on every rank. Returns the first.
  std::uint64_t rounds(std::uint64_t count) noexcept {
    const std::uint64_t first = next_;
    next_ += count;
    return first;
  }

  // Memory for a round's bytes beyond the line's payload; equal on all ranks. In `mutual` rounds every rank reads all
  // others, so none runs ahead: a few slots, which stay in the innermost caches, serve from a few cache lines on.
  enum class Room : std::uint8_t { small, slot };
  static constexpr Room room_for(std::size_t bytes, bool mutual) noexcept {
    return bytes <= (mutual ? kMutual : kSmall) ? Room::small : Room::slot;
  }

  // Waits until this rank may fill its line and room, which `readers` will read.
  Status open(std::uint64_t round, std::span<const int> readers, Room room) noexcept;
  Line& line(std::uint64_t round) noexcept { return places_[round % kLines].line; }
  std::byte* slot(std::uint64_t round) noexcept { return members_[index_].slots + round % kSlots * layout_.stride(); }
  // Maps [at, at + bytes) of this rank's slot in one system call: page faults take twice as long. Before stores there,
  // with bytes > 0.
  void will_fill(std::uint64_t round, std::size_t at, std::size_t bytes) noexcept {
    const std::uint64_t wanted = layout_.units(at, bytes);
    if ((mapped_[round % kSlots] & wanted) != wanted) [[unlikely]]
      map_slot(round, wanted);
  }
  // The place is in the line if `bytes` fit.
  std::byte* place(std::uint64_t round, Room room, std::size_t bytes) noexcept {
    return room == Room::slot ? slot(round) : within(places_[round % kLines], bytes);
  }
  void publish(std::uint64_t round) noexcept {
    Line& l = line(round);
    l.signature.store(signature_, std::memory_order_relaxed);
    l.number.store(round + 1, std::memory_order_release);
    mine_->bell.ring();
  }

  // Waits for a peer's line. The line and its room are valid until done() is called for the round.
  [[gnu::always_inline]] Status await(int peer, std::uint64_t round, const Line** found) noexcept {
    const Line& l = member(peer).places[round % kLines].line;
    *found = &l;
    if (l.number.load(std::memory_order_acquire) <= round) [[unlikely]] {
      if (const Status s = await_line(peer, l, round); s != Status::ok) return s;
    }
    if (l.signature.load(std::memory_order_relaxed) != signature_) [[unlikely]]
      return differs(peer);
    // A rank that publishes a round is done with all but the previous: frequent rounds need no check of `done`.
    Member& m = member(peer);
    if (m.known_done + 1 < round) m.known_done = round - 1;
    return Status::ok;
  }
  const std::byte* slot(int peer, std::uint64_t round) noexcept {
    return member(peer).slots + round % kSlots * layout_.stride();
  }
  // The peer's slot may be written until this rank's next line.
  std::byte* lent_slot(int peer, std::uint64_t round) noexcept {
    return member(peer).slots + round % kSlots * layout_.stride();
  }
  const std::byte* place(int peer, std::uint64_t round, Room room, std::size_t bytes) noexcept {
    return room == Room::slot ? slot(peer, round) : within(member(peer).places[round % kLines], bytes);
  }

  // This rank reads no round below `rounds` any more. Every rank calls it after each round, even if it read nothing.
  void done(std::uint64_t rounds) noexcept {
    told_done_ = rounds;
    mine_->done.store(Done::word(rounds, Done::token(calls_, signature_)), std::memory_order_release);
    mine_->bell.ring();
  }
  // For rounds without slots: may delay the announcement, which saves transfers of its cache line.
  void done_later(std::uint64_t rounds) noexcept {
    if (rounds - told_done_ >= kLines / 4) done(rounds);
  }
  void done_with(std::uint64_t rounds, Room room) noexcept { room == Room::slot ? done(rounds) : done_later(rounds); }
  Status await_done(std::span<const int> peers, std::uint64_t rounds) noexcept;

  // Access to a peer's exposed memory failed. Before done().
  void tell_refused() noexcept { mine_->refused.store(calls_, std::memory_order_relaxed); }
  // As of the last await_done().
  bool was_refused(int peer) const noexcept { return state(peer).refused.load(std::memory_order_relaxed) == calls_; }

  // Counts an operation outside the group's collectives, ordered with them alike on every rank. A rank that waits for a
  // peer with a higher count gets `incompatible` if the peer does not come.
  void began() noexcept { mine_->began.store(++began_, std::memory_order_release); }

  // One word for all ranks, 0 at first, that their carriers set (Carrier::announce_in).
  std::atomic<std::uint32_t>& messages_sent() const noexcept { return head().sent; }

  bool failed() const noexcept { return head().broken.load(std::memory_order_acquire) != 0; }
  bool differed() const noexcept {
    return differed_ || (head().broken.load(std::memory_order_acquire) == 2 && head().differed != 0);
  }

  // Ends this group on every rank with `why` and this thread's message. Returns `why`.
  Status give_up_all(Status why) noexcept;

  // Returns the result of `work`. If `work` throws, this group ends on every rank.
  template <class Work>
  Status guarded_for_all(const Purpose& purpose, Work&& work) noexcept {
    Status s = Status::ok;
    const Status thrown = guarded(purpose, [&] { s = work(); });
    return thrown == Status::ok ? s : give_up_all(thrown);
  }

 private:
  struct Member {
    std::int32_t pid = 0;
    int number = 0;
    bool same_process = false;
    std::shared_ptr<const WatchedProcess> process;
    Place* places = nullptr;
    std::byte* slots = nullptr;
    std::uint64_t known_done = 0;
    std::uint32_t told = 0;   // Done::token() of known_done
    std::uint64_t given = 0;  // end of this rank's rounds that it may read
  };

  Group() = default;
  struct Introduction;
  void reserve(const Exchange& exchange, const GroupOptions& options);
  Status meet(std::span<const Introduction> all, const GroupOptions& options) noexcept;
  void touch_pages() noexcept;
  void find_rooms(std::size_t lane) noexcept;
  Status check() noexcept override;
  Status give_up(double seconds) noexcept override;
  Status compare(int peer) noexcept;
  Status compare_told(int peer) noexcept;
  Status differs(int peer) noexcept;
  CallRecord called(int rank, std::uint64_t call) const noexcept;
  void remember_bound(const CallRecord& call) noexcept;
  std::uint64_t signature_of(int rank, std::uint64_t call) const noexcept;
  Status broken() noexcept { return broken(head()); }
  static Status broken(const Head& head) noexcept;
  Status refuse_child() noexcept;
  bool is_done(int peer, std::uint64_t rounds) noexcept;
  Status await_done(int peer, std::uint64_t rounds) noexcept;
  Status await_line(int peer, const Line& line, std::uint64_t round) noexcept;
  Status await_room(std::uint64_t round) noexcept;
  Status open_slot(std::uint64_t round, std::span<const int> readers) noexcept;
  void map_slot(std::uint64_t round, std::uint64_t wanted) noexcept;
  std::string whereabouts(int peer, std::uint64_t call) const;
  std::string whereabouts(int peer) const;

  static std::byte* within(Place& p, std::size_t bytes) noexcept { return bytes <= kInline ? p.line.payload : p.small; }
  int number(int rank) const noexcept { return members_[static_cast<std::size_t>(rank)].number; }
  Member& member(int rank) noexcept { return members_[static_cast<std::size_t>(rank)]; }
  State& state(int rank) const noexcept { return reinterpret_cast<State*>(base_ + layout_.states())[rank]; }
  Head& head() const noexcept { return *head_; }

  int rank_ = 0, size_ = 1;
  std::size_t index_ = 0;
  bool oversubscribed_ = false;
  Patience patience_;
  Layout layout_;
  std::shared_ptr<Mapping> segment_;
  std::byte* base_ = nullptr;
  std::vector<Member> members_;
  Head* head_ = nullptr;
  Head* other_ = nullptr;
  State* mine_ = nullptr;
  Place* places_ = nullptr;
  std::uint64_t next_ = 0, calls_ = 0, began_ = 0;
  std::uint64_t open_until_ = 0;  // earlier rounds need no check
  std::uint64_t told_done_ = 0;
  std::uint64_t signature_ = 0x9e3779b97f4a7c15u;
  unsigned generation_ = 0;
  struct Fill {
    std::vector<int> readers;
    std::uint64_t rounds = 0;  // the slot is free when its readers are done with this many
  };
  Fill fills_[kSlots];
  std::uint64_t mapped_[kSlots] = {};  // units of each slot that will_fill() has mapped (Layout::units)
  bool differed_ = false;
  int awaited_ = -1;
};

[[gnu::always_inline]] inline Status Group::enter_here(const CallRecord& call) noexcept {
  if (!is_of_generation(generation_)) [[unlikely]]
    return refuse_child();
  if (head().broken.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return broken();
  ++calls_;
  signature_ = call.signature(signature_);
  State::Called& called = mine_->called[calls_ % kCalls];
  called.kind.store(call.packed(), std::memory_order_relaxed);
  called.bytes.store(call.bytes, std::memory_order_relaxed);
  if (call.bounded()) [[unlikely]]
    remember_bound(call);
  // Release order: a reader that sees this signature also sees the number of the previous call, so it can detect an
  // overwritten entry.
  called.signature.store(signature_, std::memory_order_release);
  mine_->calls.store(calls_, std::memory_order_release);
  return Status::ok;
}

inline Status Group::open(std::uint64_t round, std::span<const int> readers, Room room) noexcept {
  if (round >= open_until_) [[unlikely]] {
    if (const Status s = await_room(round); s != Status::ok) return s;
  }
  for (const int reader : readers) member(reader).given = round + 1;
  return room == Room::slot ? open_slot(round, readers) : Status::ok;
}

}  // namespace stretto::node
