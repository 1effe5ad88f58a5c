#include "modules/mpi/native/native.hpp"

#include <new>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "call/enums.hpp"
#include "call/schedule_names.hpp"
#include "modules/mpi/handles.hpp"
#include "modules/mpi/native/native_prepared.hpp"
#include "modules/mpi/native/native_vectors.hpp"
#include "payload/arithmetic/arithmetic.hpp"

namespace stretto::modules {

using namespace backend;

namespace {

class MpiBackend final : public Backend {
 public:
  MpiBackend(MPI_Comm comm, std::shared_ptr<carrier::Watchdog> watchdog) noexcept
      : comm_(comm), watchdog_(std::move(watchdog)) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }

  const char* name() const noexcept override { return call::kNativeName; }

  bool serves(const Call& c) const noexcept override {
    if (c.collective == Collective::barrier) return true;
    if (c.collective == Collective::allreduce_multi || call::rank_by_rank(c)) return false;
    if (schedule::reduces(c.collective) &&
        (mpi_op(c.op) == MPI_OP_NULL || c.type == STRETTO_F16 || c.type == STRETTO_BF16 || may_saturate(c)))
      return false;
    if (c.largest > 0) return fits_int(c.largest);
    // Consecutive displacements must be ints, too.
    const auto together = [](const std::vector<std::size_t>& counts) {
      std::size_t sum = 0;
      for (const std::size_t n : counts) {
        if (!fits_int(n) || !fits_int(sum + n)) return false;
        sum += n;
      }
      return true;
    };
    return fits_int(c.count) && together(c.counts) && together(c.send_counts);
  }

  bool starts(const Call& c) const noexcept override { return c.nonblocking; }

  Status run(const Call& c, const Decision&, engine::Report*) noexcept override {
    return guarded("for the arguments of the MPI's collective", [&] {
      Staged p;
      prepare(c, false, &p);
      return ended(block(p.arguments, c.settings.options.timeout), p);
    });
  }

  std::unique_ptr<PreparedCall> prepare(const Call& c, const Decision&) noexcept override {
    const Shape shape = shape_of(c);
    if (shape.op != STRETTO_MEAN || !schedule::reduces(shape.collective)) return prepare_on(comm_, *watchdog_, shape);
    return std::unique_ptr<PreparedCall>(new (std::nothrow) PreparedMean(*this, shape));
  }

  Status start(const Call& c, const Decision&, std::unique_ptr<Pending>* pending) noexcept override {
    return guarded("for the arguments of the MPI's collective", [&] {
      auto made = std::make_unique<MpiPending>(*this);
      prepare(c, true, &made->prepared);
      const Status s = status_of(invoke(made->prepared.arguments, &made->request));
      if (s == Status::ok) *pending = std::move(made);
      return s;
    });
  }

 private:
  // Open MPI 5 saturates these in vector loops; stretto's sums wrap.
  static bool may_saturate(const Call& c) noexcept {
    const bool narrow = c.type == STRETTO_I8 || c.type == STRETTO_U8 || c.type == STRETTO_I16 || c.type == STRETTO_U16;
    return narrow && mpi_op(c.op) == MPI_SUM;
  }

  struct MpiPending final : Pending {
    explicit MpiPending(const MpiBackend& n) noexcept : backend(n) {}
    ~MpiPending() override {
      // A collective cannot be cancelled: its memory is never destroyed.
      alignas(Staged) std::byte forever[sizeof(Staged)];
      if (request != MPI_REQUEST_NULL) new (forever) Staged(std::move(prepared));
    }
    MpiPending(const MpiPending&) = delete;
    MpiPending& operator=(const MpiPending&) = delete;

    Status test(bool* done, engine::Report*) noexcept override {
      int flag = 0;
      const int code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      *done = flag != 0 || code != MPI_SUCCESS;
      if (!*done) return Status::ok;
      request = MPI_REQUEST_NULL;
      return backend.ended(code, prepared);
    }

