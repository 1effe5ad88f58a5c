// Schedules by name: as small numbers, as what a caller may force, and built.
#include <algorithm>
#include <cstring>

#include "api/choice.hpp"
#include "api/types.hpp"
#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::api {
namespace {

bool same(const schedule::Request& a, const schedule::Request& b) noexcept {
  return a.collective == b.collective && a.ranks == b.ranks && a.rank == b.rank && a.root == b.root &&
         a.blocks == b.blocks && a.radix == b.radix && a.groups == b.groups;
}

// What is known of a call before counts are: gatherv, scatterv and alltoallv are looked at again when every rank knows them.
Status check_native(const Call& call, const Natives& natives, model::Provider provider) {
  const stretto_options& o = call.settings.options;
  const bool node = provider == model::Provider::node;
  const Native* native = natives.of(provider);
  if (!native && node)
    return fail(Status::unsupported, "schedule {} needs ranks that share a host's memory: {}", node_name,
                natives.no_node);
  if (!native) return fail(Status::unsupported, "schedule {} needs a communicator over an MPI", native_name);
  if (o.payload > STRETTO_PAYLOAD_RAW && node) {
    if (natives.node->streams(call)) return Status::ok;
    return fail(Status::unsupported, "a host's memory has no {}{} of {} elements of {}{}{} as payload {}",
                call.nonblocking ? "started " : "", collective_name(call.collective), call.count, type_name(call.type),
                reduces(call.collective) ? " by " : "", reduces(call.collective) ? op_name(call.op) : "",
                payload_name(o.payload));
  }
  if (o.payload > STRETTO_PAYLOAD_RAW)
    return fail(Status::unsupported, "schedule {} moves values as they are, not as payload {}", native->name(),
                payload_name(o.payload));
  if (native->serves(call)) return Status::ok;
  if (!node && rank_by_rank(call))
    return fail(Status::unsupported, "schedule {} adds in an order of the MPI's, and options.reproducible is set",
                native->name());
  return fail(Status::unsupported, "{} has no {}{} of {} elements of {}{}{} of its own",
              node ? "a host's memory" : "the MPI", call.nonblocking ? "started " : "",
              collective_name(call.collective), call.count, type_name(call.type),
              reduces(call.collective) ? " by " : "", reduces(call.collective) ? op_name(call.op) : "");
}

}  // namespace

int schedule_index(const char* name) noexcept {
  const auto& all = schedule::algorithms();
  if (std::strcmp(name, native_name) == 0) return static_cast<int>(all.size()) + 1;
  if (std::strcmp(name, node_name) == 0) return static_cast<int>(all.size()) + 2;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].name == name) return static_cast<int>(i) + 1;
  return -1;
}

const char* schedule_name(int index) noexcept {
  const auto& all = schedule::algorithms();
  if (index == 0) return "chosen";
  if (index == static_cast<int>(all.size()) + 1) return native_name;
  if (index == static_cast<int>(all.size()) + 2) return node_name;
  return index > 0 && static_cast<std::size_t>(index) <= all.size() ? all[index - 1].name.data() : "?";
}

std::optional<model::Provider> forced_native(const Call& call) noexcept {
  if (call.settings.schedule == native_name) return model::Provider::mpi;
  if (call.settings.schedule == node_name) return model::Provider::node;
  return std::nullopt;
}

Status check_schedule(const Call& call, const Natives& natives, const schedule::Groups* groups) {
  if (const auto forced = forced_native(call)) return check_native(call, natives, *forced);
  const auto collective = schedule_collective(call.collective);
  const std::string& name = call.settings.schedule;
  const schedule::Algorithm* a = schedule::find(collective, name);
  if (!a) {
    std::string offered;
    for (const auto& other : schedule::algorithms())
      if (other.collective == collective) offered += (offered.empty() ? "" : ", ") + std::string(other.name);
    return fail(Status::unsupported, "{} has no schedule '{}'; it has {}", schedule::name(collective), name, offered);
  }
  if (needs_order(call) && !schedule::keeps_order(*a, groups))
    return fail(Status::unsupported, "schedule {} does not keep the order that this operation needs", name);
  // Within a relative bound values travel raw where their range is 0.
  const stretto_options& o = call.settings.options;
  const bool raw = o.bound_kind != STRETTO_BOUND_ABSOLUTE || o.payload == STRETTO_PAYLOAD_RAW;
  if (raw && rank_by_rank(call) && !a->rank_by_rank)
    return fail(Status::unsupported, "schedule {} does not add rank by rank, and options.reproducible is set", name);
  const bool exact =
      call.op == STRETTO_MIN || call.op == STRETTO_MAX || (!is_floating(call.type) && call.op != STRETTO_USER);
  const bool rounds_again = o.payload == STRETTO_PAYLOAD_CPRP2P || o.payload == STRETTO_PAYLOAD_RECOMPRESS;
  if (a->ranks_differ && (raw ? !exact : rounds_again))
    return fail(
        Status::unsupported,
        "schedule {} adds in other brackets on each rank, so that these sums of {} would differ between ranks: it "
        "takes exact operations, and codes within an absolute bound",
        name, type_name(call.type));
  if (counts_by_pair(call.collective) && schedule::passes_blocks_on(collective, name))
    return fail(Status::unsupported, "schedule {} passes blocks on through ranks that do not know their counts", name);
  if (call.settings.options.payload == STRETTO_PAYLOAD_MIXED && !a->uses_groups)
    return fail(Status::unsupported, "schedule {} does not add up a host first, as payload mixed needs", name);
  return Status::ok;
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
