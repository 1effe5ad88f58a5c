// The collectives under their C names: each is put down as a Call once, and run or started from there.
#include <new>

#include "api/arguments.hpp"
#include "api/operation.hpp"
#include "api/plan.hpp"
#include "api/straight.hpp"
#include "api/types.hpp"

using namespace stretto;
using api::Call;
using api::Collective;
using api::Shape;
using api::to_c;

namespace {

// A call without arrays, which is all there is to most collectives.
struct Plain {
  Shape shape;
  const void* send = nullptr;
  void* recv = nullptr;

  Status operator()(Call& c, int, int) const noexcept {
    c.collective = shape.collective;
    c.send = send;
    c.recv = recv;
    c.count = shape.count;
    c.type = shape.type;
    c.op = shape.op;
    c.root = shape.root;
    return Status::ok;
  }
};

Plain plain(Collective what, const void* send, void* recv, std::size_t count, stretto_type type, stretto_op op,
            int root = 0) noexcept {
  return {{what, type, op, root, count}, send, recv};
}

Plain moving(Collective what, const void* send, void* recv, std::size_t count, stretto_type type,
             int root = 0) noexcept {
  return plain(what, send, recv, count, type, STRETTO_SUM, root);
}

// The one buffer is what root gives and the others get.
Plain broadcasting(stretto_comm comm, void* buffer, std::size_t count, stretto_type type, int root) noexcept {
  const bool gives = comm && comm->rank == root;
  return moving(Collective::bcast, gives ? buffer : nullptr, gives ? nullptr : buffer, count, type, root);
}

Plain barrier() noexcept { return moving(Collective::barrier, nullptr, nullptr, 0, STRETTO_U8); }

// Reads and checks options and arguments into `call`; whatever fails is what this rank brings to the agreement.
template <class Build>
Status put_together(stretto_comm comm, const stretto_options* options, const Build& build, Call* call) noexcept {
  try {
    Status s = api::read_options(options, &call->settings);
    if (s == Status::ok) s = build(*call, comm->rank, comm->size);
    if (s == Status::ok)
      s = api::check_arguments(*call, {comm->rank, comm->size, &comm->carriers.natives, &comm->choices.groups()});
    if (s == Status::ok) {
      call->prospect = api::prospect_of(*call, *comm);
    } else {
      const std::string why = message();
      call->prospect = api::prospect_of(*call, *comm);  // to be where the others are, if they exchange anything
      s = fail(s, "{}", why);
    }
    return s;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory for the arguments"));
  }
}

template <class Build>
[[gnu::noinline]] stretto_status run(stretto_comm comm, const stretto_options* options, const Build& build,
                                     bool met = false) noexcept {
  if (!comm) return to_c(fail(Status::invalid_argument, "comm is NULL"));
  comm->straight.passed_by();
  Call call;
  call.met = met;
  const Status own = put_together(comm, options, build, &call);
  if (Status s = own; own == Status::ok && api::go_straight(*comm, call, &s)) return to_c(s);
  api::Operation operation(*comm);
  operation.start(std::move(call), own);
  return to_c(operation.wait());
}

[[gnu::always_inline]] inline stretto_status run(stretto_comm comm, const stretto_options* options,
                                                 const Plain& call) noexcept {
  Status s = Status::ok;
  bool met = false;
  if (comm && comm->straight.again(*comm, call.shape, call.send, call.recv, options, &s, &met)) return to_c(s);
  return run<Plain>(comm, options, call, met);
}

template <class Build>
stretto_status start(stretto_comm comm, const stretto_options* options, stretto_request* request,
                     const Build& build) noexcept {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  *request = nullptr;
  if (!comm) return to_c(fail(Status::invalid_argument, "comm is NULL"));
  auto* r = new (std::nothrow) stretto_request_s(*comm);
  if (!r) return to_c(fail(Status::out_of_memory, "no memory for a request"));
  Call call;
  call.nonblocking = true;
  const Status own = put_together(comm, options, build, &call);
  r->operation.start(std::move(call), own);
  ++comm->requests;
  *request = r;
  return STRETTO_OK;
}

// Counts of all ranks, or of the root alone.
Status copy_counts(Call& c, const std::size_t* counts, const std::size_t* displs, int ranks) {
  if (!counts) return fail(Status::invalid_argument, "counts is NULL");
  c.counts_given = true;
  c.counts.assign(counts, counts + ranks);
  if (displs) c.displs.assign(displs, displs + ranks);
  return Status::ok;
}

auto multi(const void* const* contributions, int k, void* recv, std::size_t count, stretto_type type, stretto_op op) {
  return [=](Call& c, int, int) {
    c.collective = Collective::allreduce_multi;
    c.recv = recv;
    c.count = count;
    c.type = type;
    c.op = op;
    if (k < 0) return fail(Status::invalid_argument, "k is {}", k);
    if (k > 0 && !contributions) return fail(Status::invalid_argument, "contributions is NULL with k = {}", k);
    if (k > 0) c.inputs.assign(contributions, contributions + k);
    return Status::ok;
  };
}

// Counts that every rank gives: its own block is among them.
auto with_counts(Collective what, const void* send, void* recv, const std::size_t* counts, const std::size_t* displs,
                 stretto_type type, stretto_op op) {
  return [=](Call& c, int rank, int ranks) {
    c.collective = what;
    c.send = send;
    c.recv = recv;
    c.type = type;
    c.op = op;
    const Status s = copy_counts(c, counts, displs, ranks);
    if (s == Status::ok) c.count = c.counts[static_cast<std::size_t>(rank)];
    return s;
  };
}

// Counts at the root; each rank gives that of its own block.
auto with_root_counts(Collective what, const void* send, void* recv, std::size_t own, const std::size_t* counts,
                      const std::size_t* displs, stretto_type type, int root) {
  return [=](Call& c, int rank, int ranks) {
    c.collective = what;
    c.send = send;
    c.recv = recv;
    c.count = own;
    c.type = type;
    c.root = root;
    return rank == root ? copy_counts(c, counts, displs, ranks) : Status::ok;
  };
}

// Counts of what a rank sends to each other one, and of what it gets from each. In place, these are the same.
auto with_pair_counts(const void* send, const std::size_t* send_counts, const std::size_t* send_displs, void* recv,
                      const std::size_t* recv_counts, const std::size_t* recv_displs, stretto_type type) {
  return [=](Call& c, int, int ranks) {
    c.collective = Collective::alltoallv;
    c.send = send;
    c.recv = recv;
    c.type = type;
    if (send != STRETTO_IN_PLACE) {
      if (!send_counts) return fail(Status::invalid_argument, "sendcounts is NULL");
      c.send_counts.assign(send_counts, send_counts + ranks);
      if (send_displs) c.send_displs.assign(send_displs, send_displs + ranks);
    }
    if (!recv_counts) return fail(Status::invalid_argument, "recvcounts is NULL");
    const Status s = copy_counts(c, recv_counts, recv_displs, ranks);
    if (send == STRETTO_IN_PLACE) {
      c.send_counts = c.counts;
      c.send_displs = c.displs;
    }
    return s;
  };
}

}  // namespace

