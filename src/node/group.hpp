// The ranks of one node, and the rounds in which they meet (lines.hpp).
//
// A Group belongs to one rank (a process, or one thread of it) and is used by one thread at a time. Collectives are written in
// terms of its rounds; they differ only in who fills what and who reads whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "node/exchange.hpp"
#include "node/lines.hpp"
#include "node/segment.hpp"
#include "node/wait.hpp"

namespace stretto::node {

enum class Kind : std::uint8_t {
  barrier,
  bcast,
  reduce,
  allreduce,
  allgather,
  reduce_scatter,
  gather,
  scatter,
  alltoall,
  agreement,
};
const char* name(Kind k) noexcept;

// A collective, as far as all ranks must agree on it.
struct Call {
  Kind kind = Kind::barrier;
  std::uint8_t type = 0, op = 0;  // payload::Type, payload::Op where it combines
  std::int32_t root = 0;
  std::uint64_t bytes = 0;  // of the vector, or of each block
  double eps = 0;           // of streams; 0: values travel as they are
  double magnitude = 0;     // payload::Spec, with eps

  std::uint64_t packed() const noexcept;
  std::string text() const;
  static Call unpack(std::uint64_t packed, std::uint64_t bytes, double eps) noexcept;
};

struct GroupOptions {
  std::size_t slot = 128 * 1024;  // bytes of a slot; every rank has kSlots. The same on every rank
  int cores = 0;                  // of this node for these ranks; 0: as many as their processes may use
  Patience patience{0};           // spins 0: chosen from ranks and cores
  Passing passing = Passing::proc_then_socket;
};

class Group final : private Watch {
 public:
  // Collective over the exchange's ranks, which must all be on one node (and with one machine word and one build of stretto).
  static Status create(Exchange& exchange, const GroupOptions& options, std::unique_ptr<Group>* group) noexcept;
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  std::size_t slot_bytes() const noexcept { return layout_.slot; }
  bool oversubscribed() const noexcept { return oversubscribed_; }
  bool same_process(int peer) const noexcept { return members_[static_cast<std::size_t>(peer)].same_process; }
  std::int32_t process(int peer) const noexcept { return members_[static_cast<std::size_t>(peer)].pid; }
  Patience& patience() noexcept { return patience_; }

  // Begins and ends a collective. A group in which a call failed, on any rank, gives that failure from then on.
  Status enter(const Call& call) noexcept;
  void leave() noexcept { mine_->returned.store(calls_, std::memory_order_relaxed); }

  // Reserves `count` rounds, the same on every rank, and returns the first.
  std::uint64_t rounds(std::uint64_t count) noexcept {
    const std::uint64_t first = next_;
    next_ += count;
    return first;
  }

  // Waits until this rank's slot of the round may be filled, which `readers` will read.
  Status open(std::uint64_t round, std::span<const int> readers) noexcept;
  Line& line(std::uint64_t round) noexcept { return line_of(rank_, round); }
  void publish(std::uint64_t round) noexcept {
    Line& l = line(round);
    l.signature = signature_;
    l.number.store(round + 1, std::memory_order_release);
  }

  // Waits for the slot of a peer. *found is valid until done() is called for the round.
  Status await(int peer, std::uint64_t round, const Line** found) noexcept;

  // This rank reads no slot of rounds below `rounds` any more.
  void done(std::uint64_t rounds) noexcept { mine_->done.store(rounds, std::memory_order_release); }
  // Waits until all of `peers` said so.
  Status await_done(std::span<const int> peers, std::uint64_t rounds) noexcept;

  // This rank began something outside the group's collectives, in an order with them that is the same on every rank. A rank that waits for
  // one that began more than itself without coming gets `incompatible`.
  void began() noexcept { mine_->began.store(++began_, std::memory_order_release); }

  // Whether a call failed on any rank, as far as this one knows.
  bool failed() const noexcept { return head().broken.load(std::memory_order_acquire) != 0; }

  // Makes `why` (and this thread's message) the end of this group on every rank; returns it.
  Status give_up_all(Status why) noexcept;

 private:
  struct Member {
    std::int32_t pid = 0;
    bool same_process = false;
    std::shared_ptr<const Descriptor> process;  // readable when it has ended; null where nothing tells (watched.hpp)
    std::uint64_t known_done = 0;
  };

  Group() = default;
  void reserve(Exchange& exchange);
  Status build(Exchange& exchange, Gathering& gathering, const GroupOptions& options) noexcept;
  Status look() noexcept override;
  Status give_up(double seconds) noexcept override;
  Status differs(int peer) noexcept;
  Status broken() noexcept;
  bool is_done(int peer, std::uint64_t rounds) noexcept;
  std::string whereabouts(int peer) const;

  Line& line_of(int rank, std::uint64_t round) noexcept {
    return *reinterpret_cast<Line*>(segment_->data() + layout_.line(static_cast<std::size_t>(rank), round));
  }
  State& state(int rank) const noexcept { return reinterpret_cast<State*>(segment_->data() + layout_.states())[rank]; }
  Head& head() const noexcept { return *reinterpret_cast<Head*>(segment_->data()); }

  int rank_ = 0, size_ = 1;
  bool oversubscribed_ = false;
  Patience patience_;
  Layout layout_;
  std::shared_ptr<Mapping> segment_;
  std::vector<Member> members_;
  State* mine_ = nullptr;
  std::uint64_t next_ = 0, calls_ = 0, began_ = 0;
  std::uint32_t signature_ = 0;
  Call call_;
  unsigned generation_ = 0;
  struct Fill {
    std::vector<int> readers;
    std::uint64_t rounds = 0;  // all done when they are done with so many
  };
  Fill fills_[kSlots];  // what each slot of this rank holds
  int awaited_ = -1;    // whom the wait in progress is for
};

}  // namespace stretto::node
