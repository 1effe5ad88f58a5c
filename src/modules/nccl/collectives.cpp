#include "modules/nccl/collectives.hpp"

#include <optional>

#include "call/inputs.hpp"

namespace stretto::modules::nccl {
namespace {

using call::Call;
using call::Collective;

std::optional<Type> type_of(stretto_type t) noexcept {
  switch (t) {
    case STRETTO_F32: return Type::f32;
    case STRETTO_F64: return Type::f64;
    case STRETTO_I32: return Type::i32;
    case STRETTO_I64: return Type::i64;
    case STRETTO_F16: return Type::f16;
    case STRETTO_BF16: return Type::bf16;
    case STRETTO_I8: return Type::i8;
    case STRETTO_U8: return Type::u8;
    case STRETTO_U32: return Type::u32;
    case STRETTO_U64: return Type::u64;
    case STRETTO_I16:
    case STRETTO_U16: break;
  }
  return std::nullopt;
}

// NCCL's mean may divide contributions; stretto's divides the sum.
std::optional<Op> op_of(stretto_op op) noexcept {
  if (op == STRETTO_SUM) return Op::sum;
  if (op == STRETTO_PROD) return Op::prod;
  if (op == STRETTO_MIN) return Op::min;
  if (op == STRETTO_MAX) return Op::max;
  return std::nullopt;
}

// Any type of two bytes serves for moving.
Type moved(stretto_type t) noexcept { return type_of(t).value_or(Type::f16); }

}  // namespace

bool has_collective(const Call& c) noexcept {
  if (c.collective == Collective::allgather || c.collective == Collective::bcast) return true;
  const bool reduces = c.collective == Collective::allreduce || c.collective == Collective::reduce ||
                       c.collective == Collective::reduce_scatter_block;
  return reduces && !call::rank_by_rank(c) && type_of(c.type) && op_of(c.op);
}

Result enqueue_collective(const Functions& nccl, const Call& c, int rank, Comm comm, void* stream) noexcept {
  const Type type = moved(c.type);
  const Op op = op_of(c.op).value_or(Op::sum);
  const bool in_place = call::in_place(c.send);
  const void* const in = in_place ? c.recv : c.send;
  if (c.collective == Collective::allreduce) return nccl.all_reduce(in, c.recv, c.count, type, op, comm, stream);
  if (c.collective == Collective::reduce) return nccl.reduce(in, c.recv, c.count, type, op, c.root, comm, stream);
  if (c.collective == Collective::bcast) {
    void* const buffer = rank == c.root ? const_cast<void*>(c.send) : c.recv;  // unchanged at the root
    return nccl.broadcast(buffer, buffer, c.count, type, c.root, comm, stream);
  }
  const std::size_t before = static_cast<std::size_t>(rank) * c.count * stretto_type_size(c.type);
  std::byte* const own = static_cast<std::byte*>(c.recv) + before;
  if (c.collective == Collective::allgather)
    return nccl.all_gather(in_place ? own : c.send, c.recv, c.count, type, comm, stream);
  return nccl.reduce_scatter(in, in_place ? own : c.recv, c.count, type, op, comm, stream);
}

}  // namespace stretto::modules::nccl
