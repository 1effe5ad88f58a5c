#include "api/plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "api/arguments.hpp"
#include "api/payloads.hpp"
#include "api/types.hpp"
#include "engine/binding.hpp"

namespace stretto::api {

namespace {

// Bytes of the whole vector, the same on every rank.
std::size_t vector_bytes(const Call& c, int ranks) noexcept {
  if (c.collective == Collective::barrier) return 0;
  std::size_t n = c.count;
  if (!c.counts.empty())
    n = std::accumulate(c.counts.begin(), c.counts.end(), std::size_t{0});
  else if (c.collective != Collective::allreduce && c.collective != Collective::allreduce_multi &&
           c.collective != Collective::reduce && c.collective != Collective::bcast)
    n *= static_cast<std::size_t>(ranks);
  return n * stretto_type_size(c.type);
}

bool sums(const Call& c) noexcept { return c.op == STRETTO_SUM || c.op == STRETTO_DIFFERENCE || c.op == STRETTO_MEAN; }

bool meets_in_code_space(payload::Kind k) noexcept {
  return k == payload::Kind::homomorphic || k == payload::Kind::fused;
}

// Streams may travel: a bound allows it, or a payload of streams asks for it where types are lossless.
bool may_compress(const Call& c) noexcept {
  const stretto_options& o = c.settings.options;
  return c.collective != Collective::barrier && (o.bound_kind != STRETTO_BOUND_NONE || o.payload > STRETTO_PAYLOAD_RAW);
}

}  // namespace

double error_factor(const Call& call, const Terms& t) noexcept {
  if (t.kind == payload::Kind::raw || !is_floating(call.type)) return 0;
  if (!reduces(call.collective) || !sums(call)) return 1;
  const double K = static_cast<double>(t.contributions), divisor = call.op == STRETTO_MEAN ? K : 1;
  if (!meets_in_code_space(t.kind)) return (K + t.ranks - 1) / divisor;
  if (t.contributions < 3) return K / divisor;
  switch (call.settings.options.scope) {
    case STRETTO_SCOPE_CONTRIBUTION:
    case STRETTO_SCOPE_RESULT: return K / divisor;
    case STRETTO_SCOPE_RESULT_STATISTICAL_95: return 2.0 / 3.0 * std::sqrt(K) / divisor;
    case STRETTO_SCOPE_RESULT_STATISTICAL_95_UNIFORM: return 2.0 / std::sqrt(3.0) * std::sqrt(K) / divisor;
  }
  return K / divisor;
}

Status eps_of(const Call& call, const Terms& terms, const Agreed& agreed, double* eps) noexcept {
  const stretto_options& o = call.settings.options;
  *eps = 0;
  if (terms.kind == payload::Kind::raw || !is_floating(call.type)) return Status::ok;
  double bound = o.bound;
  if (o.bound_kind == STRETTO_BOUND_RELATIVE) {
    if (!(agreed.hi > agreed.lo)) return Status::ok;
    bound = o.bound * agreed.hi - o.bound * agreed.lo;
    if (!std::isfinite(bound))
      return fail(Status::invalid_bound, "{} of the range {} to {} is not finite", o.bound, agreed.lo, agreed.hi);
  }
  if (o.scope == STRETTO_SCOPE_CONTRIBUTION || !reduces(call.collective)) {
    *eps = bound;
    return Status::ok;
  }
  const double factor = error_factor(call, terms);
  double e = bound / factor;
  while (e > 0 && e * factor > bound) e = std::nextafter(e, 0.0);  // rounding must not break the promise
  *eps = std::isfinite(e) ? e : bound;
  return Status::ok;
}

bool native_anyhow(const Call& call, stretto_comm_s& comm) noexcept {
  try {
    return choose(call, vector_bytes(call, comm.size), comm.size, may_compress(call), comm.carriers.native.get())
        .native;
  } catch (...) {
    return false;
  }
}

Status make_plan(const Call& call, const Agreed& agreed, stretto_comm_s& comm, Plan* plan) noexcept {
  try {
    const int rank = comm.rank, ranks = comm.size;
    const Native* native = comm.carriers.native.get();
    const stretto_options& o = call.settings.options;
    const bool multi = call.collective == Collective::allreduce_multi;
    plan->contributions =
        reduces(call.collective) ? (multi ? agreed.contributions : static_cast<std::uint64_t>(ranks)) : 1;
    if (multi && plan->contributions == 0)
      return fail(Status::invalid_argument, "no rank gives a contribution: k is 0 on all {} ranks", ranks);
    if (plan->contributions > 0x7fffffffu)
      return fail(Status::unsupported, "{} contributions; at most 2147483647", plan->contributions);

    const bool streams = may_compress(call);
    const std::size_t bytes = vector_bytes(call, ranks);
    Choice choice = choose(call, bytes, ranks, streams, native);
    Terms terms{payload_kind(choice.payload), plan->contributions, ranks};
    if (Status s = eps_of(call, terms, agreed, &plan->eps); s != Status::ok) return s;
    if (terms.kind != payload::Kind::raw && is_floating(call.type) && plan->eps == 0) {
      choice = choose(call, bytes, ranks, false, native);  // only exact values will do
      terms.kind = payload::Kind::raw;
    }
    plan->payload = payload_of(terms.kind);
    plan->native = choice.native;
    if (plan->native) {
      plan->eps = 0;
      return native->serves(call)
                 ? Status::ok
                 : fail(Status::unsupported, "the MPI has no {} of these counts", collective_name(call.collective));
    }

    engine::Call& e = plan->call;
    e.payload.kind = terms.kind;
    e.payload.type = payload_type(call.type);
    e.payload.op = reduces(call.collective) ? payload_op(call.op) : payload::Op::sum;
    e.payload.eps = plan->eps;
    if (o.bound_kind == STRETTO_BOUND_RELATIVE && plan->eps > 0)
      e.payload.magnitude = std::max(std::fabs(agreed.lo), std::fabs(agreed.hi));
    e.options.segment_bytes = choice.segment;
    e.options.timeout = timeout_of(o);
    schedule::Request request;
    request.collective = schedule_collective(call.collective);
    request.ranks = ranks;
    request.rank = rank;
    request.root = rooted(call.collective) ? call.root : 0;
    request.blocks = choice.blocks;
    e.schedule = comm.schedules.get(choice.schedule, request);
    if (!e.schedule) return fail(Status::internal, "schedule {} cannot be built", choice.schedule);
    if (Status s = engine::bind(*e.schedule, e.payload.type, engine_arguments(call, rank), &e.blocks); s != Status::ok)
      return s;
    if (multi) {
      e.several = true;
      e.inputs = call.inputs;
      e.contributions = static_cast<std::uint32_t>(plan->contributions);
    }
    plan->promised = plan->eps > 0 ? error_factor(call, terms) * plan->eps : 0;
    return Status::ok;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory to prepare the collective"));
  }
}

}  // namespace stretto::api