extern "C" {

stretto_status stretto_allreduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                                 stretto_comm comm, const stretto_options* options) {
  return run(comm, options, plain(Collective::allreduce, sendbuf, recvbuf, count, type, op, 0));
}

stretto_status stretto_iallreduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                                  stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, plain(Collective::allreduce, sendbuf, recvbuf, count, type, op, 0));
}

stretto_status stretto_allreduce_multi(const void* const* contributions, int k, void* recvbuf, size_t count,
                                       stretto_type type, stretto_op op, stretto_comm comm,
                                       const stretto_options* options) {
  return run(comm, options, multi(contributions, k, recvbuf, count, type, op));
}

stretto_status stretto_iallreduce_multi(const void* const* contributions, int k, void* recvbuf, size_t count,
                                        stretto_type type, stretto_op op, stretto_comm comm,
                                        const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, multi(contributions, k, recvbuf, count, type, op));
}

stretto_status stretto_reduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                              int root, stretto_comm comm, const stretto_options* options) {
  return run(comm, options, plain(Collective::reduce, sendbuf, recvbuf, count, type, op, root));
}

stretto_status stretto_ireduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op,
                               int root, stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, plain(Collective::reduce, sendbuf, recvbuf, count, type, op, root));
}

stretto_status stretto_reduce_scatter_block(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                            stretto_op op, stretto_comm comm, const stretto_options* options) {
  return run(comm, options, plain(Collective::reduce_scatter_block, sendbuf, recvbuf, count, type, op, 0));
}

stretto_status stretto_ireduce_scatter_block(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                             stretto_op op, stretto_comm comm, const stretto_options* options,
                                             stretto_request* request) {
  return start(comm, options, request, plain(Collective::reduce_scatter_block, sendbuf, recvbuf, count, type, op, 0));
}

stretto_status stretto_reduce_scatter(const void* sendbuf, void* recvbuf, const size_t* counts, stretto_type type,
                                      stretto_op op, stretto_comm comm, const stretto_options* options) {
  return run(comm, options, with_counts(Collective::reduce_scatter, sendbuf, recvbuf, counts, nullptr, type, op));
}

stretto_status stretto_ireduce_scatter(const void* sendbuf, void* recvbuf, const size_t* counts, stretto_type type,
                                       stretto_op op, stretto_comm comm, const stretto_options* options,
                                       stretto_request* request) {
  return start(comm, options, request,
               with_counts(Collective::reduce_scatter, sendbuf, recvbuf, counts, nullptr, type, op));
}

stretto_status stretto_allgather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_comm comm,
                                 const stretto_options* options) {
  return run(comm, options, moving(Collective::allgather, sendbuf, recvbuf, count, type));
}

