// The ranks of one node, and the rounds in which they meet (lines.hpp).
//
// A Group belongs to one rank (a process, or one thread of it) and is used by one thread at a time. Collectives are written in
// terms of its rounds; they differ only in who fills what and who reads whom.
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
#include "base/status.hpp"
#include "node/group/call.hpp"
#include "node/group/exchange.hpp"
#include "node/group/lines.hpp"
#include "node/group/wait.hpp"
#include "node/memory/segment.hpp"

namespace stretto::node {

class Watched;
struct Peer;

struct GroupOptions {
  std::size_t slot = 128 * 1024;  // bytes of a slot; every rank has kSlots. The same on every rank
  int cores = 0;                  // of this node for these ranks; 0: as many as their processes may use
  int others = 0;                 // ranks beside these that may want the same cores; the same on every rank or not
  Patience patience{0};           // spins 0: that and `shares` are chosen from ranks and cores
  Passing passing = Passing::proc_then_socket;
};

class Group final : private Watch {
 public:
  // Collective over the exchange's ranks, which must all be on one node (and with one machine word and one build of stretto).
  static Status create(Exchange& exchange, const GroupOptions& options, std::unique_ptr<Group>* group) noexcept;
  ~Group();

  // A second group of the same ranks, with collectives in an order of their own: those of one may be in hand while those of the other are.
  // It lies in the same segment, and nothing is exchanged for it. To be made once, before or after any call. Its failure and this one's are
  // told apart, but a wait in either ends when the other is given up. Throws std::bad_alloc. This group outlives it.
  std::unique_ptr<Group> beside() const;

  // Maps the lines of a few peers, whose pages each of them has by now: else the first calls pay for a page fault each.
  // To be called once, after an exchange that follows create(). A kernel before Linux 5.14 does nothing here.
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
  std::vector<Peer> peers() const;  // whose end can be learnt

  // Begins and ends a collective. A group in which a call failed, on any rank, gives that failure from then on. enter_here() is enter() for
  // functions so small that its few dozen instructions are a good part of theirs; in large ones they cost registers.
  Status enter(const CallRecord& call) noexcept;
  Status enter_here(const CallRecord& call) noexcept;
  void leave() noexcept { mine_->returned.store(calls_, std::memory_order_relaxed); }

  // Reserves `count` rounds, the same on every rank, and returns the first.
  std::uint64_t rounds(std::uint64_t count) noexcept {
    const std::uint64_t first = next_;
    next_ += count;
    return first;
  }

  // Where the bytes of a round are, beside what its line carries: the same on all ranks. Where all ranks read all, `mutual`, none is ahead,
  // and more than a few cache lines go through the slots, so few that they stay in the innermost caches.
  enum class Room : std::uint8_t { small, slot };
  static constexpr Room room_for(std::size_t bytes, bool mutual) noexcept {
    return bytes <= (mutual ? kMutual : kSmall) ? Room::small : Room::slot;
  }

  // Waits until this rank's line of the round, with its small room, may be filled, which `readers` will read; and the slot, where that is
  // what the round uses.
  Status open(std::uint64_t round, std::span<const int> readers, Room room) noexcept;
  Line& line(std::uint64_t round) noexcept { return places_[round % kLines].line; }
  std::byte* slot(std::uint64_t round) noexcept { return members_[index_].slots + round % kSlots * layout_.stride(); }
  // Of so many bytes: in the line where they fit that.
  std::byte* place(std::uint64_t round, Room room, std::size_t bytes) noexcept {
    return room == Room::slot ? slot(round) : within(places_[round % kLines], bytes);
  }
  void publish(std::uint64_t round) noexcept {
    Line& l = line(round);
    l.signature.store(signature_, std::memory_order_relaxed);
    l.number.store(round + 1, std::memory_order_release);
    mine_->bell.ring();
  }

  // Waits for the line of a peer. It and its room are valid until done() is called for the round.
  [[gnu::always_inline]] Status await(int peer, std::uint64_t round, const Line** found) noexcept {
    const Line& l = member(peer).places[round % kLines].line;
    *found = &l;
    if (l.number.load(std::memory_order_acquire) <= round) [[unlikely]] {
      if (const Status s = await_line(peer, l, round); s != Status::ok) return s;
    }
    if (l.signature.load(std::memory_order_relaxed) != signature_) [[unlikely]]
      return differs(peer);
    // Who publishes a round has done all rounds but the one before it: so ranks that meet often never look who is done.
    Member& m = member(peer);
    if (m.known_done + 1 < round) m.known_done = round - 1;
    return Status::ok;
  }
  const std::byte* slot(int peer, std::uint64_t round) noexcept {
    return member(peer).slots + round % kSlots * layout_.stride();
  }
  // The same for a peer to write into who has read it, until its line of the next round tells that it has: what comes back where it came from.
  std::byte* lent_slot(int peer, std::uint64_t round) noexcept {
    return member(peer).slots + round % kSlots * layout_.stride();
  }
  const std::byte* place(int peer, std::uint64_t round, Room room, std::size_t bytes) noexcept {
    return room == Room::slot ? slot(peer, round) : within(member(peer).places[round % kLines], bytes);
  }

