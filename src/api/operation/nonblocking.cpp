// The collectives that are started, under their C names: each is put down as a Call once, and waits in a request.
#include <new>

#include "api/operation/form.hpp"
#include "api/operation/operation.hpp"
#include "base/communication_cores.hpp"
#include "call/enums.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace stretto;
using namespace stretto::api;

namespace {

template <class Build>
stretto_status start(stretto_comm comm, const stretto_options* options, stretto_request* request,
                     const Build& build) noexcept {
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
  const Status own = form(*comm, options, build, &call, &decision);
  r->start(std::move(call), std::move(decision), own);
  ++comm->requests;
  *request = r;
  CommunicationCores::mine().wake();
  r->operation->lead(guard);
  return STRETTO_OK;
}

}  // namespace

extern "C" {

stretto_status stretto_iallreduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                                  stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, plain(Collective::allreduce, sendbuf, recvbuf, count, type, op, 0));
}

stretto_status stretto_iallreduce_multi(const void* const* contributions, int k, void* recvbuf, size_t count,
                                        stretto_type type, stretto_op op, stretto_comm comm,
                                        const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, multi(contributions, k, recvbuf, count, type, op));
}

stretto_status stretto_ireduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                               int root, stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, plain(Collective::reduce, sendbuf, recvbuf, count, type, op, root));
}

stretto_status stretto_ireduce_scatter_block(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                             stretto_op op, stretto_comm comm, const stretto_options* options,
                                             stretto_request* request) {
  return start(comm, options, request, plain(Collective::reduce_scatter_block, sendbuf, recvbuf, count, type, op, 0));
}

stretto_status stretto_ireduce_scatter(const void* sendbuf, void* recvbuf, const size_t* counts, stretto_type type,
                                       stretto_op op, stretto_comm comm, const stretto_options* options,
                                       stretto_request* request) {
  return start(comm, options, request,
               with_counts(Collective::reduce_scatter, sendbuf, recvbuf, counts, nullptr, type, op));
}

stretto_status stretto_iallgather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                  stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, moving(Collective::allgather, sendbuf, recvbuf, count, type));
}

stretto_status stretto_iallgatherv(const void* sendbuf, void* recvbuf, const size_t* counts, const size_t* displs,
                                   stretto_type type, stretto_comm comm, const stretto_options* options,
                                   stretto_request* request) {
  return start(comm, options, request,
               with_counts(Collective::allgatherv, sendbuf, recvbuf, counts, displs, type, STRETTO_SUM));
}

stretto_status stretto_ibcast(void* buffer, size_t count, stretto_type type, int root, stretto_comm comm,
                              const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, broadcasting(rank_of(comm), buffer, count, type, root));
}

stretto_status stretto_iscatter(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                                stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, moving(Collective::scatter, sendbuf, recvbuf, count, type, root));
}

stretto_status stretto_iscatterv(const void* sendbuf, const size_t* counts, const size_t* displs, void* recvbuf,
                                 size_t recvcount, stretto_type type, int root, stretto_comm comm,
                                 const stretto_options* options, stretto_request* request) {
  return start(comm, options, request,
               with_root_counts(Collective::scatterv, sendbuf, recvbuf, recvcount, counts, displs, type, root));
}

stretto_status stretto_igather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                               stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, moving(Collective::gather, sendbuf, recvbuf, count, type, root));
}

stretto_status stretto_igatherv(const void* sendbuf, size_t sendcount, void* recvbuf, const size_t* counts,
                                const size_t* displs, stretto_type type, int root, stretto_comm comm,
                                const stretto_options* options, stretto_request* request) {
  return start(comm, options, request,
               with_root_counts(Collective::gatherv, sendbuf, recvbuf, sendcount, counts, displs, type, root));
}

stretto_status stretto_ialltoall(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_comm comm,
                                 const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, moving(Collective::alltoall, sendbuf, recvbuf, count, type));
}

stretto_status stretto_ialltoallv(const void* sendbuf, const size_t* sendcounts, const size_t* sdispls, void* recvbuf,
                                  const size_t* recvcounts, const size_t* rdispls, stretto_type type, stretto_comm comm,
                                  const stretto_options* options, stretto_request* request) {
  return start(comm, options, request,
               with_pair_counts(sendbuf, sendcounts, sdispls, recvbuf, recvcounts, rdispls, type));
}

stretto_status stretto_ibarrier(stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, barrier());
}

}  // extern "C"
