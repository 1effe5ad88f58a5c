#include "node/group.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "node/watched.hpp"

namespace stretto::node {
namespace {

// What a rank tells of itself when a group is made.
struct Introduction {
  Token process = process_token();
  std::int32_t pid = getpid();
  std::int32_t reserved = 0;
  std::uint64_t pid_namespace = 0;
  std::uint64_t slot = 0;
  cpu_set_t cores;
};

std::uint64_t pid_namespace() noexcept {
  char text[64] = "";
  const ssize_t n = readlink("/proc/self/ns/pid", text, sizeof text - 1);
  std::uint64_t hash = 1469598103934665603u;
  for (ssize_t i = 0; i < n; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 1099511628211u;
  return hash;
}

Introduction introduce(const GroupOptions& options) noexcept {
  Introduction me;
  me.pid_namespace = pid_namespace();
  me.slot = options.slot;
  CPU_ZERO(&me.cores);
  sched_getaffinity(0, sizeof me.cores, &me.cores);
  return me;
}

}  // namespace

// What can fail on one rank alone comes before the ranks meet, or is agreed: nobody waits for a rank that is gone.
Status Group::create(Exchange& exchange, const GroupOptions& options, std::unique_ptr<Group>* group) noexcept {
  const std::size_t least = std::max<std::size_t>(4096, kLine * 4 * static_cast<std::size_t>(exchange.size()));
  Status status = Status::ok;
  if (options.slot < least || options.slot % kLine != 0)
    status = fail(Status::invalid_argument, "a slot of {} bytes: it takes a multiple of {}, {} at least for {} ranks",
                  options.slot, kLine, least, exchange.size());
  std::unique_ptr<Group> made;
  Gathering gathering;
  try {
    gathering.reserve(exchange.size());
    made.reset(new Group);
    made->reserve(exchange);
  } catch (const std::bad_alloc&) {
    status = fail(Status::out_of_memory, "no memory for a group of {} ranks", exchange.size());
  }
  if (status = agree(exchange, status); status != Status::ok) return status;
  if (status = made->build(exchange, gathering, options); status != Status::ok) return status;
  *group = std::move(made);
  return Status::ok;
}

Group::~Group() = default;

void Group::reserve(Exchange& exchange) {
  rank_ = exchange.rank();
  size_ = exchange.size();
  members_.resize(static_cast<std::size_t>(size_));
  for (Fill& fill : fills_) fill.readers.reserve(members_.size());
}

Status Group::build(Exchange& exchange, Gathering& gathering, const GroupOptions& options) noexcept {
  generation_ = fork_generation();
  std::span<const Introduction> all;
  if (const Status s = gathering(exchange, introduce(options), &all); s != Status::ok) return s;
  const Introduction& me = all[static_cast<std::size_t>(rank_)];
  cpu_set_t cores;
  CPU_ZERO(&cores);
  Status status = Status::ok;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].slot != me.slot)
      status =
          fail(Status::incompatible, "slots of {} bytes on rank {}, {} on rank {}", all[r].slot, r, me.slot, rank_);
    CPU_OR(&cores, &cores, &all[r].cores);
    members_[r].pid = all[r].pid;
    members_[r].same_process = all[r].process == me.process;
    if (!members_[r].same_process && all[r].pid_namespace == me.pid_namespace)
      members_[r].process = watch_process(all[r].pid, all[r].process);
  }
  if (status = agree(exchange, status); status != Status::ok) return status;
  patience_ = options.patience;
  const int usable = options.cores > 0 ? options.cores : CPU_COUNT(&cores);
  oversubscribed_ = size_ > usable;
  if (patience_.spins == 0) patience_.spins = spins_for(size_, usable);

  layout_ = {members_.size(), options.slot};
  if (status = make_segment(exchange, layout_.bytes(), options.passing, &segment_); status != Status::ok) return status;
  mine_ = &state(rank_);
  return Status::ok;
}

Status Group::enter(const Call& call) noexcept {
  if (generation_ != fork_generation())
    return fail(Status::unsupported, "a group of ranks was used in a forked child of the process that made it");
  if (head().broken.load(std::memory_order_relaxed) != 0) return broken();
  call_ = call;
  ++calls_;
  const std::uint64_t packed = call.packed();
  std::uint64_t hash = (packed ^ calls_ * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 31) ^ call.bytes) * 0x94d049bb133111ebu;
  const auto eps = std::bit_cast<std::uint64_t>(call.eps);
  if (eps != 0)
    hash =
        (hash ^ (hash >> 29) ^ eps ^ std::rotl(std::bit_cast<std::uint64_t>(call.magnitude), 32)) * 0x9e3779b97f4a7c15u;
  signature_ = static_cast<std::uint32_t>(hash >> 32);
  mine_->kind.store(packed, std::memory_order_relaxed);
  mine_->bytes.store(call.bytes, std::memory_order_relaxed);
  mine_->eps.store(eps, std::memory_order_relaxed);
  mine_->calls.store(calls_, std::memory_order_relaxed);
  return Status::ok;
}

bool Group::is_done(int peer, std::uint64_t rounds) noexcept {
  Member& m = members_[static_cast<std::size_t>(peer)];
  if (m.known_done >= rounds) return true;
  m.known_done = state(peer).done.load(std::memory_order_acquire);
  return m.known_done >= rounds;
}

Status Group::await_done(std::span<const int> peers, std::uint64_t rounds) noexcept {
  for (const int peer : peers) {
    if (is_done(peer, rounds)) continue;
    awaited_ = peer;
    if (const Status s = wait(patience_, *this, [&] { return is_done(peer, rounds); }); s != Status::ok)
      return give_up_all(s);
  }
  return Status::ok;
}

Status Group::open(std::uint64_t round, std::span<const int> readers) noexcept {
  Fill& last = fills_[round % kSlots];
  if (const Status s = await_done(last.readers, last.rounds); s != Status::ok) return s;
  last.readers.assign(readers.begin(), readers.end());
  last.rounds = round + 1;
  return Status::ok;
}

Status Group::await(int peer, std::uint64_t round, const Line** found) noexcept {
  const Line& l = line_of(peer, round);
  awaited_ = peer;
  if (const Status s = wait(patience_, *this, [&] { return l.number.load(std::memory_order_acquire) > round; });
      s != Status::ok)
    return give_up_all(s);
  if (l.signature != signature_) return differs(peer);
  // Who publishes a round has done all rounds but the one before it: so ranks that meet often never look who is done.
  Member& m = members_[static_cast<std::size_t>(peer)];
  if (round > 0 && m.known_done < round - 1) m.known_done = round - 1;
  *found = &l;
  return Status::ok;
}

}  // namespace stretto::node
