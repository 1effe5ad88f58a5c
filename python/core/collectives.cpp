#include "collectives.hpp"

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
    case Collective::allreduce:
      demand(send, sends, count, type, "x");
      demand(recv, true, count, type, "out");
      return;
    case Collective::allreduce_multi:
      for (const View& one : contributions) demand(one, true, count, type, "a contribution");
      demand(recv, true, count, type, "out");
      return;
    case Collective::reduce:
      demand(send, sends, count, type, "x");
      demand(recv, at_root, count, type, "out");
      return;
    case Collective::reduce_scatter_block:
      demand(send, sends, all, type, "x");
      demand(recv, true, sends ? count : all, type, "out");
      return;
    case Collective::reduce_scatter: {
      demand_one_each(received, size, "reduce_scatter");
      demand(send, sends, received.extent(), type, "x");
      const std::size_t own = received.counts[static_cast<std::size_t>(rank)];
      demand(recv, true, sends ? own : received.extent(), type, "out");
      return;
    }
    case Collective::allgather:
      demand(send, sends, count, type, "x");
      demand(recv, true, all, type, "out");
      return;
    case Collective::allgatherv:
      demand_one_each(received, size, "allgatherv");
      demand(send, sends, received.counts[static_cast<std::size_t>(rank)], type, "x");
      demand(recv, true, received.extent(), type, "out");
      return;
    case Collective::bcast: demand(recv, true, count, type, "x"); return;
    case Collective::scatter:
      demand(send, at_root, all, type, "x");
      demand(recv, receives, count, type, "out");
      return;
    case Collective::scatterv:
      if (at_root) demand_one_each(sent, size, "scatterv");
      demand(send, at_root, sent.extent(), type, "x");
      demand(recv, receives, count, type, "out");
      return;
    case Collective::gather:
      demand(send, sends, count, type, "x");
      demand(recv, at_root, all, type, "out");
      return;
    case Collective::gatherv:
      if (at_root) demand_one_each(received, size, "gatherv");
      demand(send, sends, count, type, "x");
      demand(recv, at_root, received.extent(), type, "out");
      return;
    case Collective::alltoall:
      demand(send, sends, all, type, "x");
      demand(recv, true, all, type, "out");
      return;
    case Collective::alltoallv:
      if (sends) demand_one_each(sent, size, "alltoallv");
      demand_one_each(received, size, "alltoallv");
      demand(send, sends, sent.extent(), type, "x");
      demand(recv, true, received.extent(), type, "out");
      return;
    case Collective::barrier: return;
  }
}

stretto_status Call::run(stretto_comm comm, const stretto_options* o, stretto_request* r) const noexcept {
  if (!place.on_device()) return run_on_host(comm, o, r);
  const Visit visit(place);
  stretto_status s = visit.status();
  if (s == STRETTO_OK) s = place.begin();
  if (s == STRETTO_OK && r) s = stretto_cuda_wait(comm, place.stream);
  if (s != STRETTO_OK) return s;
  if (r) return run_on_host(comm, o, r);
  s = run_on_stream(comm, o);
  return s == STRETTO_OK ? place.end() : s;
}

stretto_status Call::run_on_stream(stretto_comm comm, const stretto_options* o) const noexcept {
  const void* const s = send_in_place ? STRETTO_IN_PLACE : send.data();
  void* const d = recv_in_place ? STRETTO_IN_PLACE : recv.data();
  const std::size_t n = count;
  void* const stream = place.stream;
  switch (collective) {
    case Collective::allreduce: return stretto_allreduce_on_stream(s, d, n, type, op, comm, o, stream);
    case Collective::allreduce_multi:
      return stretto_allreduce_multi_on_stream(addresses.data(), static_cast<int>(addresses.size()), d, n, type, op,
                                               comm, o, stream);
    case Collective::reduce: return stretto_reduce_on_stream(s, d, n, type, op, root, comm, o, stream);
    case Collective::reduce_scatter_block:
      return stretto_reduce_scatter_block_on_stream(s, d, n, type, op, comm, o, stream);
    case Collective::reduce_scatter:
      return stretto_reduce_scatter_on_stream(s, d, received.sizes(), type, op, comm, o, stream);
    case Collective::allgather: return stretto_allgather_on_stream(s, d, n, type, comm, o, stream);
    case Collective::allgatherv:
      return stretto_allgatherv_on_stream(s, d, received.sizes(), received.places(), type, comm, o, stream);
    case Collective::bcast: return stretto_bcast_on_stream(d, n, type, root, comm, o, stream);
    case Collective::scatter: return stretto_scatter_on_stream(s, d, n, type, root, comm, o, stream);
    case Collective::scatterv:
      return stretto_scatterv_on_stream(s, sent.sizes(), sent.places(), d, n, type, root, comm, o, stream);
    case Collective::gather: return stretto_gather_on_stream(s, d, n, type, root, comm, o, stream);
    case Collective::gatherv:
      return stretto_gatherv_on_stream(s, n, d, received.sizes(), received.places(), type, root, comm, o, stream);
    case Collective::alltoall: return stretto_alltoall_on_stream(s, d, n, type, comm, o, stream);
    case Collective::alltoallv:
      return stretto_alltoallv_on_stream(s, sent.sizes(), sent.places(), d, received.sizes(), received.places(), type,
                                         comm, o, stream);
    case Collective::barrier: return stretto_barrier(comm, o);
  }
  return STRETTO_INTERNAL;
}

