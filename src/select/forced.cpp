#include "select/forced.hpp"

#include "call/enums.hpp"
#include "call/schedule_names.hpp"

namespace stretto::select {
namespace {

using namespace call;

Status check_provider(const Call& call, Provider provider, const Providers& all) {
  const stretto_options& o = call.settings.options;
  const bool node = provider == Provider::node;
  if (node && !all.node)
    return fail(Status::unsupported, "schedule {} needs ranks that share a host's memory: {}", kNodeName, all.no_node);
  if (!node && !all.mpi) return fail(Status::unsupported, "schedule {} needs a communicator over an MPI", kNativeName);
  const auto what = [&] {
    return fmt::format("{}{} of {} elements of {}{}{}", call.nonblocking ? "started " : "", name(call.collective),
                       call.count, type_name(call.type), reduces(call.collective) ? " by " : "",
                       reduces(call.collective) ? op_name(call.op) : "");
  };
  if (o.payload > STRETTO_PAYLOAD_RAW && node) {
    if (all.support.streams || all.support.nodes_streams) return Status::ok;
    return fail(Status::unsupported, "a host's memory has no {} as payload {}", what(), payload_name(o.payload));
  }
  if (o.payload > STRETTO_PAYLOAD_RAW)
    return fail(Status::unsupported, "schedule {} moves values as they are, not as payload {}", kNativeName,
                payload_name(o.payload));
  if (all.support.by(provider)) return Status::ok;
  if (!node && rank_by_rank(call))
    return fail(Status::unsupported, "schedule {} adds in an order of the MPI's, and options.reproducible is set",
                kNativeName);
  return fail(Status::unsupported, "{} has no {} of its own", node ? "a host's memory" : "the MPI", what());
}

}  // namespace

bool forces_native(const Call& call) noexcept { return call.settings.schedule == kNativeName; }

std::optional<Provider> forced_provider(const Call& call) noexcept {
  if (forces_native(call)) return call.device != nullptr ? Provider::device : Provider::mpi;
  if (call.settings.schedule == kNodeName) return Provider::node;
  return std::nullopt;
}

Status check_forced(const Call& call, const Providers& providers, const schedule::Groups* groups) {
  if (call.settings.schedule.empty()) return Status::ok;
  if (call.settings.options.raw_below > 0 && forced_provider(call))
    return fail(Status::unsupported, "raw_below {} is of messages, and schedule {} has none of ours",
                call.settings.options.raw_below, call.settings.schedule);
  if (const auto forced = forced_provider(call)) return check_provider(call, *forced, providers);
  const auto collective = schedule::family(call.collective);
  const std::string& name = call.settings.schedule;
  const schedule::Algorithm* a = schedule::find(collective, name);
  if (!a) {
    std::string offered;
    for (const auto& other : schedule::algorithms())
      if (other.collective == collective) offered += (offered.empty() ? "" : ", ") + std::string(other.name);
    return fail(Status::unsupported, "{} has no schedule '{}'; it has {}, native and node", schedule::name(collective),
                name, offered);
  }
  return check_algorithm(call, *a, groups);
}

Status check_algorithm(const Call& call, const schedule::Algorithm& a, const schedule::Groups* groups) {
  if (needs_order(call) && !schedule::keeps_order(a, groups))
    return fail(Status::unsupported, "schedule {} does not keep the order that this operation needs", a.name);
  // Within a relative bound a range of 0 makes values travel raw.
  const stretto_options& o = call.settings.options;
  const bool raw = o.bound_kind != STRETTO_BOUND_ABSOLUTE || o.payload == STRETTO_PAYLOAD_RAW;
  if (raw && rank_by_rank(call) && !a.rank_by_rank)
    return fail(Status::unsupported, "schedule {} does not add rank by rank, and options.reproducible is set", a.name);
  const bool rounds_again = is_compressed(o.payload) && !payload::traits(payload_kind(o.payload)).adds_codes;
  if (a.ranks_differ && (raw ? !is_exact(call) : rounds_again))
    return fail(Status::unsupported,
                "schedule {} adds in other brackets on each rank, so that these sums of {} would differ between ranks: "
                "it takes exact operations, and codes within an absolute bound",
                a.name, type_name(call.type));
  if (counts_by_pair(call.collective) && a.passes_blocks_on)
    return fail(Status::unsupported, "schedule {} passes blocks on through ranks that do not know their counts",
                a.name);
  if (o.raw_below > 0 && (a.uses_groups || a.ranks_differ))
    return fail(Status::unsupported, "schedule {} {}, and raw_below is {}", a.name,
                a.uses_groups ? "groups ranks" : "adds in other brackets on each rank", o.raw_below);
  if (call.settings.options.payload == STRETTO_PAYLOAD_MIXED && !a.uses_groups)
    return fail(Status::unsupported, "schedule {} does not add up a host first, as payload mixed needs", a.name);
  return Status::ok;
}

}  // namespace stretto::select