    const MpiBackend& backend;
    Staged prepared;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  class PreparedMean final : public PreparedCall {
   public:
    PreparedMean(const MpiBackend& backend, const Shape& shape) noexcept : backend_(backend), shape_(shape) {}
    Status run(const void* send, void* recv, double timeout) noexcept override {
      const int code = backend_.block(backend_.arguments_of(shape_, send, recv), timeout);
      return code == MPI_SUCCESS ? backend_.average(shape_, recv) : status_of(code);
    }

   private:
    const MpiBackend& backend_;
    const Shape shape_;
  };

  bool by_counts(const Call& c) const noexcept {
    switch (schedule::properties(c.collective).counts) {
      case call::Counts::one: return false;
      case call::Counts::by_rank:
      case call::Counts::by_pair: return true;
      case call::Counts::at_root: return rank_ == c.root;
    }
    return false;
  }

  Arguments arguments_of(const Shape& s, const void* send, void* recv) const noexcept {
    Arguments a;
    a.collective = s.collective;
    if (s.collective == Collective::barrier) return a;
    const bool gives = s.collective == Collective::bcast && rank_ == s.root;
    a.send = send == STRETTO_IN_PLACE ? MPI_IN_PLACE : send;
    a.recv = gives ? const_cast<void*>(send) : recv == STRETTO_IN_PLACE ? MPI_IN_PLACE : recv;
    a.count = to_int(s.count);
    a.type = mpi_type(s.type);
    a.root = s.root;
    if (schedule::reduces(s.collective)) a.op = mpi_op(s.op);
    return a;
  }

  void prepare(const Call& c, bool nonblocking, Staged* p) const {
    p->shape = call::shape_of(c);
    p->recv = c.recv;
    p->arguments = arguments_of(p->shape, c.send, c.recv);
    if (by_counts(c)) prepare_vectors(c, nonblocking, p);
  }

  static void prepare_vectors(const Call& c, bool nonblocking, Staged* p) {
    p->element = stretto_type_size(c.type);
    const bool by_pair = call::counts_by_pair(c.collective), deals = c.collective == Collective::scatterv;
    const bool in_place = c.send == STRETTO_IN_PLACE;
    // Open MPI 5's MPI_Ialltoallv in place receives into blocks that it still sends: a copy is sent.
    const bool copied = in_place && by_pair && nonblocking;
    const auto stage_sent = [&](Vectors* v) {
      move_blocks(*v, static_cast<std::byte*>(in_place ? c.recv : const_cast<void*>(c.send)), p->element, true);
      p->arguments.send = v->staging.data();
    };
    if (make_vectors(c.counts, c.displs, p->element, &p->vectors)) {
      if (deals) {
        stage_sent(&p->vectors);
      } else {
        // This rank's contribution in place is staged, too.
        if (in_place) move_blocks(p->vectors, static_cast<std::byte*>(c.recv), p->element, true);
        p->unstaged = c.recv;
        p->arguments.recv = p->vectors.staging.data();
      }
    }
    p->arguments.counts = p->vectors.counts.data();
    p->arguments.displs = p->vectors.displs.data();
    if (!by_pair || (in_place && !copied)) return;
    if (make_vectors(in_place ? c.counts : c.send_counts, in_place ? c.displs : c.send_displs, p->element,
                     &p->send_vectors, copied))
      stage_sent(&p->send_vectors);
    p->arguments.send_counts = p->send_vectors.counts.data();
    p->arguments.send_displs = p->send_vectors.displs.data();
  }

  int block(const Arguments& a, double timeout) const noexcept {
    const carrier::Limited limited(watchdog_.get(), schedule::name(a.collective), timeout);
    return invoke(a, nullptr);
  }

