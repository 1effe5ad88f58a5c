// Detection of ranks that call different collectives (docs/node.md, "Waiting"). A rank compares its signature with that
// in each line that it reads, with each peer's progress (Done) before it refills its lines, and with every peer now and
// then in a wait. A collective's lines connect all its ranks: some rank exchanges data with a differing peer, and
// detects it within one turn of its lines.
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

// 0: the rank has not made this call yet, or its record is overwritten.
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

// Compares the last call that both have entered, if both records exist.
Status Group::compare(int peer) noexcept {
  const std::uint64_t last = std::min(calls_, state(peer).calls.load(std::memory_order_acquire));
  const std::uint64_t mine = signature_of(rank_, last), theirs = signature_of(peer, last);
  return mine == theirs || mine == 0 || theirs == 0 ? Status::ok : differs(peer);
}

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
  // both records were valid while they were read
  const bool kept = signature_of(rank_, first) != 0 && signature_of(peer, first) != 0;
  if (!kept || !(first == 1 || (mine != 0 && mine == theirs)))
    return give_up_all(
        fail(Status::incompatible,
             "ranks call differently since before collective {}, and what the calls were is not known any more: "
             "rank {} is in its collective {}, {}, rank {} {}",
             first, number(rank_), calls_, called(rank_, calls_).text(), number(peer), whereabouts(peer)));
  return give_up_all(fail(
      Status::incompatible,
      "ranks call differently in collective {} ({}): rank {} {}, rank {} {}; rank {} learnt it in its collective {}",
      first, ours.difference(other), number(rank_), ours.text(), number(peer), other.text(), number(rank_), calls_));
}

}  // namespace stretto::node
