#include "node/group/group.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/guarded.hpp"
#include "base/peers.hpp"
#include "node/group/watched.hpp"

namespace stretto::node {
namespace {

std::uint64_t pid_namespace() noexcept {
  char text[64] = "";
  const ssize_t n = readlink("/proc/self/ns/pid", text, sizeof text - 1);
  std::uint64_t hash = 1469598103934665603u;
  for (ssize_t i = 0; i < n; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 1099511628211u;
  return hash;
}

// madvise(2), Linux 5.14; older headers lack them.
constexpr int kPopulateRead = 22, kPopulateWrite = 23;

// `at` begins a page. Does nothing without kernel support or memory.
void populate(void* at, std::size_t bytes, int how) noexcept {
  const int saved = errno;
  static_cast<void>(madvise(at, bytes, how));
  errno = saved;
}

}  // namespace

struct Group::Introduction {
  SegmentOffer segment;
  std::int32_t pid = getpid();
  std::int32_t reserved = 0;
  std::uint64_t pid_namespace = 0;
  std::uint64_t slot = 0;
  CoreSet cores;

  void fill(const GroupOptions& options) noexcept {
    pid_namespace = node::pid_namespace();
    slot = options.slot;
    cores.find();
  }
};

Status Group::create(Exchange& exchange, const GroupOptions& options, std::unique_ptr<Group>* group) noexcept {
  const std::size_t least = std::max<std::size_t>(4096, kLine * 4 * static_cast<std::size_t>(exchange.size()));
  Status status = Status::ok;
  if (options.slot < least || options.slot % kLine != 0)
    status = fail(Status::invalid_argument, "a slot of {} bytes: it takes a multiple of {}, {} at least for {} ranks",
                  options.slot, kLine, least, exchange.size());
  std::unique_ptr<Group> made;
  if (status == Status::ok)
    status = guarded({"for a group of {} ranks", exchange.size()}, [&] {
      made.reset(new Group);
      made->reserve(exchange, options);
    });
  Introduction me;
  SegmentMaker segment;
  if (status == Status::ok) status = segment.offer(exchange, kLanes * made->layout_.bytes(), &me.segment);
  me.fill(options);
  std::span<const Introduction> all;
  if (status = exchange.step(status, me, &all); status != Status::ok) return status;
  if (status = made->meet(all, options); status != Status::ok) return status;
  status = segment.map(exchange, all.front().segment, options.passing, &made->segment_);
  if (status != Status::ok) return status;
  made->touch_pages();
  *group = std::move(made);
  return Status::ok;
}

Status Group::decline(Exchange& exchange, Status why) noexcept {
  std::span<const Introduction> all;
  return exchange.step(why, Introduction(), &all);
}

// Peers may wait for a call that this rank does not make. A rank that called nothing may have failed to make the group,
// which peers learn from their exchange. A forked child's copy is no rank.
Group::~Group() {
  if (mine_ == nullptr || calls_ == 0 || !is_of_generation(generation_)) return;
  mine_->freed.store(1, std::memory_order_release);
  mine_->bell.wake();
}

void Group::reserve(const Exchange& exchange, const GroupOptions& options) {
  rank_ = exchange.rank();
  index_ = static_cast<std::size_t>(rank_);
  size_ = exchange.size();
  members_.resize(static_cast<std::size_t>(size_));
  layout_ = {members_.size(), options.slot};
  generation_ = fork_generation();
  for (Fill& fill : fills_) fill.readers.reserve(members_.size());
}

// Fails on every rank, or on none.
Status Group::meet(std::span<const Introduction> all, const GroupOptions& options) noexcept {
  Bell::prepare();
  const Introduction& me = all[index_];
  CoreSet cores = me.cores;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].slot != me.slot)
      return fail(Status::incompatible, "slots of {} bytes on rank {}, {} on rank {}", all[r].slot, r, me.slot, rank_);
    const bool same_namespace = all[r].pid_namespace == me.pid_namespace;
    cores.join(all[r].cores);
    members_[r].pid = all[r].pid;
    members_[r].number = options.numbers.empty() ? static_cast<int>(r) : options.numbers[r];
    members_[r].same_process = all[r].segment.process == me.segment.process;
    if (same_namespace) add_peer(all[r].pid);
    if (same_namespace && !members_[r].same_process)
      members_[r].process = watch_process(all[r].pid, all[r].segment.process);
  }
  patience_ = options.patience;
  const int usable = options.cores > 0 ? options.cores : cores.count();
  oversubscribed_ = size_ > usable;
  if (patience_.spins == 0) {
    // Bound ranks leave the node's other cores to other processes.
    const bool bound = cores.count() > me.cores.count();
    const auto room = bound ? static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) : usable;
    const bool shared = oversubscribed_ || size_ + options.others > room;
    patience_.spins = spins_for(shared);
    patience_.shares = shared;
  }
  return Status::ok;
}