stretto_status stretto_iallgather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                  stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, moving(Collective::allgather, sendbuf, recvbuf, count, type));
}

stretto_status stretto_allgatherv(const void* sendbuf, void* recvbuf, const size_t* counts, const size_t* displs,
                                  stretto_type type, stretto_comm comm, const stretto_options* options) {
  return run(comm, options, with_counts(Collective::allgatherv, sendbuf, recvbuf, counts, displs, type, STRETTO_SUM));
}

stretto_status stretto_iallgatherv(const void* sendbuf, void* recvbuf, const size_t* counts, const size_t* displs,
                                   stretto_type type, stretto_comm comm, const stretto_options* options,
                                   stretto_request* request) {
  return start(comm, options, request,
               with_counts(Collective::allgatherv, sendbuf, recvbuf, counts, displs, type, STRETTO_SUM));
}

stretto_status stretto_bcast(void* buffer, size_t count, stretto_type type, int root, stretto_comm comm,
                             const stretto_options* options) {
  return run(comm, options, broadcasting(comm, buffer, count, type, root));
}

stretto_status stretto_ibcast(void* buffer, size_t count, stretto_type type, int root, stretto_comm comm,
                              const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, broadcasting(comm, buffer, count, type, root));
}

stretto_status stretto_scatter(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                               stretto_comm comm, const stretto_options* options) {
  return run(comm, options, moving(Collective::scatter, sendbuf, recvbuf, count, type, root));
}

stretto_status stretto_iscatter(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                                stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, moving(Collective::scatter, sendbuf, recvbuf, count, type, root));
}

stretto_status stretto_scatterv(const void* sendbuf, const size_t* counts, const size_t* displs, void* recvbuf,
                                size_t recvcount, stretto_type type, int root, stretto_comm comm,
                                const stretto_options* options) {
  return run(comm, options,
             with_root_counts(Collective::scatterv, sendbuf, recvbuf, recvcount, counts, displs, type, root));
}

stretto_status stretto_iscatterv(const void* sendbuf, const size_t* counts, const size_t* displs, void* recvbuf,
                                 size_t recvcount, stretto_type type, int root, stretto_comm comm,
                                 const stretto_options* options, stretto_request* request) {
  return start(comm, options, request,
               with_root_counts(Collective::scatterv, sendbuf, recvbuf, recvcount, counts, displs, type, root));
}

stretto_status stretto_gather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                              stretto_comm comm, const stretto_options* options) {
  return run(comm, options, moving(Collective::gather, sendbuf, recvbuf, count, type, root));
}

stretto_status stretto_igather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                               stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, moving(Collective::gather, sendbuf, recvbuf, count, type, root));
}

stretto_status stretto_gatherv(const void* sendbuf, size_t sendcount, void* recvbuf, const size_t* counts,
                               const size_t* displs, stretto_type type, int root, stretto_comm comm,
                               const stretto_options* options) {
  return run(comm, options,
             with_root_counts(Collective::gatherv, sendbuf, recvbuf, sendcount, counts, displs, type, root));
}

stretto_status stretto_igatherv(const void* sendbuf, size_t sendcount, void* recvbuf, const size_t* counts,
                                const size_t* displs, stretto_type type, int root, stretto_comm comm,
                                const stretto_options* options, stretto_request* request) {
  return start(comm, options, request,
               with_root_counts(Collective::gatherv, sendbuf, recvbuf, sendcount, counts, displs, type, root));
}

stretto_status stretto_alltoall(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_comm comm,
                                const stretto_options* options) {
  return run(comm, options, moving(Collective::alltoall, sendbuf, recvbuf, count, type));
}

stretto_status stretto_ialltoall(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_comm comm,
                                 const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, moving(Collective::alltoall, sendbuf, recvbuf, count, type));
}

stretto_status stretto_alltoallv(const void* sendbuf, const size_t* sendcounts, const size_t* sdispls, void* recvbuf,
                                 const size_t* recvcounts, const size_t* rdispls, stretto_type type, stretto_comm comm,
                                 const stretto_options* options) {
  return run(comm, options, with_pair_counts(sendbuf, sendcounts, sdispls, recvbuf, recvcounts, rdispls, type));
}

stretto_status stretto_ialltoallv(const void* sendbuf, const size_t* sendcounts, const size_t* sdispls, void* recvbuf,
                                  const size_t* recvcounts, const size_t* rdispls, stretto_type type, stretto_comm comm,
                                  const stretto_options* options, stretto_request* request) {
  return start(comm, options, request,
               with_pair_counts(sendbuf, sendcounts, sdispls, recvbuf, recvcounts, rdispls, type));
}

stretto_status stretto_barrier(stretto_comm comm, const stretto_options* options) {
  return run(comm, options, barrier());
}

stretto_status stretto_ibarrier(stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, barrier());
}

}  // extern "C"
