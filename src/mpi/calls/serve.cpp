#include "mpi/calls/serve.hpp"

#include <algorithm>
#include <vector>

#include "mpi/calls/packing.hpp"

namespace stretto::mpi {
namespace {

stretto_status to_c(Status s) noexcept { return static_cast<stretto_status>(s); }

std::size_t to_size(std::int64_t n) noexcept { return static_cast<std::size_t>(n); }

stretto_status reduction(const WrappedCall& call, const Communicator& c, const Shape& shape,
                         const stretto_options& options, Passed* passed) {
  const stretto_type type = shape.element->type;
  const int parts = shape.element->parts;
  const std::size_t count = to_size(call.recvcount) * static_cast<std::size_t>(parts);
  const auto [send, recv] = passed->buffers = buffers_of(call, c, 0);
  if (call.operation == Function::allreduce)
    return stretto_allreduce(send, recv, count, type, shape.op, c.comm, &options);
  if (call.operation == Function::reduce)
    return stretto_reduce(send, recv, count, type, shape.op, call.root, c.comm, &options);
  if (call.operation == Function::reduce_scatter_block)
    return stretto_reduce_scatter_block(send, recv, count, type, shape.op, c.comm, &options);
  std::vector<std::size_t> counts;
  for (int r = 0; r < c.size; ++r) counts.push_back(to_size(call.recvcounts[r] * parts));
  return stretto_reduce_scatter(send, recv, counts.data(), type, shape.op, c.comm, &options);
}

// One address for both sides that is not the rank's own block: MPIs need not refuse it, and one rank alone may give it.
bool is_shared(const void* send, const void* recv) noexcept { return send && send == recv; }

// What is at `at`, or a copy of it where its elements do not lie dense or are `shared`.
Status give(Buffer& buffer, const void*& at, std::int64_t count, MPI_Datatype type, MPI_Comm comm, bool shared) {
  if (at == STRETTO_IN_PLACE) return Status::ok;
  const Status s = buffer.give(at, count, type, comm, shared);
  at = buffer.data();
  return s;
}
Status take(Buffer& buffer, void*& at, std::int64_t count, MPI_Datatype type, MPI_Comm comm, bool shared, bool keeps) {
  if (at == STRETTO_IN_PLACE) return Status::ok;
  const Status s = buffer.take(at, count, type, comm, shared, keeps);
  at = buffer.data();
  return s;
}

stretto_status bcast(const WrappedCall& call, const Communicator& c, const Shape& shape, const stretto_options& options,
                     Passed* passed) {
  Buffer buffer;
  auto& [send, recv] = passed->buffers = buffers_of(call, c, 0);
  const Status s = c.rank == call.root ? give(buffer, send, call.recvcount, call.recvtype, call.comm, false)
                                       : take(buffer, recv, call.recvcount, call.recvtype, call.comm, false, false);
  if (s != Status::ok) return to_c(s);
  const stretto_status done =
      stretto_bcast(buffer.data(), to_size(shape.bytes), STRETTO_U8, call.root, c.comm, &options);
  return done == STRETTO_OK ? to_c(buffer.put_back()) : done;
}

// Allgather and alltoall: blocks for all ranks.
stretto_status to_all(const WrappedCall& call, const Communicator& c, const Shape& shape,
                      const stretto_options& options, Passed* passed) {
  Buffer given, taken;
  passed->extent = extent_of(call.recvtype);
  auto& [send, recv] = passed->buffers = buffers_of(call, c, passed->extent);
  const bool alltoall = call.operation == Function::alltoall, in_place = send == STRETTO_IN_PLACE;
  const std::int64_t count = alltoall ? call.sendcount * c.size : call.sendcount;
  Status s = give(given, send, count, call.sendtype, call.comm, is_shared(send, recv));
  if (s == Status::ok) s = take(taken, recv, call.recvcount * c.size, call.recvtype, call.comm, false, in_place);
  if (s != Status::ok) return to_c(s);
  const std::size_t block = to_size(shape.bytes);
  const stretto_status done = alltoall ? stretto_alltoall(send, recv, block, STRETTO_U8, c.comm, &options)
                                       : stretto_allgather(send, recv, block, STRETTO_U8, c.comm, &options);
  return done == STRETTO_OK ? to_c(taken.put_back()) : done;
}

stretto_status gather(const WrappedCall& call, const Communicator& c, const Shape& shape,
                      const stretto_options& options, Passed* passed) {
  const bool root = c.rank == call.root;
  Buffer given, taken;
  passed->extent = root ? extent_of(call.recvtype) : 0;
  auto& [send, recv] = passed->buffers = buffers_of(call, c, passed->extent);
  const bool in_place = send == STRETTO_IN_PLACE;
  Status s = give(given, send, call.sendcount, call.sendtype, call.comm, is_shared(send, recv));
  if (s == Status::ok && root)
    s = take(taken, recv, call.recvcount * c.size, call.recvtype, call.comm, false, in_place);
  if (s != Status::ok) return to_c(s);
  const stretto_status done = stretto_gather(send, recv, to_size(shape.bytes), STRETTO_U8, call.root, c.comm, &options);
  return done == STRETTO_OK ? to_c(taken.put_back()) : done;
}

stretto_status scatter(const WrappedCall& call, const Communicator& c, const Shape& shape,
                       const stretto_options& options, Passed* passed) {
  const bool root = c.rank == call.root;
  Buffer given, taken;
  passed->extent = root ? extent_of(call.sendtype) : 0;
  auto& [send, recv] = passed->buffers = buffers_of(call, c, passed->extent);
  const bool shared = is_shared(send, recv);
  Status s = root ? give(given, send, call.sendcount * c.size, call.sendtype, call.comm, false) : Status::ok;
  if (s == Status::ok) s = take(taken, recv, call.recvcount, call.recvtype, call.comm, shared, false);
  if (s != Status::ok) return to_c(s);
  const stretto_status done =
      stretto_scatter(send, recv, to_size(shape.bytes), STRETTO_U8, call.root, c.comm, &options);
  return done == STRETTO_OK ? to_c(taken.put_back()) : done;
}

// Blocks of different lengths, where the program wants them. Those of a type that is not dense come end to end and are put there after.
stretto_status allgatherv(const WrappedCall& call, const Communicator& c, const Shape& shape,
                          const stretto_options& options) {
  const std::int64_t size = bytes_of(call.recvtype), extent = extent_of(call.recvtype);
  const bool dense = is_dense(call.recvtype);
  const bool in_place = is_own(call.sendbuf, call.recvbuf, call.displs[c.rank] * extent);
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
    s = send.give(call.sendbuf, call.sendcount, call.sendtype, call.comm, is_shared(call.sendbuf, base));
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

stretto_status serve(const WrappedCall& call, const Communicator& c, const Shape& shape, const stretto_options& options,
                     Passed* passed) {
  if (shape.element) return reduction(call, c, shape, options, passed);
  switch (call.operation) {
    case Function::barrier: return stretto_barrier(c.comm, &options);
    case Function::bcast: return bcast(call, c, shape, options, passed);
    case Function::allgather:
    case Function::alltoall: return to_all(call, c, shape, options, passed);
    case Function::allgatherv: return allgatherv(call, c, shape, options);
    case Function::gather: return gather(call, c, shape, options, passed);
    case Function::scatter: return scatter(call, c, shape, options, passed);
    case Function::allreduce:
    case Function::reduce:
    case Function::reduce_scatter:
    case Function::reduce_scatter_block:
    case Function::gatherv:
    case Function::scatterv:
    case Function::alltoallv:
    case Function::alltoallw:
    case Function::exscan:
    case Function::scan:
    case Function::neighbor_allgather:
    case Function::neighbor_allgatherv:
    case Function::neighbor_alltoall:
    case Function::neighbor_alltoallv:
    case Function::neighbor_alltoallw: break;
  }
  return STRETTO_UNSUPPORTED;
}

}  // namespace stretto::mpi
