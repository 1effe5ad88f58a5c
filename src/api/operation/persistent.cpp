#include <new>

#include "api/operation/form.hpp"
#include "api/operation/operation.hpp"
#include "base/guarded.hpp"
#include "base/progress/communication_cores.hpp"
#include "call/enums.hpp"
#include "stretto/stretto_persistent.h"

using namespace stretto;
using namespace stretto::api;

namespace {

stretto_status prepare(stretto_comm comm, const stretto_options* options, stretto_request* request,
                       const stretto_call& record) noexcept {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  *request = nullptr;
  if (const Status s = usable(comm); s != Status::ok) return to_c(s);
  auto* r = new (std::nothrow) stretto_request_s(*comm);
  if (!r) return to_c(fail(Status::out_of_memory, "no memory for a request"));
  const Guard guard = comm->guard();
  r->own = guarded("for the arguments", [&] {
    r->call.emplace().nonblocking = true;
    return read(*comm, options, record, &*r->call);
  });
  if (r->own != Status::ok) copy_message(r->wrong);
  ++comm->requests;
  *request = r;
  return STRETTO_OK;
}

}  // namespace

extern "C" {

stretto_status stretto_start(stretto_request request) {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  stretto_comm_s& comm = request->comm;
  if (const Status s = usable(&comm); s != Status::ok) return to_c(s);
  Guard guard = comm.guard();
  if (!request->call) return to_c(fail(Status::invalid_argument, "the request is not a persistent one"));
  if (request->runs()) return to_c(fail(Status::invalid_argument, "the request was started, and is not complete"));
  Call call;
  select::Decision decision;
  bool done = false;
  const Status own = guarded("to start a collective", [&] {
    call = *request->call;
    decision = comm.selector.decide(call, comm.backends.serve(call));
    done = true;
    return request->own == Status::ok ? Status::ok : fail(request->own, std::string_view(request->wrong.data()));
  });
  if (!done) decision.known = false;
  request->operation.emplace(comm).start(std::move(call), std::move(decision), own);
  CommunicationCores::mine().wake();
  request->operation->lead(guard);
  return STRETTO_OK;
}

stretto_status stretto_run_init(const stretto_call* call, stretto_comm comm, const stretto_options* options,
                                stretto_request* request) {
  if (request) *request = nullptr;
  stretto_call record = STRETTO_CALL_INIT;
  if (const Status s = read_record(call, &record); s != Status::ok) return to_c(s);
  return prepare(comm, options, request, record);
}

stretto_status stretto_allreduce_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                      stretto_op op, stretto_comm comm, const stretto_options* options,
                                      stretto_request* request) {
  return prepare(comm, options, request, record_of(STRETTO_ALLREDUCE, sendbuf, recvbuf, count, type, op));
}

stretto_status stretto_allreduce_multi_init(const void* const* contributions, int k, void* recvbuf, size_t count,
                                            stretto_type type, stretto_op op, stretto_comm comm,
                                            const stretto_options* options, stretto_request* request) {
  return prepare(comm, options, request, multi(contributions, k, recvbuf, count, type, op));
}

stretto_status stretto_reduce_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                                   int root, stretto_comm comm, const stretto_options* options,
                                   stretto_request* request) {
  return prepare(comm, options, request, record_of(STRETTO_REDUCE, sendbuf, recvbuf, count, type, op, root));
}

stretto_status stretto_reduce_scatter_block_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                                 stretto_op op, stretto_comm comm, const stretto_options* options,
                                                 stretto_request* request) {
  return prepare(comm, options, request, record_of(STRETTO_REDUCE_SCATTER_BLOCK, sendbuf, recvbuf, count, type, op));
}

stretto_status stretto_reduce_scatter_init(const void* sendbuf, void* recvbuf, const size_t* counts, stretto_type type,
                                           stretto_op op, stretto_comm comm, const stretto_options* options,
                                           stretto_request* request) {
  return prepare(comm, options, request,
                 with_received(record_of(STRETTO_REDUCE_SCATTER, sendbuf, recvbuf, 0, type, op), counts, nullptr));
}

stretto_status stretto_scan_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                                 stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return prepare(comm, options, request, record_of(STRETTO_SCAN, sendbuf, recvbuf, count, type, op));
}

stretto_status stretto_exscan_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                                   stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return prepare(comm, options, request, record_of(STRETTO_EXSCAN, sendbuf, recvbuf, count, type, op));
}

stretto_status stretto_allgather_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                      stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return prepare(comm, options, request, moving(STRETTO_ALLGATHER, sendbuf, recvbuf, count, type));
}

stretto_status stretto_allgatherv_init(const void* sendbuf, void* recvbuf, const size_t* counts, const size_t* displs,
                                       stretto_type type, stretto_comm comm, const stretto_options* options,
                                       stretto_request* request) {
  return prepare(comm, options, request,
                 with_received(moving(STRETTO_ALLGATHERV, sendbuf, recvbuf, 0, type), counts, displs));
}

stretto_status stretto_bcast_init(void* buffer, size_t count, stretto_type type, int root, stretto_comm comm,
                                  const stretto_options* options, stretto_request* request) {
  return prepare(comm, options, request, moving(STRETTO_BCAST, nullptr, buffer, count, type, root));
}

stretto_status stretto_scatter_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                                    stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return prepare(comm, options, request, moving(STRETTO_SCATTER, sendbuf, recvbuf, count, type, root));
}

stretto_status stretto_scatterv_init(const void* sendbuf, const size_t* counts, const size_t* displs, void* recvbuf,
                                     size_t recvcount, stretto_type type, int root, stretto_comm comm,
                                     const stretto_options* options, stretto_request* request) {
  return prepare(comm, options, request,
                 with_sent(moving(STRETTO_SCATTERV, sendbuf, recvbuf, recvcount, type, root), counts, displs));
}

stretto_status stretto_gather_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                                   stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return prepare(comm, options, request, moving(STRETTO_GATHER, sendbuf, recvbuf, count, type, root));
}

stretto_status stretto_gatherv_init(const void* sendbuf, size_t sendcount, void* recvbuf, const size_t* counts,
                                    const size_t* displs, stretto_type type, int root, stretto_comm comm,
                                    const stretto_options* options, stretto_request* request) {
  return prepare(comm, options, request,
                 with_received(moving(STRETTO_GATHERV, sendbuf, recvbuf, sendcount, type, root), counts, displs));
}

stretto_status stretto_alltoall_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                     stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return prepare(comm, options, request, moving(STRETTO_ALLTOALL, sendbuf, recvbuf, count, type));
}

stretto_status stretto_alltoallv_init(const void* sendbuf, const size_t* sendcounts, const size_t* sdispls,
                                      void* recvbuf, const size_t* recvcounts, const size_t* rdispls, stretto_type type,
                                      stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return prepare(comm, options, request,
                 with_received(with_sent(moving(STRETTO_ALLTOALLV, sendbuf, recvbuf, 0, type), sendcounts, sdispls),
                               recvcounts, rdispls));
}

stretto_status stretto_barrier_init(stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return prepare(comm, options, request, barrier());
}

}  // extern "C"
