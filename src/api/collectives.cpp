// The blocking collectives under their C names: each is put down as a Call once, and runs.
#include "api/operation/form.hpp"
#include "api/operation/operation.hpp"
#include "call/enums.hpp"

using namespace stretto;
using namespace stretto::api;

namespace {

template <class Build>
[[gnu::noinline]] stretto_status run(stretto_comm comm, const stretto_options* options, const Build& build,
                                     bool compared = false) noexcept {
  if (const Status s = usable(comm); s != Status::ok) return to_c(s);
  Guard guard = comm->guard();
  comm->prepared.passed_by();
  Call call;
  select::Decision decision;
  const Status own = form(*comm, options, build, &call, &decision);
  if (Status s = own;
      own == Status::ok && !call.device && !compared && run_at_once(*comm, call, decision, &s, &compared))
    return to_c(s);
  Operation operation(*comm);
  operation.start(std::move(call), std::move(decision), own, compared);
  return to_c(operation.wait(guard));
}

[[gnu::always_inline]] inline stretto_status run(stretto_comm comm, const stretto_options* options,
                                                 const Plain& call) noexcept {
  Status s = Status::ok;
  bool compared = false;
  const Shape& is = call.shape;
  if (comm && !(comm->prepared.asks_for_devices() && on_device(call.send, call.recv)) &&
      comm->prepared.again(*comm, is.collective, is.type, is.op, is.root, is.count, call.send, call.recv, options, &s,
                           &compared))
    return to_c(s);
  return run<Plain>(comm, options, call, compared);
}

}  // namespace

extern "C" {

stretto_status stretto_allreduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                                 stretto_comm comm, const stretto_options* options) {
  return run(comm, options, plain(Collective::allreduce, sendbuf, recvbuf, count, type, op, 0));
}

stretto_status stretto_allreduce_multi(const void* const* contributions, int k, void* recvbuf, size_t count,
                                       stretto_type type, stretto_op op, stretto_comm comm,
                                       const stretto_options* options) {
  return run(comm, options, multi(contributions, k, recvbuf, count, type, op));
}

stretto_status stretto_reduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                              int root, stretto_comm comm, const stretto_options* options) {
  return run(comm, options, plain(Collective::reduce, sendbuf, recvbuf, count, type, op, root));
}

stretto_status stretto_reduce_scatter_block(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                            stretto_op op, stretto_comm comm, const stretto_options* options) {
  return run(comm, options, plain(Collective::reduce_scatter_block, sendbuf, recvbuf, count, type, op, 0));
}

stretto_status stretto_reduce_scatter(const void* sendbuf, void* recvbuf, const size_t* counts, stretto_type type,
                                      stretto_op op, stretto_comm comm, const stretto_options* options) {
  return run(comm, options, with_counts(Collective::reduce_scatter, sendbuf, recvbuf, counts, nullptr, type, op));
}

stretto_status stretto_allgather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_comm comm,
                                 const stretto_options* options) {
  return run(comm, options, moving(Collective::allgather, sendbuf, recvbuf, count, type));
}

stretto_status stretto_allgatherv(const void* sendbuf, void* recvbuf, const size_t* counts, const size_t* displs,
                                  stretto_type type, stretto_comm comm, const stretto_options* options) {
  return run(comm, options, with_counts(Collective::allgatherv, sendbuf, recvbuf, counts, displs, type, STRETTO_SUM));
}

stretto_status stretto_bcast(void* buffer, size_t count, stretto_type type, int root, stretto_comm comm,
                             const stretto_options* options) {
  return run(comm, options, broadcasting(rank_of(comm), buffer, count, type, root));
}

stretto_status stretto_scatter(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                               stretto_comm comm, const stretto_options* options) {
  return run(comm, options, moving(Collective::scatter, sendbuf, recvbuf, count, type, root));
}

stretto_status stretto_scatterv(const void* sendbuf, const size_t* counts, const size_t* displs, void* recvbuf,
                                size_t recvcount, stretto_type type, int root, stretto_comm comm,
                                const stretto_options* options) {
  return run(comm, options,
             with_root_counts(Collective::scatterv, sendbuf, recvbuf, recvcount, counts, displs, type, root));
}

stretto_status stretto_gather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                              stretto_comm comm, const stretto_options* options) {
  return run(comm, options, moving(Collective::gather, sendbuf, recvbuf, count, type, root));
}

stretto_status stretto_gatherv(const void* sendbuf, size_t sendcount, void* recvbuf, const size_t* counts,
                               const size_t* displs, stretto_type type, int root, stretto_comm comm,
                               const stretto_options* options) {
  return run(comm, options,
             with_root_counts(Collective::gatherv, sendbuf, recvbuf, sendcount, counts, displs, type, root));
}

stretto_status stretto_alltoall(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_comm comm,
                                const stretto_options* options) {
  return run(comm, options, moving(Collective::alltoall, sendbuf, recvbuf, count, type));
}

stretto_status stretto_alltoallv(const void* sendbuf, const size_t* sendcounts, const size_t* sdispls, void* recvbuf,
                                 const size_t* recvcounts, const size_t* rdispls, stretto_type type, stretto_comm comm,
                                 const stretto_options* options) {
  return run(comm, options, with_pair_counts(sendbuf, sendcounts, sdispls, recvbuf, recvcounts, rdispls, type));
}

stretto_status stretto_barrier(stretto_comm comm, const stretto_options* options) {
  return run(comm, options, barrier());
}

}  // extern "C"
