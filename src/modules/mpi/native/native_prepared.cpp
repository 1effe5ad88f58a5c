#include "modules/mpi/native/native_prepared.hpp"

#include <new>

#include "modules/mpi/handles.hpp"

namespace stretto::modules {

using namespace backend;

namespace {

struct CallArguments {
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Op op;
  int count, root;
  carrier::Watchdog* watchdog;
};

template <Collective what>
int call(const CallArguments& c, const void* s, void* r) noexcept {
  if constexpr (what == Collective::allreduce) return MPI_Allreduce(s, r, c.count, c.type, c.op, c.comm);
  if constexpr (what == Collective::reduce) return MPI_Reduce(s, r, c.count, c.type, c.op, c.root, c.comm);
  if constexpr (what == Collective::reduce_scatter_block)
    return MPI_Reduce_scatter_block(s, r, c.count, c.type, c.op, c.comm);
  if constexpr (what == Collective::allgather) return MPI_Allgather(s, c.count, c.type, r, c.count, c.type, c.comm);
  if constexpr (what == Collective::bcast)
    return MPI_Bcast(s ? const_cast<void*>(s) : r, c.count, c.type, c.root, c.comm);
  if constexpr (what == Collective::scatter) return MPI_Scatter(s, c.count, c.type, r, c.count, c.type, c.root, c.comm);
  if constexpr (what == Collective::gather) return MPI_Gather(s, c.count, c.type, r, c.count, c.type, c.root, c.comm);
  if constexpr (what == Collective::alltoall) return MPI_Alltoall(s, c.count, c.type, r, c.count, c.type, c.comm);
  if constexpr (what == Collective::scan) return MPI_Scan(s, r, c.count, c.type, c.op, c.comm);
  if constexpr (what == Collective::exscan) return MPI_Exscan(s, exscan_result(r), c.count, c.type, c.op, c.comm);
  if constexpr (what == Collective::barrier) return MPI_Barrier(c.comm);
}

template <Collective what>
class Prepared final : public PreparedCall {
 public:
  explicit Prepared(const CallArguments& passed) noexcept : passed_(passed) {}
  [[gnu::hot]] Status run(const void* send, void* recv, double timeout) noexcept override {
    const carrier::Limited limited(passed_.watchdog, schedule::name(what), timeout);
    const int code = call<what>(passed_, send == STRETTO_IN_PLACE ? MPI_IN_PLACE : send,
                                recv == STRETTO_IN_PLACE ? MPI_IN_PLACE : recv);
    return code == MPI_SUCCESS ? Status::ok : status_of(code);
  }

 private:
  const CallArguments passed_;
};

template <Collective what>
std::unique_ptr<PreparedCall> make(const CallArguments& p) noexcept {
  return std::unique_ptr<PreparedCall>(new (std::nothrow) Prepared<what>(p));
}

}  // namespace

std::unique_ptr<PreparedCall> prepare_on(MPI_Comm comm, carrier::Watchdog& watchdog, const Shape& s) noexcept {
  const CallArguments p{
      comm,   mpi_type(s.type), schedule::reduces(s.collective) ? mpi_op(s.op) : MPI_OP_NULL, static_cast<int>(s.count),
      s.root, &watchdog};
  switch (s.collective) {
    case Collective::allreduce: return make<Collective::allreduce>(p);
    case Collective::reduce: return make<Collective::reduce>(p);
    case Collective::reduce_scatter_block: return make<Collective::reduce_scatter_block>(p);
    case Collective::allgather: return make<Collective::allgather>(p);
    case Collective::bcast: return make<Collective::bcast>(p);
    case Collective::scatter: return make<Collective::scatter>(p);
    case Collective::gather: return make<Collective::gather>(p);
    case Collective::alltoall: return make<Collective::alltoall>(p);
    case Collective::scan: return make<Collective::scan>(p);
    case Collective::exscan: return make<Collective::exscan>(p);
    case Collective::barrier: return make<Collective::barrier>(p);
    case Collective::allreduce_multi:
    case Collective::reduce_scatter:
    case Collective::allgatherv:
    case Collective::scatterv:
    case Collective::gatherv:
    case Collective::alltoallv:
    case Collective::agreement: break;
  }
  return nullptr;
}

}  // namespace stretto::modules
