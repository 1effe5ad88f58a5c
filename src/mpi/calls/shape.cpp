#include "mpi/calls/shape.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <string_view>

namespace stretto::mpi {
namespace {

constexpr const char* kWrongArguments = "arguments that are the MPI's to judge";

const char* vector_of(MPI_Datatype type, std::int64_t count, Shape* shape) noexcept {
  if (type == MPI_DATATYPE_NULL || count < 0) return kWrongArguments;
  shape->bytes = count * bytes_of(type);
  return nullptr;
}

const char* reduction(const WrappedCall& call, std::int64_t count, Shape* shape) noexcept {
  if (call.sendtype == MPI_DATATYPE_NULL && call.recvtype == MPI_DATATYPE_NULL) return kWrongArguments;
  if (const char* reason = reduction_of(call.recvtype, call.op, &shape->element, &shape->op)) return reason;
  const Nature n = shape->element->nature;
  shape->floating_sum = shape->op == STRETTO_SUM && (n == Nature::floating || n == Nature::complex);
  shape->floating_extreme = (shape->op == STRETTO_MIN || shape->op == STRETTO_MAX) && n == Nature::floating;
  shape->bytes = count * shape->element->parts * static_cast<std::int64_t>(stretto_type_size(shape->element->type));
  return count < 0 ? kWrongArguments : nullptr;
}

std::int64_t sum(const Numbers& counts, int ranks) noexcept {
  std::int64_t all = 0;
  for (int r = 0; r < ranks; ++r) {
    if (counts[r] < 0) return -1;
    all += counts[r];
  }
  return all;
}

// Blocks of equal size; at a root, on the side with all blocks.
const char* blocks(const WrappedCall& call, bool on_send_side, Shape* shape) noexcept {
  return on_send_side ? vector_of(call.sendtype, call.sendcount, shape)
                      : vector_of(call.recvtype, call.recvcount, shape);
}

const char* of_operation(const WrappedCall& call, const Communicator& c, Shape* shape) noexcept {
  switch (call.operation) {
    case Function::barrier: return nullptr;
    case Function::bcast: return vector_of(call.recvtype, call.recvcount, shape);
    case Function::allreduce:
    case Function::exscan:
    case Function::scan:
    case Function::reduce: return reduction(call, call.recvcount, shape);
    case Function::reduce_scatter_block: return reduction(call, call.recvcount * c.size, shape);
    case Function::reduce_scatter:
      return call.recvcounts ? reduction(call, sum(call.recvcounts, c.size), shape) : kWrongArguments;
    case Function::allgather:
    case Function::alltoall: return blocks(call, false, shape);
    case Function::allgatherv:
      if (!call.recvcounts || !call.displs) return kWrongArguments;
      return vector_of(call.recvtype, sum(call.recvcounts, c.size), shape);
    case Function::gather: return blocks(call, c.rank != call.root, shape);
    case Function::scatter: return blocks(call, c.rank == call.root, shape);
    case Function::gatherv:
    case Function::scatterv: return "counts that only the root knows";
    case Function::alltoallv:
    case Function::alltoallw: return "counts that only two ranks know";
    case Function::neighbor_allgather:
    case Function::neighbor_allgatherv:
    case Function::neighbor_alltoall:
    case Function::neighbor_alltoallv:
    case Function::neighbor_alltoallw: return "a collective that stretto has not";
  }
  return kWrongArguments;
}

const Element* moved_elements(const WrappedCall& call, const Communicator& c) noexcept {
  const bool root = c.rank == call.root;
  bool sends = true, receives = true;
  if (call.operation == Function::bcast) sends = false;
  if (call.operation == Function::gather) receives = root;
  if (call.operation == Function::scatter) sends = root;
  const Element* const sent = sends && call.sendbuf != MPI_IN_PLACE ? element_of(call.sendtype) : nullptr;
  const Element* const received = receives && call.recvbuf != MPI_IN_PLACE ? element_of(call.recvtype) : nullptr;
  const auto floats = [](const Element* e) {
    return e && (e->nature == Nature::floating || e->nature == Nature::complex);
  };
  const bool both = (!sends || call.sendbuf == MPI_IN_PLACE || floats(sent)) &&
                    (!receives || call.recvbuf == MPI_IN_PLACE || floats(received));
  const Element* const one = received ? received : sent;
  return both && one && (!sent || !received || sent->type == received->type) ? one : nullptr;
}

constexpr auto kAllCollectives = [] {
  std::array<std::optional<schedule::Collective>, operation_names.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t c = 0; c < schedule::kAllProperties.size(); ++c)
      if (std::string_view(schedule::kAllProperties[c].name) == operation_names[i])
        all[i] = static_cast<schedule::Collective>(c);
  return all;
}();

bool rooted(Function f) noexcept {
  const std::optional<schedule::Collective> c = collective_of(f);
  return c && schedule::rooted(*c);
}

}  // namespace

std::optional<schedule::Collective> collective_of(Function f) noexcept {
  return kAllCollectives[static_cast<std::size_t>(f)];
}

bool never_served(const WrappedCall& call) noexcept {
  switch (call.operation) {
    case Function::allreduce:
    case Function::exscan:
    case Function::scan:
    case Function::reduce:
    case Function::reduce_scatter:
    case Function::reduce_scatter_block: return !has_counterpart(call.op);
    case Function::gatherv:
    case Function::scatterv:
    case Function::alltoallv:
    case Function::alltoallw:
    case Function::neighbor_allgather:
    case Function::neighbor_allgatherv:
    case Function::neighbor_alltoall:
    case Function::neighbor_alltoallv:
    case Function::neighbor_alltoallw: return true;
    case Function::barrier:
    case Function::bcast:
    case Function::allgather:
    case Function::allgatherv:
    case Function::alltoall:
    case Function::gather:
    case Function::scatter: break;
  }
  return false;
}

const char* shape_of(const WrappedCall& call, const Communicator& c, Shape* shape) noexcept {
  if (c.inter) return "an intercommunicator";
  const char* reason = of_operation(call, c, shape);  // first: reports count passed-on bytes, too
  if (reason) return reason;
  if (c.size == 1) return "one rank";
  if (rooted(call.operation) && (call.root < 0 || call.root >= c.size)) return kWrongArguments;
  // MPI packs by int counts.
  if (!shape->element && shape->bytes > std::numeric_limits<int>::max()) return "blocks of more than 2 GiB";
  shape->moves = !shape->element && call.operation != Function::barrier;
  if (shape->moves) shape->moved = moved_elements(call, c);
  return shape->bytes == 0 && call.operation != Function::barrier ? "nothing to move" : nullptr;
}

}  // namespace stretto::mpi
