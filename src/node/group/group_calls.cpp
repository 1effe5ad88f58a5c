// Whether the ranks of a group called the same collectives. Each call has a signature of all calls up to it (CallRecord::signature), which is
// compared
//   with that in each line that a rank reads;
//   with that of each peer that tells what it is done with (Done): so by a rank that only gives, before it fills its lines again;
//   with that of every peer, now and then, in a wait: so where all ranks wait for each other.
// In what a rank takes a collective to be, all ranks are joined by giving and taking. So where ranks differ, one gives to or takes from
// another that differs, and finds it within a turn of its ring of lines.
#include <algorithm>
#include <bit>

#include "node/group/group.hpp"

namespace stretto::node {

Status Group::enter(const CallRecord& call) noexcept { return enter_here(call); }

CallRecord Group::called(int rank, std::uint64_t call) const noexcept {
  const State::Called& c = state(rank).called[call % kCalls];
  const State::Bound& b = state(rank).bounds[call % kCalls];
  return CallRecord::unpack(c.kind.load(std::memory_order_relaxed), c.bytes.load(std::memory_order_relaxed),
                            std::bit_cast<double>(b.eps.load(std::memory_order_relaxed)),
                            std::bit_cast<double>(b.magnitude.load(std::memory_order_relaxed)));
}

void Group::remember_bound(const CallRecord& call) noexcept {
  State::Bound& b = mine_->bounds[calls_ % kCalls];
  b.eps.store(std::bit_cast<std::uint64_t>(call.eps), std::memory_order_relaxed);
  b.magnitude.store(std::bit_cast<std::uint64_t>(call.magnitude), std::memory_order_relaxed);
}

// 0: it has not come so far, or long since.
std::uint64_t Group::signature_of(int rank, std::uint64_t call) const noexcept {
  const State& s = state(rank);
  const auto kept = [&] {
    const std::uint64_t calls = s.calls.load(std::memory_order_acquire);
    return call > 0 && call <= calls && calls - call < kCalls - 1;
  };
  if (!kept()) return 0;
  const std::uint64_t signature = s.called[call % kCalls].signature.load(std::memory_order_acquire);
  return kept() ? signature : 0;
}

// In the last call that both have come to, if either still knows it.
Status Group::compare(int peer) noexcept {
  const std::uint64_t last = std::min(calls_, state(peer).calls.load(std::memory_order_acquire));
  const std::uint64_t mine = signature_of(rank_, last), theirs = signature_of(peer, last);
  return mine == theirs || mine == 0 || theirs == 0 ? Status::ok : differs(peer);
}

// With what a peer told last. Where that is of a call to which this rank has not come yet, or which it no longer knows, a closer look
// decides.
Status Group::compare_told(int peer) noexcept {
  const std::uint32_t told = member(peer).told;
  const std::uint64_t at = told & Done::kCallBits;
  const std::uint64_t mine = mine_->called[at].signature.load(std::memory_order_relaxed);
  return Done::token(at, mine) == told ? Status::ok : compare(peer);
}

Status Group::differs(int peer) noexcept {
  differed_ = true;
  const std::uint64_t last = std::min(calls_, state(peer).calls.load(std::memory_order_acquire));
  std::uint64_t first = last, mine = 0, theirs = 0;
  do {
    mine = signature_of(rank_, first - 1);
    theirs = signature_of(peer, first - 1);
  } while (mine != 0 && theirs != 0 && mine != theirs && --first > 1);
  const CallRecord ours = called(rank_, first), other = called(peer, first);
  const bool kept = signature_of(rank_, first) != 0 && signature_of(peer, first) != 0;  // while they were read, too
  if (!kept || !(first == 1 || (mine != 0 && mine == theirs)))
    return give_up_all(
        fail(Status::incompatible,
             "ranks call differently since before collective {}, and what the calls were is not known any more: "
             "rank {} is in its collective {}, {}, rank {} {}",
             first, rank_, calls_, called(rank_, calls_).text(), peer, whereabouts(peer)));
  return give_up_all(fail(
      Status::incompatible,
      "ranks call differently in collective {} ({}): rank {} {}, rank {} {}; rank {} learnt it in its collective {}",
      first, ours.difference(other), rank_, ours.text(), peer, other.text(), rank_, calls_));
}

}  // namespace stretto::node
