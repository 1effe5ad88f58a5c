#include <new>

#include "api/operation/form.hpp"
#include "api/operation/operation.hpp"
#include "base/progress/communication_cores.hpp"
#include "call/enums.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace stretto;
using namespace stretto::api;

namespace {

stretto_status start(stretto_comm comm, const stretto_options* options, stretto_request* request,
                     const stretto_call& record) noexcept {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  *request = nullptr;
  if (const Status s = usable(comm); s != Status::ok) return to_c(s);
  Guard guard = comm->guard();
  auto* r = new (std::nothrow) stretto_request_s(*comm);
  if (!r) {
    const Status s = fail(Status::out_of_memory, "no memory for a request");
    comm->give_up(s, message());
    return to_c(s);
  }
  Call call;
  call.nonblocking = true;
  select::Decision decision;
  const Status own = form(*comm, options, record, &call, &decision);
  r->operation.emplace(*comm).start(std::move(call), std::move(decision), own);
  ++comm->requests;
  *request = r;
  CommunicationCores::mine().wake();
  r->operation->lead(guard);
  return STRETTO_OK;
}

}  // namespace

extern "C" {

stretto_status stretto_irun(const stretto_call* call, stretto_comm comm, const stretto_options* options,
                            stretto_request* request) {
  if (request) *request = nullptr;
  stretto_call record = STRETTO_CALL_INIT;
  if (const Status s = read_record(call, &record); s != Status::ok) return to_c(s);
  return start(comm, options, request, record);
}

stretto_status stretto_iallreduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                                  stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, record_of(STRETTO_ALLREDUCE, sendbuf, recvbuf, count, type, op));
}

stretto_status stretto_iallreduce_multi(const void* const* contributions, int k, void* recvbuf, size_t count,
                                        stretto_type type, stretto_op op, stretto_comm comm,
                                        const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, multi(contributions, k, recvbuf, count, type, op));
}

stretto_status stretto_ireduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                               int root, stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, record_of(STRETTO_REDUCE, sendbuf, recvbuf, count, type, op, root));
}

stretto_status stretto_ireduce_scatter_block(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                             stretto_op op, stretto_comm comm, const stretto_options* options,
                                             stretto_request* request) {
  return start(comm, options, request, record_of(STRETTO_REDUCE_SCATTER_BLOCK, sendbuf, recvbuf, count, type, op));
}

stretto_status stretto_ireduce_scatter(const void* sendbuf, void* recvbuf, const size_t* counts, stretto_type type,
                                       stretto_op op, stretto_comm comm, const stretto_options* options,
                                       stretto_request* request) {
  return start(comm, options, request,
               with_received(record_of(STRETTO_REDUCE_SCATTER, sendbuf, recvbuf, 0, type, op), counts, nullptr));
}

stretto_status stretto_iscan(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                             stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, record_of(STRETTO_SCAN, sendbuf, recvbuf, count, type, op));
}

stretto_status stretto_iexscan(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                               stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, record_of(STRETTO_EXSCAN, sendbuf, recvbuf, count, type, op));
}

stretto_status stretto_iallgather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                  stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, moving(STRETTO_ALLGATHER, sendbuf, recvbuf, count, type));
}

stretto_status stretto_iallgatherv(const void* sendbuf, void* recvbuf, const size_t* counts, const size_t* displs,
                                   stretto_type type, stretto_comm comm, const stretto_options* options,
                                   stretto_request* request) {
  return start(comm, options, request,
               with_received(moving(STRETTO_ALLGATHERV, sendbuf, recvbuf, 0, type), counts, displs));
}

stretto_status stretto_ibcast(void* buffer, size_t count, stretto_type type, int root, stretto_comm comm,
                              const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, moving(STRETTO_BCAST, nullptr, buffer, count, type, root));
}

stretto_status stretto_iscatter(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                                stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, moving(STRETTO_SCATTER, sendbuf, recvbuf, count, type, root));
}

stretto_status stretto_iscatterv(const void* sendbuf, const size_t* counts, const size_t* displs, void* recvbuf,
                                 size_t recvcount, stretto_type type, int root, stretto_comm comm,
                                 const stretto_options* options, stretto_request* request) {
  return start(comm, options, request,
               with_sent(moving(STRETTO_SCATTERV, sendbuf, recvbuf, recvcount, type, root), counts, displs));
}

stretto_status stretto_igather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                               stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, moving(STRETTO_GATHER, sendbuf, recvbuf, count, type, root));
}

stretto_status stretto_igatherv(const void* sendbuf, size_t sendcount, void* recvbuf, const size_t* counts,
                                const size_t* displs, stretto_type type, int root, stretto_comm comm,
                                const stretto_options* options, stretto_request* request) {
  return start(comm, options, request,
               with_received(moving(STRETTO_GATHERV, sendbuf, recvbuf, sendcount, type, root), counts, displs));
}

stretto_status stretto_ialltoall(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_comm comm,
                                 const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, moving(STRETTO_ALLTOALL, sendbuf, recvbuf, count, type));
}

stretto_status stretto_ialltoallv(const void* sendbuf, const size_t* sendcounts, const size_t* sdispls, void* recvbuf,
                                  const size_t* recvcounts, const size_t* rdispls, stretto_type type, stretto_comm comm,
                                  const stretto_options* options, stretto_request* request) {
  return start(comm, options, request,
               with_received(with_sent(moving(STRETTO_ALLTOALLV, sendbuf, recvbuf, 0, type), sendcounts, sdispls),
                             recvcounts, rdispls));
}

stretto_status stretto_ibarrier(stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, barrier());
}

}  // extern "C"
