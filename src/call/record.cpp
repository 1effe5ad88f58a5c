#include "call/record.hpp"

#include <algorithm>
#include <cstring>

namespace stretto::call {
namespace {

Status copy_counts(Call& c, const std::size_t* counts, const std::size_t* displs, int ranks) {
  if (!counts) return fail(Status::invalid_argument, "counts is NULL");
  c.counts_given = true;
  c.counts.assign(counts, counts + ranks);
  if (displs) c.displs.assign(displs, displs + ranks);
  return Status::ok;
}

Status copy_inputs(Call& c, const stretto_call& r) {
  if (r.k < 0) return fail(Status::invalid_argument, "k is {}", r.k);
  if (r.k > 0 && !r.contributions) return fail(Status::invalid_argument, "contributions is NULL with k = {}", r.k);
  if (r.k > 0) c.inputs.assign(r.contributions, r.contributions + r.k);
  return Status::ok;
}

Status copy_counts_by_rank(Call& c, const stretto_call& r, int rank, int ranks) {
  const bool places = c.collective == Collective::allgatherv;
  const Status s = copy_counts(c, r.recvcounts, places ? r.rdispls : nullptr, ranks);
  c.count = s == Status::ok ? c.counts[static_cast<std::size_t>(rank)] : 0;
  return s;
}

Status copy_counts_of_root(Call& c, const stretto_call& r, int rank, int ranks) {
  if (rank != r.root) return Status::ok;
  const bool scatters = c.collective == Collective::scatterv;
  return scatters ? copy_counts(c, r.sendcounts, r.sdispls, ranks) : copy_counts(c, r.recvcounts, r.rdispls, ranks);
}

Status copy_counts_by_pair(Call& c, const stretto_call& r, int ranks) {
  const bool in_place = r.sendbuf == STRETTO_IN_PLACE;
  if (!in_place) {
    if (!r.sendcounts) return fail(Status::invalid_argument, "sendcounts is NULL");
    c.send_counts.assign(r.sendcounts, r.sendcounts + ranks);
    if (r.sdispls) c.send_displs.assign(r.sdispls, r.sdispls + ranks);
  }
  if (!r.recvcounts) return fail(Status::invalid_argument, "recvcounts is NULL");
  const Status s = copy_counts(c, r.recvcounts, r.rdispls, ranks);
  if (in_place) {
    c.send_counts = c.counts;
    c.send_displs = c.displs;
  }
  return s;
}

}  // namespace

Status interpret(const stretto_call& record, int rank, int ranks, Call* call) {
  Call& c = *call;
  if (!is_collective(record.collective)) {
    c.collective = Collective::barrier;  // other ranks learn of the error in it
    return fail(Status::invalid_argument, "collective {} is no stretto_collective",
                static_cast<int>(record.collective));
  }
  const Shape is = shape_of(record);
  c.collective = is.collective;
  c.send = send_of(record, rank);
  c.recv = recv_of(record, rank);
  c.count = is.count;
  c.type = is.type;
  c.op = is.op;
  c.root = is.root;
  if (c.collective == Collective::allreduce_multi) {
    c.send = nullptr;
    return copy_inputs(c, record);
  }
  switch (schedule::properties(c.collective).counts) {
    case Counts::one: return Status::ok;
    case Counts::by_rank: return copy_counts_by_rank(c, record, rank, ranks);
    case Counts::at_root: return copy_counts_of_root(c, record, rank, ranks);
    case Counts::by_pair: c.count = 0; return copy_counts_by_pair(c, record, ranks);
  }
  return Status::internal;
}

Status read_record(const stretto_call* given, stretto_call* record) noexcept {
  if (!given) return fail(Status::invalid_argument, "call is NULL");
  if (given->size < offsetof(stretto_call, sendbuf) || given->size > 16 * sizeof *record)
    return fail(Status::invalid_argument, "call.size is {}; use STRETTO_CALL_INIT", given->size);
  std::memcpy(static_cast<void*>(record), given, std::min(given->size, sizeof *record));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  const auto is_set = [](unsigned char b) { return b != 0; };
  if (given->size > sizeof *record && std::any_of(bytes + sizeof *record, bytes + given->size, is_set))
    return fail(Status::unsupported, "a call of {} bytes sets fields that this library ({} bytes) does not know",
                given->size, sizeof *record);
  record->size = sizeof *record;
  return Status::ok;
}

}  // namespace stretto::call
