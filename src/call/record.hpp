#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "call/call.hpp"
#include "stretto/stretto_call.h"

namespace stretto::call {

constexpr bool is_collective(stretto_collective c) noexcept { return c >= STRETTO_ALLREDUCE && c <= STRETTO_EXSCAN; }

// Precondition: is_collective(c).
constexpr Collective collective_of(stretto_collective c) noexcept { return static_cast<Collective>(c - 1); }

// Precondition: not `agreement`.
constexpr stretto_collective to_c(Collective c) noexcept {
  return static_cast<stretto_collective>(static_cast<int>(c) + 1);
}
static_assert(
    collective_of(STRETTO_ALLREDUCE) == Collective::allreduce && collective_of(STRETTO_REDUCE) == Collective::reduce &&
    collective_of(STRETTO_REDUCE_SCATTER) == Collective::reduce_scatter &&
    collective_of(STRETTO_ALLGATHER) == Collective::allgather && collective_of(STRETTO_BCAST) == Collective::bcast &&
    collective_of(STRETTO_GATHER) == Collective::gather && collective_of(STRETTO_SCATTER) == Collective::scatter &&
    collective_of(STRETTO_ALLTOALL) == Collective::alltoall && collective_of(STRETTO_BARRIER) == Collective::barrier &&
    collective_of(STRETTO_ALLREDUCE_MULTI) == Collective::allreduce_multi &&
    collective_of(STRETTO_REDUCE_SCATTER_BLOCK) == Collective::reduce_scatter_block &&
    collective_of(STRETTO_ALLGATHERV) == Collective::allgatherv &&
    collective_of(STRETTO_GATHERV) == Collective::gatherv && collective_of(STRETTO_SCATTERV) == Collective::scatterv &&
    collective_of(STRETTO_ALLTOALLV) == Collective::alltoallv && collective_of(STRETTO_SCAN) == Collective::scan &&
    collective_of(STRETTO_EXSCAN) == Collective::exscan);

constexpr bool is_plain(stretto_collective c) noexcept {
  return schedule::properties(collective_of(c)).counts == Counts::one && c != STRETTO_ALLREDUCE_MULTI;
}

// Requires is_plain(c.collective). Fields that the collective lacks are set alike.
constexpr Shape shape_of(const stretto_call& c) noexcept {
  const Collective what = collective_of(c.collective);
  if (what == Collective::barrier) return {what, false, STRETTO_U8, STRETTO_SUM, 0, 0};
  return {what, false, c.type, reduces(what) ? c.op : STRETTO_SUM, rooted(what) ? c.root : 0, c.count};
}

// A broadcast's one buffer is sent by the root, received by others.
constexpr const void* send_of(const stretto_call& c, int rank) noexcept {
  if (c.collective == STRETTO_BCAST) return rank == c.root ? c.recvbuf : nullptr;
  return c.collective == STRETTO_BARRIER ? nullptr : c.sendbuf;
}
constexpr void* recv_of(const stretto_call& c, int rank) noexcept {
  const bool none = c.collective == STRETTO_BARRIER || (c.collective == STRETTO_BCAST && rank == c.root);
  return none ? nullptr : c.recvbuf;
}

// Copies the arrays. invalid_argument, on every rank: an array that is NULL, a number below 0, or no collective.
Status interpret(const stretto_call& record, int rank, int ranks, Call* call);

// Accepts another version of the struct. invalid_argument: NULL, or an impossible size; unsupported: fields of a later
// version are set.
Status read_record(const stretto_call* given, stretto_call* record) noexcept;

inline stretto_call record_of(stretto_collective what, const void* send, void* recv, std::size_t count,
                              stretto_type type, stretto_op op = STRETTO_SUM, int root = 0) noexcept {
  stretto_call c = STRETTO_CALL_INIT;
  c.collective = what;
  c.sendbuf = send;
  c.recvbuf = recv;
  c.count = count;
  c.type = type;
  c.op = op;
  c.root = root;
  return c;
}

inline stretto_call moving(stretto_collective what, const void* send, void* recv, std::size_t count, stretto_type type,
                           int root = 0) noexcept {
  return record_of(what, send, recv, count, type, STRETTO_SUM, root);
}

inline stretto_call barrier() noexcept { return moving(STRETTO_BARRIER, nullptr, nullptr, 0, STRETTO_U8); }

inline stretto_call multi(const void* const* contributions, int k, void* recv, std::size_t count, stretto_type type,
                          stretto_op op) noexcept {
  stretto_call c = record_of(STRETTO_ALLREDUCE_MULTI, nullptr, recv, count, type, op);
  c.contributions = contributions;
  c.k = k;
  return c;
}

inline stretto_call with_sent(stretto_call c, const std::size_t* counts, const std::size_t* displs) noexcept {
  c.sendcounts = counts;
  c.sdispls = displs;
  return c;
}

inline stretto_call with_received(stretto_call c, const std::size_t* counts, const std::size_t* displs) noexcept {
  c.recvcounts = counts;
  c.rdispls = displs;
  return c;
}

}  // namespace stretto::call