stretto_status Call::run_on_host(stretto_comm comm, const stretto_options* o, stretto_request* r) const noexcept {
  const void* const s = send_in_place ? STRETTO_IN_PLACE : send.data();
  void* const d = recv_in_place ? STRETTO_IN_PLACE : recv.data();
  const std::size_t n = count;
  switch (collective) {
    case Collective::allreduce:
      return r ? stretto_iallreduce(s, d, n, type, op, comm, o, r) : stretto_allreduce(s, d, n, type, op, comm, o);
    case Collective::allreduce_multi: {
      const auto k = static_cast<int>(addresses.size());
      return r ? stretto_iallreduce_multi(addresses.data(), k, d, n, type, op, comm, o, r)
               : stretto_allreduce_multi(addresses.data(), k, d, n, type, op, comm, o);
    }
    case Collective::reduce:
      return r ? stretto_ireduce(s, d, n, type, op, root, comm, o, r)
               : stretto_reduce(s, d, n, type, op, root, comm, o);
    case Collective::reduce_scatter_block:
      return r ? stretto_ireduce_scatter_block(s, d, n, type, op, comm, o, r)
               : stretto_reduce_scatter_block(s, d, n, type, op, comm, o);
    case Collective::reduce_scatter:
      return r ? stretto_ireduce_scatter(s, d, received.sizes(), type, op, comm, o, r)
               : stretto_reduce_scatter(s, d, received.sizes(), type, op, comm, o);
    case Collective::allgather:
      return r ? stretto_iallgather(s, d, n, type, comm, o, r) : stretto_allgather(s, d, n, type, comm, o);
    case Collective::allgatherv:
      return r ? stretto_iallgatherv(s, d, received.sizes(), received.places(), type, comm, o, r)
               : stretto_allgatherv(s, d, received.sizes(), received.places(), type, comm, o);
    case Collective::bcast:
      return r ? stretto_ibcast(d, n, type, root, comm, o, r) : stretto_bcast(d, n, type, root, comm, o);
    case Collective::scatter:
      return r ? stretto_iscatter(s, d, n, type, root, comm, o, r) : stretto_scatter(s, d, n, type, root, comm, o);
    case Collective::scatterv:
      return r ? stretto_iscatterv(s, sent.sizes(), sent.places(), d, n, type, root, comm, o, r)
               : stretto_scatterv(s, sent.sizes(), sent.places(), d, n, type, root, comm, o);
    case Collective::gather:
      return r ? stretto_igather(s, d, n, type, root, comm, o, r) : stretto_gather(s, d, n, type, root, comm, o);
    case Collective::gatherv:
      return r ? stretto_igatherv(s, n, d, received.sizes(), received.places(), type, root, comm, o, r)
               : stretto_gatherv(s, n, d, received.sizes(), received.places(), type, root, comm, o);
    case Collective::alltoall:
      return r ? stretto_ialltoall(s, d, n, type, comm, o, r) : stretto_alltoall(s, d, n, type, comm, o);
    case Collective::alltoallv:
      return r ? stretto_ialltoallv(s, sent.sizes(), sent.places(), d, received.sizes(), received.places(), type, comm,
                                    o, r)
               : stretto_alltoallv(s, sent.sizes(), sent.places(), d, received.sizes(), received.places(), type, comm,
                                   o);
    case Collective::barrier: return r ? stretto_ibarrier(comm, o, r) : stretto_barrier(comm, o);
  }
  return STRETTO_INTERNAL;
}

}  // namespace stretto::python