  // Blocking if `request` is null.
  int invoke(const Arguments& a, MPI_Request* request) const noexcept {
    const void* s = a.send;
    void* r = a.recv;
    const int n = a.count, root = a.root;
    const int *counts = a.counts, *displs = a.displs;
    MPI_Datatype t = a.type;
    switch (a.collective) {
      case Collective::allreduce:
        return request ? MPI_Iallreduce(s, r, n, t, a.op, comm_, request) : MPI_Allreduce(s, r, n, t, a.op, comm_);
      case Collective::reduce:
        return request ? MPI_Ireduce(s, r, n, t, a.op, root, comm_, request)
                       : MPI_Reduce(s, r, n, t, a.op, root, comm_);
      case Collective::reduce_scatter_block:
        return request ? MPI_Ireduce_scatter_block(s, r, n, t, a.op, comm_, request)
                       : MPI_Reduce_scatter_block(s, r, n, t, a.op, comm_);
      case Collective::reduce_scatter:
        return request ? MPI_Ireduce_scatter(s, r, counts, t, a.op, comm_, request)
                       : MPI_Reduce_scatter(s, r, counts, t, a.op, comm_);
      case Collective::allgather:
        return request ? MPI_Iallgather(s, n, t, r, n, t, comm_, request) : MPI_Allgather(s, n, t, r, n, t, comm_);
      case Collective::allgatherv:
        return request ? MPI_Iallgatherv(s, n, t, r, counts, displs, t, comm_, request)
                       : MPI_Allgatherv(s, n, t, r, counts, displs, t, comm_);
      case Collective::bcast:
        return request ? MPI_Ibcast(r, n, t, root, comm_, request) : MPI_Bcast(r, n, t, root, comm_);
      case Collective::scatter:
        return request ? MPI_Iscatter(s, n, t, r, n, t, root, comm_, request)
                       : MPI_Scatter(s, n, t, r, n, t, root, comm_);
      case Collective::scatterv:
        return request ? MPI_Iscatterv(s, counts, displs, t, r, n, t, root, comm_, request)
                       : MPI_Scatterv(s, counts, displs, t, r, n, t, root, comm_);
      case Collective::gather:
        return request ? MPI_Igather(s, n, t, r, n, t, root, comm_, request)
                       : MPI_Gather(s, n, t, r, n, t, root, comm_);
      case Collective::gatherv:
        return request ? MPI_Igatherv(s, n, t, r, counts, displs, t, root, comm_, request)
                       : MPI_Gatherv(s, n, t, r, counts, displs, t, root, comm_);
      case Collective::alltoall:
        return request ? MPI_Ialltoall(s, n, t, r, n, t, comm_, request) : MPI_Alltoall(s, n, t, r, n, t, comm_);
      case Collective::alltoallv: {
        const int *to = a.send_counts, *from = a.send_displs;
        return request ? MPI_Ialltoallv(s, to, from, t, r, counts, displs, t, comm_, request)
                       : MPI_Alltoallv(s, to, from, t, r, counts, displs, t, comm_);
      }
      case Collective::scan:
        return request ? MPI_Iscan(s, r, n, t, a.op, comm_, request) : MPI_Scan(s, r, n, t, a.op, comm_);
      case Collective::exscan:
        return request ? MPI_Iexscan(s, exscan_result(r), n, t, a.op, comm_, request)
                       : MPI_Exscan(s, exscan_result(r), n, t, a.op, comm_);
      case Collective::barrier: return request ? MPI_Ibarrier(comm_, request) : MPI_Barrier(comm_);
      case Collective::allreduce_multi:
      case Collective::agreement: break;
    }
    return MPI_ERR_UNSUPPORTED_OPERATION;
  }

  Status ended(int code, Staged& p) const noexcept {
    if (const Status s = status_of(code); s != Status::ok) return s;
    if (p.unstaged) move_blocks(p.vectors, static_cast<std::byte*>(p.unstaged), p.element, false);
    return average(p.shape, p.recv);
  }

  Status average(const Shape& s, void* recv) const noexcept {
    if (s.op != STRETTO_MEAN || !schedule::reduces(s.collective)) return Status::ok;
    if (s.collective == Collective::reduce && rank_ != s.root) return Status::ok;
    return payload::divide_values(call::payload_type(s.type), recv, s.count, static_cast<std::uint32_t>(size_));
  }

  MPI_Comm comm_;
  const std::shared_ptr<carrier::Watchdog> watchdog_;
  int rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<backend::Backend> make_mpi_native(MPI_Comm comm, std::shared_ptr<carrier::Watchdog> watchdog) {
  return std::make_unique<MpiBackend>(comm, std::move(watchdog));
}

}  // namespace stretto::modules
