#include "api/collective.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "api/types.hpp"

namespace stretto::api {

const char* collective_name(Collective c) noexcept {
  switch (c) {
    case Collective::allreduce: return "allreduce";
    case Collective::allreduce_multi: return "allreduce_multi";
    case Collective::reduce: return "reduce";
    case Collective::reduce_scatter_block: return "reduce_scatter_block";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::allgather: return "allgather";
    case Collective::allgatherv: return "allgatherv";
    case Collective::bcast: return "bcast";
    case Collective::scatter: return "scatter";
    case Collective::scatterv: return "scatterv";
    case Collective::gather: return "gather";
    case Collective::gatherv: return "gatherv";
    case Collective::alltoall: return "alltoall";
    case Collective::alltoallv: return "alltoallv";
    case Collective::barrier: return "barrier";
  }
  return "?";
}

schedule::Collective schedule_collective(Collective c) noexcept {
  using S = schedule::Collective;
  switch (c) {
    case Collective::allreduce:
    case Collective::allreduce_multi: return S::allreduce;
    case Collective::reduce: return S::reduce;
    case Collective::reduce_scatter_block:
    case Collective::reduce_scatter: return S::reduce_scatter;
    case Collective::allgather:
    case Collective::allgatherv: return S::allgather;
    case Collective::bcast: return S::broadcast;
    case Collective::scatter:
    case Collective::scatterv: return S::scatter;
    case Collective::gather:
    case Collective::gatherv: return S::gather;
    case Collective::alltoall:
    case Collective::alltoallv: return S::alltoall;
    case Collective::barrier: return S::barrier;
  }
  return S::barrier;
}

bool rooted(Collective c) noexcept {
  return c == Collective::reduce || c == Collective::bcast || c == Collective::scatter || c == Collective::scatterv ||
         c == Collective::gather || c == Collective::gatherv;
}

bool counts_at_root(Collective c) noexcept { return c == Collective::scatterv || c == Collective::gatherv; }

bool counts_by_pair(Collective c) noexcept { return c == Collective::alltoallv; }

bool needs_order(const Call& c) noexcept {
  return reduces(c.collective) && c.op == STRETTO_USER && !c.settings.options.user_commutes;
}

Status read_options(const stretto_options* given, Settings* settings) {
  *settings = {};
  if (!given) return Status::ok;
  // `size` and the bound are in every version. A longer struct than ours comes from a newer header: fine while what we do
  // not know is left at zero.
  constexpr std::size_t least = offsetof(stretto_options, schedule), most = 4096;
  if (given->size < least || given->size > most)
    return fail(Status::invalid_argument, "options.size is {}; use STRETTO_OPTIONS_INIT", given->size);
  stretto_options& o = settings->options;
  std::memcpy(&o, given, std::min(given->size, sizeof o));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (given->size > sizeof o && std::any_of(bytes + sizeof o, bytes + given->size, [](unsigned char b) { return b; }))
    return fail(Status::unsupported, "options of {} bytes set fields that this library ({} bytes) does not know",
                given->size, sizeof o);
  o.size = sizeof o;
  if (o.schedule) settings->schedule = o.schedule;
  o.schedule = nullptr;  // the copy is the one to use
  return Status::ok;
}

void settle_payload(Call* call) noexcept {
  stretto_options& o = call->settings.options;
  if (o.reproducible && o.bound_kind != STRETTO_BOUND_NONE && o.payload == STRETTO_PAYLOAD_AUTO &&
      reduces(call->collective) && is_floating(call->type))
    o.payload = STRETTO_PAYLOAD_FUSED;
}

}  // namespace stretto::api
