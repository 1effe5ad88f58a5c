#include "calls/collectives.hpp"

#include <algorithm>
#include <string>

#include "errors.hpp"
#include "stretto/stretto_cuda_collectives.h"
#include "stretto/stretto_cuda_memory.h"

namespace stretto::python {
namespace {

void demand(const View& view, bool needed, std::size_t elements, stretto_type type, const char* what) {
  if (!needed) return;
  const std::size_t size = stretto_type_size(type), there = view.bytes() / size;
  if (there < elements)
    raise(STRETTO_INVALID_ARGUMENT, std::string(what) + " holds " + std::to_string(there) + " elements; " +
                                        std::to_string(elements) + " are needed");
}

void demand_one_each(const Blocks& blocks, int size, const char* what) {
  const auto of = [&](const std::vector<std::size_t>& v, const char* kind) {
    if (v.size() != static_cast<std::size_t>(size))
      raise(STRETTO_INVALID_ARGUMENT, std::string(what) + " has " + std::to_string(v.size()) + " " + kind +
                                          "; the communicator has " + std::to_string(size) + " ranks");
  };
  of(blocks.counts, "counts");
  if (!blocks.displacements.empty()) of(blocks.displacements, "displacements");
}

}  // namespace

std::size_t Blocks::extent() const noexcept {
  std::size_t end = 0;
  for (std::size_t i = 0; i < counts.size(); ++i)
    end = displacements.empty() ? end + counts[i] : std::max(end, counts[i] ? displacements[i] + counts[i] : 0);
  return end;
}

void Call::check_buffers(int rank, int size) const {
  const auto overlaps = [&](const View& one) { return one.overlaps(recv); };
  if (overlaps(send) || std::any_of(contributions.begin(), contributions.end(), overlaps))
    raise(STRETTO_INVALID_ARGUMENT, "x and out overlap; IN_PLACE, or out=x in a reduction, is in place");
  const std::size_t all = count * static_cast<std::size_t>(size);
  const bool at_root = rank == root, sends = !send_in_place, receives = !recv_in_place;
  switch (collective) {
    case STRETTO_ALLREDUCE:
      demand(send, sends, count, type, "x");
      demand(recv, true, count, type, "out");
      return;
    case STRETTO_ALLREDUCE_MULTI:
      for (const View& one : contributions) demand(one, true, count, type, "a contribution");
      demand(recv, true, count, type, "out");
      return;
    case STRETTO_REDUCE:
      demand(send, sends, count, type, "x");
      demand(recv, at_root, count, type, "out");
      return;
    case STRETTO_REDUCE_SCATTER_BLOCK:
      demand(send, sends, all, type, "x");
      demand(recv, true, sends ? count : all, type, "out");
      return;
    case STRETTO_REDUCE_SCATTER: {
      demand_one_each(received, size, "reduce_scatter");
      demand(send, sends, received.extent(), type, "x");
      const std::size_t own = received.counts[static_cast<std::size_t>(rank)];
      demand(recv, true, sends ? own : received.extent(), type, "out");
      return;
    }
    case STRETTO_ALLGATHER:
      demand(send, sends, count, type, "x");
      demand(recv, true, all, type, "out");
      return;
    case STRETTO_ALLGATHERV:
      demand_one_each(received, size, "allgatherv");
      demand(send, sends, received.counts[static_cast<std::size_t>(rank)], type, "x");
      demand(recv, true, received.extent(), type, "out");
      return;
    case STRETTO_BCAST: demand(recv, true, count, type, "x"); return;
    case STRETTO_SCATTER:
      demand(send, at_root, all, type, "x");
      demand(recv, receives, count, type, "out");
      return;
    case STRETTO_SCATTERV:
      if (at_root) demand_one_each(sent, size, "scatterv");
      demand(send, at_root, sent.extent(), type, "x");
      demand(recv, receives, count, type, "out");
      return;
    case STRETTO_GATHER:
      demand(send, sends, count, type, "x");
      demand(recv, at_root, all, type, "out");
      return;
    case STRETTO_GATHERV:
      if (at_root) demand_one_each(received, size, "gatherv");
      demand(send, sends, count, type, "x");
      demand(recv, at_root, received.extent(), type, "out");
      return;
    case STRETTO_ALLTOALL:
      demand(send, sends, all, type, "x");
      demand(recv, true, all, type, "out");
      return;
    case STRETTO_ALLTOALLV:
      if (sends) demand_one_each(sent, size, "alltoallv");
      demand_one_each(received, size, "alltoallv");
      demand(send, sends, sent.extent(), type, "x");
      demand(recv, true, received.extent(), type, "out");
      return;
    case STRETTO_SCAN:
    case STRETTO_EXSCAN:
      demand(send, sends, count, type, "x");
      demand(recv, collective == STRETTO_SCAN || !sends || rank > 0, count, type, "out");
      return;
    case STRETTO_BARRIER: return;
  }
}

stretto_call Call::record() const noexcept {
  stretto_call c = STRETTO_CALL_INIT;
  c.collective = collective;
  c.type = type;
  c.op = op;
  c.root = root;
  c.count = count;
  c.sendbuf = send_in_place ? STRETTO_IN_PLACE : send.data();
  c.recvbuf = recv_in_place ? STRETTO_IN_PLACE : recv.data();
  c.sendcounts = sent.sizes();
  c.sdispls = sent.places();
  c.recvcounts = received.sizes();
  c.rdispls = received.places();
  c.contributions = addresses.data();
  c.k = static_cast<int>(addresses.size());
  return c;
}

stretto_status Call::run(stretto_comm comm, const stretto_options* o, stretto_request* r) const noexcept {
  const stretto_call c = record();
  if (!place.on_device()) return r ? stretto_irun(&c, comm, o, r) : stretto_run(&c, comm, o);
  const Visit visit(place);
  stretto_status s = visit.status();
  if (s == STRETTO_OK) s = place.begin();
  if (s == STRETTO_OK && r) s = stretto_cuda_wait(comm, place.stream);
  if (s != STRETTO_OK) return s;
  if (r) return stretto_irun(&c, comm, o, r);
  if (collective == STRETTO_BARRIER) return stretto_run(&c, comm, o);
  s = stretto_run_on_stream(&c, comm, o, place.stream);
  return s == STRETTO_OK ? place.end() : s;
}

}  // namespace stretto::python
