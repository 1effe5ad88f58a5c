#include "mpi/calls/serve.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "api/profiling.hpp"
#include "base/guarded.hpp"
#include "call/record.hpp"
#include "mpi/calls/device.hpp"
#include "mpi/calls/prepared.hpp"

namespace stretto::mpi {
namespace {

stretto_status to_c(Status s) noexcept { return static_cast<stretto_status>(s); }

std::size_t to_size(std::int64_t n) noexcept { return static_cast<std::size_t>(n); }

// MPIs need not refuse one address for both sides, and a single rank may pass it.
bool is_shared(const void* send, const void* recv) noexcept { return send && send == recv; }

// `at` becomes a host copy if elements are not dense, or if `copied`.
Status give(Buffer& buffer, const void*& at, std::int64_t count, MPI_Datatype type, MPI_Comm comm, bool copied) {
  if (at == STRETTO_IN_PLACE) return Status::ok;
  const Status s = buffer.give(at, count, type, comm, copied);
  at = buffer.data();
  return s;
}
Status take(Buffer& buffer, void*& at, std::int64_t count, MPI_Datatype type, MPI_Comm comm, bool copied, bool keeps) {
  if (at == STRETTO_IN_PLACE) return Status::ok;
  const Status s = buffer.take(at, count, type, comm, copied, keeps);
  at = buffer.data();
  return s;
}

Status lay_out_bcast(const WrappedCall& call, const Communicator& c, CallBuffers* s) {
  auto& [send, recv] = s->passed.buffers = buffers_of(call, c, 0);
  const bool apart = lie_apart(c, send, recv);
  return c.rank == call.root ? give(s->given, send, call.recvcount, call.recvtype, call.comm, apart)
                             : take(s->taken, recv, call.recvcount, call.recvtype, call.comm, apart, false);
}

Status lay_out_to_all(const WrappedCall& call, const Communicator& c, CallBuffers* s) {
  s->passed.extent = extent_of(call.recvtype);
  auto& [send, recv] = s->passed.buffers = buffers_of(call, c, s->passed.extent);
  const bool in_place = send == STRETTO_IN_PLACE, apart = lie_apart(c, send, recv);
  const std::int64_t count = call.operation == Function::alltoall ? call.sendcount * c.size : call.sendcount;
  const Status given = give(s->given, send, count, call.sendtype, call.comm, apart || is_shared(send, recv));
  if (given != Status::ok) return given;
  return take(s->taken, recv, call.recvcount * c.size, call.recvtype, call.comm, apart, in_place);
}

Status lay_out_gather(const WrappedCall& call, const Communicator& c, CallBuffers* s) {
  const bool root = c.rank == call.root;
  s->passed.extent = root ? extent_of(call.recvtype) : 0;
  auto& [send, recv] = s->passed.buffers = buffers_of(call, c, s->passed.extent);
  const bool in_place = send == STRETTO_IN_PLACE, apart = lie_apart(c, send, recv);
  const Status given = give(s->given, send, call.sendcount, call.sendtype, call.comm, apart || is_shared(send, recv));
  if (given != Status::ok || !root) return given;
  return take(s->taken, recv, call.recvcount * c.size, call.recvtype, call.comm, apart, in_place);
}

Status lay_out_scatter(const WrappedCall& call, const Communicator& c, CallBuffers* s) {
  const bool root = c.rank == call.root;
  s->passed.extent = root ? extent_of(call.sendtype) : 0;
  auto& [send, recv] = s->passed.buffers = buffers_of(call, c, s->passed.extent);
  const bool apart = lie_apart(c, send, recv), copied = apart || is_shared(send, recv);
  const Status given =
      root ? give(s->given, send, call.sendcount * c.size, call.sendtype, call.comm, apart) : Status::ok;
  if (given != Status::ok) return given;
  return take(s->taken, recv, call.recvcount, call.recvtype, call.comm, copied, false);
}

Status lay_out_reduction(const WrappedCall& call, const Communicator& c, const Shape& shape, CallBuffers* s) {
  std::int64_t all = call.recvcount, own = call.recvcount;
  if (call.operation == Function::reduce_scatter_block) all *= c.size;
  if (call.operation == Function::reduce_scatter) {
    own = call.recvcounts[c.rank];
    all = 0;
    for (int r = 0; r < c.size; ++r) {
      all += call.recvcounts[r];
      s->counts.push_back(to_size(call.recvcounts[r] * shape.element->parts));
    }
  }
  auto& [send, recv] = s->passed.buffers = buffers_of(call, c, 0);
  if (!lie_apart(c, send, recv)) return Status::ok;
  const bool in_place = send == STRETTO_IN_PLACE;
  const Status given = give(s->given, send, all, call.recvtype, call.comm, true);
  if (given != Status::ok || !recv) return given;
  return take(s->taken, recv, in_place ? all : own, call.recvtype, call.comm, true, in_place);
}

Status lay_out(const WrappedCall& call, const Communicator& c, const Shape& shape, CallBuffers* s) {
  if (shape.element) return lay_out_reduction(call, c, shape, s);
  if (call.operation == Function::bcast) return lay_out_bcast(call, c, s);
  if (call.operation == Function::gather) return lay_out_gather(call, c, s);
  if (call.operation == Function::scatter) return lay_out_scatter(call, c, s);
  return call.operation == Function::barrier ? Status::ok : lay_out_to_all(call, c, s);
}

// Precondition: lay_out().
stretto_call record_of(const WrappedCall& call, const Communicator& c, const Shape& shape,
                       const CallBuffers& call_buffers) noexcept {
  const auto [send, recv] = call_buffers.passed.buffers;
  stretto_call record = STRETTO_CALL_INIT;
  record.collective = stretto::call::to_c(*collective_of(call.operation));
  record.sendbuf = send;
  record.recvbuf = call.operation == Function::bcast && c.rank == call.root ? call_buffers.given.data() : recv;
  record.root = call.root;
  record.count = to_size(shape.bytes);
  if (shape.element) {
    record.type = shape.element->type;
    record.op = shape.op;
    record.count = to_size(call.recvcount) * static_cast<std::size_t>(shape.element->parts);
    record.recvcounts = call_buffers.counts.data();
  } else if (shape.moved) {
    record.type = shape.moved->type;
    record.count = to_size(shape.bytes) / stretto_type_size(record.type);
  }
  return record;
}

// Calls without copies, and short ones that are packed.
bool can_keep(const WrappedCall& call, const Communicator& c, const PassedBuffers& passed,
              api::PreparedName* as) noexcept {
  as->extent = static_cast<std::uint16_t>(passed.extent);
  if (as->extent != passed.extent) return false;
  return buffers_of(call, c, passed.extent) == passed.buffers ? key_of(call, &as->key) : packed_key_of(call, &as->key);
}

// A failure before the C interface sees the call gives up the communicator.
template <class Step>
stretto_status prepare(const Communicator& c, const Step& step) noexcept {
  const Status s = guarded("for a copy of a buffer", step);
  if (s != Status::ok) give_up(c, s);
  return to_c(s);
}

struct Blocks {
  bool dense = false, in_place = false;
  std::byte* base = nullptr;
  std::vector<std::size_t> counts, displs;
  std::vector<std::byte> packed;
  Buffer send;
};

Status lay_out_blocks(const WrappedCall& call, const Communicator& c, const Shape& shape, Blocks* b) {
  const std::int64_t size = bytes_of(call.recvtype), extent = extent_of(call.recvtype);
  b->dense = is_dense(call.recvtype);
  b->in_place = is_own(call.sendbuf, call.recvbuf, call.displs[c.rank] * extent);
  std::int64_t lowest = 0;
  for (int r = 0; r < c.size; ++r) lowest = std::min(lowest, call.displs[r] * extent);
  b->base = static_cast<std::byte*>(call.recvbuf) + (b->dense ? lowest : 0);
  std::vector<std::size_t> ends(1, 0);
  for (int r = 0; r < c.size; ++r) {
    b->counts.push_back(to_size(call.recvcounts[r] * size));
    b->displs.push_back(to_size(call.displs[r] * extent - lowest));
    ends.push_back(ends.back() + b->counts.back());
  }
  if (!b->dense) {
    b->packed.resize(to_size(shape.bytes));
    b->base = b->packed.data();
    b->displs.assign(ends.begin(), ends.end() - 1);
  }
  if (!b->in_place)
    return b->send.give(call.sendbuf, call.sendcount, call.sendtype, call.comm, is_shared(call.sendbuf, b->base));
  if (b->dense) return Status::ok;
  const std::byte* const own = static_cast<const std::byte*>(call.recvbuf) + call.displs[c.rank] * extent;
  return pack(own, call.recvcounts[c.rank], call.recvtype, call.comm,
              b->base + b->displs[static_cast<std::size_t>(c.rank)]);
}

stretto_status allgatherv(const WrappedCall& call, const Communicator& c, const Shape& shape,
                          const stretto_options& options) {
  Blocks b;
  if (const stretto_status s = prepare(c, [&] { return lay_out_blocks(call, c, shape, &b); }); s != STRETTO_OK)
    return s;
  const stretto_type type = shape.moved ? shape.moved->type : STRETTO_U8;
  for (std::vector<std::size_t>* const bytes : {&b.counts, &b.displs})
    for (std::size_t& n : *bytes) n /= stretto_type_size(type);
  const stretto_status done = stretto_allgatherv(b.in_place ? STRETTO_IN_PLACE : b.send.data(), b.base, b.counts.data(),
                                                 b.displs.data(), type, c.comm, &options);
  const std::int64_t extent = extent_of(call.recvtype);
  for (int r = 0; r < c.size && done == STRETTO_OK && !b.dense; ++r) {
    std::byte* const place = static_cast<std::byte*>(call.recvbuf) + call.displs[r] * extent;
    const Status s =
        unpack(b.base + b.displs[static_cast<std::size_t>(r)], place, call.recvcounts[r], call.recvtype, call.comm);
    if (s != Status::ok) return to_c(s);
  }
  return done;
}

// The root of a broadcast ends with the values of all others.
Status round_as_others(const Shape& shape, const stretto_options& o, void* values) noexcept {
  const stretto_type type = shape.moved->type;
  return api::round_as_received(type, to_size(shape.bytes) / stretto_type_size(type), o.bound_kind, *o.report, values);
}

}  // namespace

void give_up(const Communicator& c, Status s) noexcept {
  if (!c.comm) return;
  const api::Guard guard = c.comm->guard();
  c.comm->give_up(s, message());
}

stretto_status serve(const WrappedCall& call, const Communicator& c, const Shape& shape, const stretto_options& options,
                     bool keeps) {
  if (call.operation == Function::allgatherv) return allgatherv(call, c, shape, options);
  CallBuffers call_buffers;
  if (const stretto_status s = prepare(c, [&] { return lay_out(call, c, shape, &call_buffers); }); s != STRETTO_OK)
    return s;
  const stretto_call record = record_of(call, c, shape, call_buffers);
  api::PreparedName as;
  const stretto_status done = keeps && can_keep(call, c, call_buffers.passed, &as)
                                  ? to_c(api::run_anew(c.comm, &options, record, &as))
                                  : stretto_run(&record, c.comm, &options);
  if (done == STRETTO_OK && shape.moved && call.operation == Function::bcast && c.rank == call.root)
    return to_c(round_as_others(shape, options, call_buffers.given.data()));
  return done == STRETTO_OK ? to_c(call_buffers.taken.put_back()) : done;
}

stretto_status serve_started(const WrappedCall& call, const Communicator& c, const Shape& shape,
                             const stretto_options& options, CallBuffers* call_buffers, stretto_request* request) {
  const stretto_status s = prepare(c, [&] {
    const Status laid = lay_out(call, c, shape, call_buffers);
    return laid == Status::ok ? call_buffers->taken.hold() : laid;
  });
  if (s != STRETTO_OK) return s;
  const stretto_call record = record_of(call, c, shape, *call_buffers);
  return stretto_irun(&record, c.comm, &options, request);
}

}  // namespace stretto::mpi
