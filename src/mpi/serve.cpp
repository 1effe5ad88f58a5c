#include "mpi/serve.hpp"

#include <algorithm>
#include <vector>

#include "mpi/packing.hpp"

namespace stretto::mpi {
namespace {

stretto_status to_c(Status s) noexcept { return static_cast<stretto_status>(s); }

std::size_t to_size(std::int64_t n) noexcept { return static_cast<std::size_t>(n); }

// A program that gives one buffer for both sides has it in place, which MPI wants said.
const void* contribution(const Call& call) noexcept {
  return call.sendbuf == MPI_IN_PLACE || call.sendbuf == call.recvbuf ? STRETTO_IN_PLACE : call.sendbuf;
}

// The same for one rank's block among those of all ranks, on the side that holds them all.
bool is_own_block(const void* block, const void* all, std::int64_t count, MPI_Datatype type, int rank) noexcept {
  return block != MPI_BOTTOM && block == static_cast<const std::byte*>(all) + rank * count * extent_of(type);
}

stretto_status reduction(const Call& call, const Communicator& c, const Shape& shape, const stretto_options& options) {
  const stretto_type type = shape.element->type;
  const int parts = shape.element->parts;
  const std::size_t count = to_size(call.recvcount) * static_cast<std::size_t>(parts);
  const void* send = contribution(call);
  if (call.operation == Operation::allreduce)
    return stretto_allreduce(send, call.recvbuf, count, type, shape.op, c.comm, &options);
  if (call.operation == Operation::reduce) {
    if (c.rank != call.root) send = call.sendbuf;  // where the other buffer means nothing
    return stretto_reduce(send, call.recvbuf, count, type, shape.op, call.root, c.comm, &options);
  }
  if (call.operation == Operation::reduce_scatter_block)
    return stretto_reduce_scatter_block(send, call.recvbuf, count, type, shape.op, c.comm, &options);
  std::vector<std::size_t> counts;
  for (int r = 0; r < c.size; ++r) counts.push_back(to_size(call.recvcounts[r] * parts));
  return stretto_reduce_scatter(send, call.recvbuf, counts.data(), type, shape.op, c.comm, &options);
}

stretto_status bcast(const Call& call, const Communicator& c, const Shape& shape, const stretto_options& options) {
  Buffer buffer;
  const bool root = c.rank == call.root;
  Status s = root ? buffer.give(call.recvbuf, call.recvcount, call.recvtype, call.comm)
                  : buffer.take(call.recvbuf, call.recvcount, call.recvtype, call.comm, false);
  if (s != Status::ok) return to_c(s);
  const stretto_status done =
      stretto_bcast(buffer.data(), to_size(shape.bytes), STRETTO_U8, call.root, c.comm, &options);
  return done == STRETTO_OK ? to_c(buffer.put_back()) : done;
}

// Allgather and alltoall: blocks for all ranks.
stretto_status to_all(const Call& call, const Communicator& c, const Shape& shape, const stretto_options& options) {
  const bool alltoall = call.operation == Operation::alltoall;
  const bool in_place = call.sendbuf == MPI_IN_PLACE ||
                        is_own_block(call.sendbuf, call.recvbuf, call.recvcount, call.recvtype, alltoall ? 0 : c.rank);
  Buffer send, recv;
  const std::int64_t sent = alltoall ? call.sendcount * c.size : call.sendcount;
  Status s = in_place ? Status::ok : send.give(call.sendbuf, sent, call.sendtype, call.comm);
  if (s == Status::ok) s = recv.take(call.recvbuf, call.recvcount * c.size, call.recvtype, call.comm, in_place);
  if (s != Status::ok) return to_c(s);
  const void* given = in_place ? STRETTO_IN_PLACE : send.data();
  const std::size_t block = to_size(shape.bytes);
  const stretto_status done = alltoall ? stretto_alltoall(given, recv.data(), block, STRETTO_U8, c.comm, &options)
                                       : stretto_allgather(given, recv.data(), block, STRETTO_U8, c.comm, &options);
  return done == STRETTO_OK ? to_c(recv.put_back()) : done;
}

stretto_status gather(const Call& call, const Communicator& c, const Shape& shape, const stretto_options& options) {
  const bool root = c.rank == call.root;
  const bool in_place = root && (call.sendbuf == MPI_IN_PLACE ||
                                 is_own_block(call.sendbuf, call.recvbuf, call.recvcount, call.recvtype, c.rank));
  Buffer send, recv;
  Status s = in_place ? Status::ok : send.give(call.sendbuf, call.sendcount, call.sendtype, call.comm);
  if (s == Status::ok && root) s = recv.take(call.recvbuf, call.recvcount * c.size, call.recvtype, call.comm, in_place);
  if (s != Status::ok) return to_c(s);
  const stretto_status done = stretto_gather(in_place ? STRETTO_IN_PLACE : send.data(), recv.data(),
                                             to_size(shape.bytes), STRETTO_U8, call.root, c.comm, &options);
  return done == STRETTO_OK && root ? to_c(recv.put_back()) : done;
}

stretto_status scatter(const Call& call, const Communicator& c, const Shape& shape, const stretto_options& options) {
  const bool root = c.rank == call.root;
  const bool in_place = root && (call.recvbuf == MPI_IN_PLACE ||
                                 is_own_block(call.recvbuf, call.sendbuf, call.sendcount, call.sendtype, c.rank));
  Buffer send, recv;
  Status s = root ? send.give(call.sendbuf, call.sendcount * c.size, call.sendtype, call.comm) : Status::ok;
  if (s == Status::ok && !in_place) s = recv.take(call.recvbuf, call.recvcount, call.recvtype, call.comm, false);
  if (s != Status::ok) return to_c(s);
  const stretto_status done = stretto_scatter(send.data(), in_place ? STRETTO_IN_PLACE : recv.data(),
                                              to_size(shape.bytes), STRETTO_U8, call.root, c.comm, &options);
  return done == STRETTO_OK && !in_place ? to_c(recv.put_back()) : done;
}

// Blocks of different lengths, where the program wants them. Those of a type that is not dense come end to end and are put there after.
stretto_status allgatherv(const Call& call, const Communicator& c, const Shape& shape, const stretto_options& options) {
  const std::int64_t size = bytes_of(call.recvtype), extent = extent_of(call.recvtype);
  const bool dense = is_dense(call.recvtype);
  const bool in_place =
      call.sendbuf == MPI_IN_PLACE || is_own_block(call.sendbuf, call.recvbuf, call.displs[c.rank], call.recvtype, 1);
  std::int64_t lowest = 0;
  for (int r = 0; r < c.size; ++r) lowest = std::min(lowest, call.displs[r] * extent);
  auto* base = static_cast<std::byte*>(call.recvbuf) + (dense ? lowest : 0);
  const auto place = [&](int r) { return static_cast<std::byte*>(call.recvbuf) + call.displs[r] * extent; };
  std::vector<std::size_t> counts, displs, ends(1, 0);
  for (int r = 0; r < c.size; ++r) {
    counts.push_back(to_size(call.recvcounts[r] * size));
    displs.push_back(to_size(call.displs[r] * extent - lowest));
    ends.push_back(ends.back() + counts.back());
  }
  std::vector<std::byte> packed;
  if (!dense) {
    packed.resize(to_size(shape.bytes));
    base = packed.data();
    displs.assign(ends.begin(), ends.end() - 1);
  }
  const auto own = static_cast<std::size_t>(c.rank);
  Buffer send;
  Status s = Status::ok;
  if (!in_place)
    s = send.give(call.sendbuf, call.sendcount, call.sendtype, call.comm);
  else if (!dense)
    s = pack(place(c.rank), call.recvcounts[c.rank], call.recvtype, call.comm, base + displs[own]);
  if (s != Status::ok) return to_c(s);
  const stretto_status done = stretto_allgatherv(in_place ? STRETTO_IN_PLACE : send.data(), base, counts.data(),
                                                 displs.data(), STRETTO_U8, c.comm, &options);
  for (int r = 0; r < c.size && done == STRETTO_OK && !dense; ++r) {
    s = unpack(base + displs[static_cast<std::size_t>(r)], place(r), call.recvcounts[r], call.recvtype, call.comm);
    if (s != Status::ok) return to_c(s);
  }
  return done;
}

}  // namespace

stretto_status serve(const Call& call, const Communicator& c, const Shape& shape, const stretto_options& options) {
  if (shape.element) return reduction(call, c, shape, options);
  switch (call.operation) {
    case Operation::barrier: return stretto_barrier(c.comm, &options);
    case Operation::bcast: return bcast(call, c, shape, options);
    case Operation::allgather:
    case Operation::alltoall: return to_all(call, c, shape, options);
    case Operation::allgatherv: return allgatherv(call, c, shape, options);
    case Operation::gather: return gather(call, c, shape, options);
    case Operation::scatter: return scatter(call, c, shape, options);
    case Operation::allreduce:
    case Operation::reduce:
    case Operation::reduce_scatter:
    case Operation::reduce_scatter_block:
    case Operation::gatherv:
    case Operation::scatterv:
    case Operation::alltoallv:
    case Operation::alltoallw:
    case Operation::exscan:
    case Operation::scan:
    case Operation::neighbor_allgather:
    case Operation::neighbor_allgatherv:
    case Operation::neighbor_alltoall:
    case Operation::neighbor_alltoallv:
    case Operation::neighbor_alltoallw: break;
  }
  return STRETTO_UNSUPPORTED;
}

}  // namespace stretto::mpi
