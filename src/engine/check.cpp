#include "engine/run.hpp"
#include "schedule/names.hpp"

namespace stretto::engine {

Status Run::check(const Work& call, const carrier::Carrier& carrier) {
  if (!call.schedule) return fail(Status::invalid_argument, "no schedule is given");
  const schedule::Schedule& s = *call.schedule;
  if (s.ranks != carrier.size() || s.rank != carrier.rank()) {
    return fail(Status::invalid_argument, "a schedule for rank {} of {} on rank {} of {}", s.rank, s.ranks,
                carrier.rank(), carrier.size());
  }
  if (call.blocks.size() != static_cast<std::size_t>(s.blocks)) {
    return fail(Status::invalid_argument, "{} blocks are given to a schedule of {}", call.blocks.size(), s.blocks);
  }
  const bool reduces = schedule::reduces(s.collective);
  if (const Status status = payload::check(call.payload, reduces); status != Status::ok) return status;
  if (reduces && call.payload.op == payload::Op::user && !call.payload.user.commutes && !s.keeps_order) {
    return fail(Status::unsupported,
                "{} {} does not keep the order of contributions, and the operation does not commute",
                schedule::name(s.collective), s.algorithm);
  }
  if (call.several) {
    const payload::Op op = call.payload.op;
    const bool sums = op == payload::Op::sum || op == payload::Op::mean;
    if (!reduces || !(sums || op == payload::Op::min || op == payload::Op::max)) {
      return fail(Status::unsupported, "several inputs on a rank are for reductions by sum, mean, min and max");
    }
    if (call.payload.nodes > 0)
      return fail(Status::unsupported, "several inputs on a rank are not added raw inside a node");
    if (call.inputs.empty() && !sums)
      return fail(Status::invalid_argument, "a rank without inputs has no {}", payload::name(op));
  }
  for (std::int32_t b = 0; b < s.blocks; ++b) {
    const Block& block = call.blocks[static_cast<std::size_t>(b)];
    if (block.count == 0) continue;
    const bool reads = schedule::holds(s.collective, s.ranks, s.root, s.rank, b);
    const bool writes = schedule::expects(s.collective, s.ranks, s.root, s.rank, b);
    if (reads && !call.several && block.in == nullptr)
      return fail(Status::invalid_argument, "no input is given for block {}", b);
    if (writes && block.out == nullptr)
      return fail(Status::invalid_argument, "no memory is given for the result of block {}", b);
    for (const void* input : call.inputs) {
      if (call.several && input == nullptr) return fail(Status::invalid_argument, "an input is null");
    }
  }
  return Status::ok;
}

}  // namespace stretto::engine
