#include "api/choice.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "api/types.hpp"
#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::api {

namespace {

// Thresholds in bytes of the whole vector. Up to `small` latency decides: fewest rounds, values as they are. Up to
// `medium` rounds still matter beside bytes.
constexpr std::size_t small = std::size_t{32} << 10;
constexpr std::size_t medium = std::size_t{1} << 20;

constexpr std::size_t default_segment = std::size_t{256} << 10;
constexpr std::size_t pipeline_piece = std::size_t{256} << 10;
constexpr std::size_t most_pieces = 64;

bool needs_order(const Call& c) noexcept {
  return reduces(c.collective) && c.op == STRETTO_USER && !c.settings.options.user_commutes;
}

// The first of these that the collective has, or its default.
std::string_view first(schedule::Collective collective, std::initializer_list<std::string_view> names) {
  for (std::string_view n : names)
    if (schedule::find(collective, n)) return n;
  return schedule::default_algorithm(collective).name;
}

std::string_view by_size(schedule::Collective collective, std::size_t bytes) {
  using C = schedule::Collective;
  switch (collective) {
    case C::allreduce:
      if (bytes <= small) return first(collective, {"recursive_doubling"});
      return bytes <= medium ? first(collective, {"rabenseifner"}) : first(collective, {"ring"});
    case C::reduce: return bytes <= small ? first(collective, {"binomial"}) : first(collective, {"rabenseifner"});
    case C::reduce_scatter:
      return bytes <= small ? first(collective, {"recursive_halving"}) : first(collective, {"ring"});
    case C::allgather: return bytes <= small ? first(collective, {"dissemination"}) : first(collective, {"ring"});
    case C::broadcast:
      return bytes <= medium ? first(collective, {"binomial"}) : first(collective, {"scatter_allgather"});
    case C::gather:
    case C::scatter: return first(collective, {"binomial"});
    case C::alltoall: return first(collective, {"pairwise"});
    case C::barrier: return first(collective, {"dissemination"});
  }
  return schedule::default_algorithm(collective).name;
}

// What is known of a call before counts are: gatherv and scatterv are looked at again when every rank knows them.
Status check_native(const Call& call, const Native* native) {
  const stretto_options& o = call.settings.options;
  if (!native) return fail(Status::unsupported, "schedule {} needs a communicator over an MPI", native_name);
  if (o.payload > STRETTO_PAYLOAD_RAW)
    return fail(Status::unsupported, "schedule {} moves values as they are, not as payload {}", native_name,
                payload_name(o.payload));
  if (native->serves(call)) return Status::ok;
  return fail(Status::unsupported, "the MPI has no {} of {} elements of {}{}{} of its own",
              collective_name(call.collective), call.count, type_name(call.type),
              reduces(call.collective) ? " by " : "", reduces(call.collective) ? op_name(call.op) : "");
}

bool same(const schedule::Request& a, const schedule::Request& b) noexcept {
  return a.collective == b.collective && a.ranks == b.ranks && a.rank == b.rank && a.root == b.root &&
         a.blocks == b.blocks && a.radix == b.radix;
}

}  // namespace

int schedule_index(const char* name) noexcept {
  const auto& all = schedule::algorithms();
  if (std::strcmp(name, native_name) == 0) return static_cast<int>(all.size()) + 1;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].name == name) return static_cast<int>(i) + 1;
  return -1;
}

const char* schedule_name(int index) noexcept {
  const auto& all = schedule::algorithms();
  if (index == 0) return "chosen";
  if (index == static_cast<int>(all.size()) + 1) return native_name;
  return index > 0 && static_cast<std::size_t>(index) <= all.size() ? all[index - 1].name.data() : "?";
}

Status check_schedule(const Call& call, const Native* native) {
  if (call.settings.schedule == native_name) return check_native(call, native);
  const auto collective = schedule_collective(call.collective);
  const std::string& name = call.settings.schedule;
  const schedule::Algorithm* a = schedule::find(collective, name);
  if (!a) {
    std::string offered;
    for (const auto& other : schedule::algorithms())
      if (other.collective == collective) offered += (offered.empty() ? "" : ", ") + std::string(other.name);
    return fail(Status::unsupported, "{} has no schedule '{}'; it has {}", schedule::name(collective), name, offered);
  }
  if (needs_order(call) && !a->keeps_order)
    return fail(Status::unsupported, "schedule {} does not keep the order that this operation needs", name);
  return Status::ok;
}

Choice choose(const Call& call, std::size_t bytes, int ranks, bool compress, const Native* native) {
  const stretto_options& o = call.settings.options;
  const auto collective = schedule_collective(call.collective);
  Choice c;
  c.segment = o.segment ? o.segment : default_segment;
  if (o.payload != STRETTO_PAYLOAD_AUTO) {
    c.payload = compress ? o.payload : STRETTO_PAYLOAD_RAW;
  } else if (compress && (bytes > small || call.collective == Collective::allreduce_multi)) {
    // Several inputs a rank: always as codes, or the result would depend on how they are shared out.
    c.payload = STRETTO_PAYLOAD_FUSED;
  }
  if (!call.settings.schedule.empty())
    c.schedule = call.settings.schedule;
  else if (needs_order(call))
    c.schedule = schedule::default_algorithm(collective, true).name;
  else
    c.schedule = by_size(collective, bytes);

  c.native = call.settings.schedule == native_name ||
             (call.settings.schedule.empty() && c.payload == STRETTO_PAYLOAD_RAW && native && native->serves(call));

  const schedule::Algorithm* a = schedule::find(collective, c.schedule);
  if (a && a->uses_blocks && ranks > 1)
    c.blocks = static_cast<int>(std::clamp(bytes / pipeline_piece, std::size_t{1}, most_pieces));
  return c;
}

std::shared_ptr<const schedule::Schedule> Schedules::get(const std::string& algorithm,
                                                         const schedule::Request& request) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& e) { return e.algorithm == algorithm && same(e.request, request); });
  if (found != entries_.end()) {
    std::rotate(found, found + 1, entries_.end());
    return entries_.back().schedule;
  }
  const schedule::Algorithm* a = schedule::find(request.collective, algorithm);
  if (!a) return nullptr;
  if (entries_.size() == capacity) entries_.erase(entries_.begin());
  entries_.push_back({algorithm, request, std::make_shared<const schedule::Schedule>(a->build(request))});
  return entries_.back().schedule;
}

}  // namespace stretto::api