  // This rank reads nothing of rounds below `rounds` any more. Every rank says so after each round, whether it read or not.
  void done(std::uint64_t rounds) noexcept {
    told_done_ = rounds;
    mine_->done.store(Done::word(rounds, Done::token(calls_, signature_)), std::memory_order_release);
    mine_->bell.ring();
  }
  // The same after a round without slots: peers may learn it some rounds later, which spares them the line that tells it.
  void done_later(std::uint64_t rounds) noexcept {
    if (rounds - told_done_ >= kLines / 4) done(rounds);
  }
  void done_with(std::uint64_t rounds, Room room) noexcept { room == Room::slot ? done(rounds) : done_later(rounds); }
  // Waits until all of `peers` said so.
  Status await_done(std::span<const int> peers, std::uint64_t rounds) noexcept;

  // In this collective this rank was not let at what a peer exposed: told before done().
  void tell_refused() noexcept { mine_->refused.store(calls_, std::memory_order_relaxed); }
  // Whether a peer told so, as far as await_done() has seen it.
  bool was_refused(int peer) const noexcept { return state(peer).refused.load(std::memory_order_relaxed) == calls_; }

  // This rank began something outside the group's collectives, in an order with them that is the same on every rank. A rank that waits for
  // one that began more than itself without coming gets `incompatible`.
  void began() noexcept { mine_->began.store(++began_, std::memory_order_release); }

  // Whether a call failed on any rank, as far as this one knows.
  bool failed() const noexcept { return head().broken.load(std::memory_order_acquire) != 0; }
  // Whether it failed since ranks called different collectives.
  bool differed() const noexcept {
    return differed_ || (head().broken.load(std::memory_order_acquire) == 2 && head().differed != 0);
  }

  // Makes `why` (and this thread's message) the end of this group on every rank; returns it.
  Status give_up_all(Status why) noexcept;

 private:
  struct Member {
    std::int32_t pid = 0;
    bool same_process = false;
    std::shared_ptr<const Watched> process;  // null where nothing tells whether it has ended (watched.hpp)
    Place* places = nullptr;
    std::byte* slots = nullptr;
    std::uint64_t known_done = 0;
    std::uint32_t told = 0;   // Done::token() with it
    std::uint64_t given = 0;  // it reads no round of this rank's from here on, as yet
  };

  Group() = default;
  void reserve(Exchange& exchange);
  struct Introduction;
  Status build(Exchange& exchange, Gathering& gathering, const Introduction& me, const GroupOptions& options) noexcept;
  void find_rooms(std::size_t lane) noexcept;
  Status look() noexcept override;
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
  std::string whereabouts(int peer, std::uint64_t call) const;
  std::string whereabouts(int peer) const;

  static std::byte* within(Place& p, std::size_t bytes) noexcept { return bytes <= kInline ? p.line.payload : p.small; }
  Member& member(int rank) noexcept { return members_[static_cast<std::size_t>(rank)]; }
  State& state(int rank) const noexcept { return reinterpret_cast<State*>(base_ + layout_.states())[rank]; }
  Head& head() const noexcept { return *head_; }

  int rank_ = 0, size_ = 1;
  std::size_t index_ = 0;  // rank_
  bool oversubscribed_ = false;
  Patience patience_;
  Layout layout_;
  std::shared_ptr<Mapping> segment_;
  std::byte* base_ = nullptr;  // of this group in the segment
  std::vector<Member> members_;
  Head* head_ = nullptr;
  Head* other_ = nullptr;  // of the group beside
  State* mine_ = nullptr;
  Place* places_ = nullptr;  // of this rank
  std::uint64_t next_ = 0, calls_ = 0, began_ = 0;
  std::uint64_t open_until_ = 0;                   // lines of rounds below it may be filled without looking who is done
  std::uint64_t told_done_ = 0;                    // what done() said last
  std::uint64_t signature_ = 0x9e3779b97f4a7c15u;  // CallRecord::signature()
  unsigned generation_ = 0;
  struct Fill {
    std::vector<int> readers;
    std::uint64_t rounds = 0;  // all done when they are done with so many
  };
  Fill fills_[kSlots];  // what each slot of this rank holds
  bool differed_ = false;
  int awaited_ = -1;  // whom the wait in progress is for
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
  // Who sees the one sees the number of the call before it, so that a signature which was overwritten is known as such.
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