// This rank's first touch places the pages. Ranks that touch one new page at once wait for each other, asleep, so each
// page of states has one rank.
void Group::touch_pages() noexcept {
  find_rooms(0);
  const Pages states = layout_.states_of(index_);
  populate(base_ + states.at, states.bytes, kPopulateWrite);
  populate(places_, kLines * sizeof(Place), kPopulateWrite);
  for (std::size_t i = 0; i < kSlots; ++i) will_fill(i, 0, 1);
}

void Group::map_slot(std::uint64_t round, std::uint64_t wanted) noexcept {
  std::uint64_t& mapped = mapped_[round % kSlots];
  const std::uint64_t fresh = wanted & ~mapped;
  const auto first = static_cast<std::size_t>(std::countr_zero(fresh));
  const auto end = static_cast<std::size_t>(64 - std::countl_zero(fresh));
  const std::size_t at = first * layout_.unit();
  populate(slot(round) + at, std::min(end * layout_.unit(), layout_.stride()) - at, kPopulateWrite);
  mapped |= wanted;
}

void Group::map_lines_of_peers() noexcept {
  constexpr int few = 8;
  if (size_ > few) return;
  populate(base_, layout_.places(0), kPopulateRead);
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_) populate(member(peer).places, kLines * sizeof(Place), kPopulateRead);
}

std::unique_ptr<Group> Group::beside() const {
  std::unique_ptr<Group> made(new Group);
  made->rank_ = rank_;
  made->index_ = index_;
  made->size_ = size_;
  made->oversubscribed_ = oversubscribed_;
  made->patience_ = patience_;
  made->layout_ = layout_;
  made->segment_ = segment_;
  made->generation_ = generation_;
  made->members_.resize(members_.size());
  for (std::size_t r = 0; r < members_.size(); ++r) {
    made->members_[r].pid = members_[r].pid;
    made->members_[r].number = members_[r].number;
    made->members_[r].same_process = members_[r].same_process;
    made->members_[r].process = members_[r].process;
  }
  for (Fill& fill : made->fills_) fill.readers.reserve(members_.size());
  made->find_rooms(1);
  return made;
}

void Group::find_rooms(std::size_t lane) noexcept {
  std::byte* const base = base_ = segment_->data() + lane * layout_.bytes();
  other_ = reinterpret_cast<Head*>(segment_->data() + (lane ^ 1) * layout_.bytes());
  for (std::size_t r = 0; r < members_.size(); ++r) {
    members_[r].places = reinterpret_cast<Place*>(base + layout_.places(r));
    members_[r].slots = base + layout_.slots(r);
  }
  head_ = reinterpret_cast<Head*>(base);
  mine_ = &state(rank_);
  patience_.own = &mine_->bell;
  places_ = member(rank_).places;
}

bool Group::is_done(int peer, std::uint64_t rounds) noexcept {
  Member& m = member(peer);
  // A line may have reported more rounds (await).
  const std::uint64_t word = state(peer).done.load(std::memory_order_acquire);
  m.known_done = std::max(m.known_done, Done::rounds_of(word, next_));
  m.told = Done::token_of(word);
  return m.known_done >= rounds;
}

Status Group::await_done(int peer, std::uint64_t rounds) noexcept {
  if (member(peer).known_done >= rounds) return Status::ok;
  if (!is_done(peer, rounds)) {
    awaited_ = peer;
    const Status s = wait(patience_, *this, state(peer).bell, [&] { return is_done(peer, rounds); });
    if (s != Status::ok) return give_up_all(s);
  }
  return compare_told(peer);
}

Status Group::await_done(std::span<const int> peers, std::uint64_t rounds) noexcept {
  for (const int peer : peers) {
    if (const Status s = await_done(peer, rounds); s != Status::ok) return s;
  }
  return Status::ok;
}

// A peer must be done with the line's previous contents, kLines rounds ago, or with all its readable rounds if those
// are fewer. Its progress bounds the rounds that need no further check: kLines ahead of a peer that still has to read,
// else the whole ring. No deadlock: a slow peer reports its progress at least every kLines / 4 rounds (done_later), and
// waits only for earlier rounds.
Status Group::await_room(std::uint64_t round) noexcept {
  const std::uint64_t last = round < kLines ? 0 : round - kLines + 1;
  std::uint64_t until = round + kLines;
  for (int peer = 0; peer < size_; ++peer) {
    const Member& m = member(peer);
    if (const Status s = await_done(peer, std::min(m.given, last)); s != Status::ok) return s;
    if (m.known_done < m.given) until = std::min(until, m.known_done + kLines);
  }
  open_until_ = until;
  return Status::ok;
}

Status Group::open_slot(std::uint64_t round, std::span<const int> readers) noexcept {
  Fill& last = fills_[round % kSlots];
  if (const Status s = await_done(last.readers, last.rounds); s != Status::ok) return s;
  last.readers.assign(readers.begin(), readers.end());
  last.rounds = round + 1;
  return Status::ok;
}

Status Group::await_line(int peer, const Line& line, std::uint64_t round) noexcept {
  awaited_ = peer;
  const Status s =
      wait(patience_, *this, state(peer).bell, [&] { return line.number.load(std::memory_order_acquire) > round; });
  return s == Status::ok ? s : give_up_all(s);
}

}  // namespace stretto::node
