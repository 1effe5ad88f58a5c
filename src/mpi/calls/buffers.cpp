#include "mpi/calls/buffers.hpp"

#include <cstddef>

namespace stretto::mpi {
namespace {

// Some programs pass one buffer for both sides, where MPI requires MPI_IN_PLACE.
const void* given(const void* send, const void* recv) noexcept {
  return send == MPI_IN_PLACE || send == recv ? STRETTO_IN_PLACE : send;
}

}  // namespace

bool is_own(const void* block, const void* all, std::int64_t offset) noexcept {
  return block == MPI_IN_PLACE || (block != MPI_BOTTOM && block == static_cast<const std::byte*>(all) + offset);
}

Buffers buffers_of(const WrappedCall& call, const Communicator& c, std::int64_t extent) noexcept {
  const bool root = c.rank == call.root;
  switch (call.operation) {
    case Function::allreduce:
    case Function::exscan:
    case Function::scan:
    case Function::reduce_scatter_block:
    case Function::reduce_scatter: return {given(call.sendbuf, call.recvbuf), call.recvbuf};
    case Function::reduce:
      return root ? Buffers{given(call.sendbuf, call.recvbuf), call.recvbuf} : Buffers{call.sendbuf, nullptr};
    case Function::bcast: return root ? Buffers{call.recvbuf, nullptr} : Buffers{nullptr, call.recvbuf};
    case Function::gather:
      if (!root) return {call.sendbuf, nullptr};
      [[fallthrough]];
    case Function::allgather: {
      const bool in_place = is_own(call.sendbuf, call.recvbuf, c.rank * call.recvcount * extent);
      return {in_place ? STRETTO_IN_PLACE : call.sendbuf, call.recvbuf};
    }
    case Function::alltoall:
      return {is_own(call.sendbuf, call.recvbuf, 0) ? STRETTO_IN_PLACE : call.sendbuf, call.recvbuf};
    case Function::scatter: {
      if (!root) return {nullptr, call.recvbuf};
      const bool in_place = is_own(call.recvbuf, call.sendbuf, c.rank * call.sendcount * extent);
      return {call.sendbuf, in_place ? STRETTO_IN_PLACE : call.recvbuf};
    }
    case Function::barrier:
    case Function::allgatherv:
    case Function::gatherv:
    case Function::scatterv:
    case Function::alltoallv:
    case Function::alltoallw:
    case Function::neighbor_allgather:
    case Function::neighbor_allgatherv:
    case Function::neighbor_alltoall:
    case Function::neighbor_alltoallv:
    case Function::neighbor_alltoallw: break;
  }
  return {};
}

}  // namespace stretto::mpi
