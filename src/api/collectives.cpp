#include "api/device/placement.hpp"
#include "api/operation/form.hpp"
#include "api/operation/operation.hpp"
#include "call/enums.hpp"

using namespace stretto;
using namespace stretto::api;

namespace {

// Inlined where the collective is known, so that a prepared call costs one comparison.
[[gnu::always_inline]] inline stretto_status run(stretto_comm comm, const stretto_options* options,
                                                 const stretto_call& record) noexcept {
  bool compared = false;
  if (comm && is_collective(record.collective) && is_plain(record.collective)) {
    const Shape is = shape_of(record);
    const void* const send = send_of(record, comm->rank);
    void* const recv = recv_of(record, comm->rank);
    Status s = Status::ok;
    if (!(comm->prepared.asks_for_devices() && on_device(send, recv)) &&
        comm->prepared.again(*comm, is.collective, is.type, is.op, is.root, is.count, send, recv, options, &s,
                             &compared))
      return to_c(s);
  }
  return to_c(run_anew(comm, options, record, nullptr, compared));
}

}  // namespace

extern "C" {

stretto_status stretto_run(const stretto_call* call, stretto_comm comm, const stretto_options* options) {
  stretto_call record = STRETTO_CALL_INIT;
  if (const Status s = read_record(call, &record); s != Status::ok) return to_c(s);
  return run(comm, options, record);
}

stretto_status stretto_allreduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                                 stretto_comm comm, const stretto_options* options) {
  return run(comm, options, record_of(STRETTO_ALLREDUCE, sendbuf, recvbuf, count, type, op));
}

stretto_status stretto_allreduce_multi(const void* const* contributions, int k, void* recvbuf, size_t count,
                                       stretto_type type, stretto_op op, stretto_comm comm,
                                       const stretto_options* options) {
  return run(comm, options, multi(contributions, k, recvbuf, count, type, op));
}

stretto_status stretto_reduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                              int root, stretto_comm comm, const stretto_options* options) {
  return run(comm, options, record_of(STRETTO_REDUCE, sendbuf, recvbuf, count, type, op, root));
}

stretto_status stretto_reduce_scatter_block(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                            stretto_op op, stretto_comm comm, const stretto_options* options) {
  return run(comm, options, record_of(STRETTO_REDUCE_SCATTER_BLOCK, sendbuf, recvbuf, count, type, op));
}

stretto_status stretto_reduce_scatter(const void* sendbuf, void* recvbuf, const size_t* counts, stretto_type type,
                                      stretto_op op, stretto_comm comm, const stretto_options* options) {
  return run(comm, options,
             with_received(record_of(STRETTO_REDUCE_SCATTER, sendbuf, recvbuf, 0, type, op), counts, nullptr));
}

stretto_status stretto_scan(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                            stretto_comm comm, const stretto_options* options) {
  return run(comm, options, record_of(STRETTO_SCAN, sendbuf, recvbuf, count, type, op));
}

stretto_status stretto_exscan(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                              stretto_comm comm, const stretto_options* options) {
  return run(comm, options, record_of(STRETTO_EXSCAN, sendbuf, recvbuf, count, type, op));
}

stretto_status stretto_allgather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_comm comm,
                                 const stretto_options* options) {
  return run(comm, options, moving(STRETTO_ALLGATHER, sendbuf, recvbuf, count, type));
}

stretto_status stretto_allgatherv(const void* sendbuf, void* recvbuf, const size_t* counts, const size_t* displs,
                                  stretto_type type, stretto_comm comm, const stretto_options* options) {
  return run(comm, options, with_received(moving(STRETTO_ALLGATHERV, sendbuf, recvbuf, 0, type), counts, displs));
}

stretto_status stretto_bcast(void* buffer, size_t count, stretto_type type, int root, stretto_comm comm,
                             const stretto_options* options) {
  return run(comm, options, moving(STRETTO_BCAST, nullptr, buffer, count, type, root));
}

stretto_status stretto_scatter(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                               stretto_comm comm, const stretto_options* options) {
  return run(comm, options, moving(STRETTO_SCATTER, sendbuf, recvbuf, count, type, root));
}

stretto_status stretto_scatterv(const void* sendbuf, const size_t* counts, const size_t* displs, void* recvbuf,
                                size_t recvcount, stretto_type type, int root, stretto_comm comm,
                                const stretto_options* options) {
  return run(comm, options,
             with_sent(moving(STRETTO_SCATTERV, sendbuf, recvbuf, recvcount, type, root), counts, displs));
}

stretto_status stretto_gather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                              stretto_comm comm, const stretto_options* options) {
  return run(comm, options, moving(STRETTO_GATHER, sendbuf, recvbuf, count, type, root));
}

stretto_status stretto_gatherv(const void* sendbuf, size_t sendcount, void* recvbuf, const size_t* counts,
                               const size_t* displs, stretto_type type, int root, stretto_comm comm,
                               const stretto_options* options) {
  return run(comm, options,
             with_received(moving(STRETTO_GATHERV, sendbuf, recvbuf, sendcount, type, root), counts, displs));
}

stretto_status stretto_alltoall(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_comm comm,
                                const stretto_options* options) {
  return run(comm, options, moving(STRETTO_ALLTOALL, sendbuf, recvbuf, count, type));
}

stretto_status stretto_alltoallv(const void* sendbuf, const size_t* sendcounts, const size_t* sdispls, void* recvbuf,
                                 const size_t* recvcounts, const size_t* rdispls, stretto_type type, stretto_comm comm,
                                 const stretto_options* options) {
  return run(comm, options,
             with_received(with_sent(moving(STRETTO_ALLTOALLV, sendbuf, recvbuf, 0, type), sendcounts, sdispls),
                           recvcounts, rdispls));
}

stretto_status stretto_barrier(stretto_comm comm, const stretto_options* options) {
  return run(comm, options, barrier());
}

}  // extern "C"
