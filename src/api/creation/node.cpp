#include "api/creation/node.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/creation/share.hpp"
#include "base/guarded.hpp"
#include "base/progress/communication_cores.hpp"
#include "node/arena/arena.hpp"
#include "node/hierarchy/hierarchy_text.hpp"

namespace stretto::api {
namespace {

// Also drives started calls: another rank may wait for them.
void progress(void* of) noexcept {
  auto* const transport = static_cast<backend::Transport*>(of);
  CommunicationCores::mine().drive_here(!transport->any_thread());
  transport->progress();
}

node::Options options_for(const topology::Topology& topology, const model::Profile& profile,
                          node::Hierarchies hierarchies, backend::Transport& transport) {
  node::Options o;
  o.hierarchy = std::move(hierarchies.usual);
  o.hierarchies = std::move(hierarchies.of);
  if (const model::Switches* s = profile.switches_of(topology.ranks())) {
    o.eager = s->eager;
    o.eager_reduce = s->eager_reduce;
    o.kernel = s->kernel.value_or(o.kernel);
  }
  const auto least = 4 * node::kLine * static_cast<std::size_t>(topology.ranks());
  o.group.slot = std::max(node::slot_for(topology.ranks()), least);
  o.group.others = transport.others_here();
  o.group.patience.progress = progress;
  o.group.patience.context = &transport;
  return o;
}

// Why the ranks cannot share memory, equal on every rank; empty: they may try.
std::string objection(const std::vector<Introduction>& all, const topology::Topology& topology) {
  if (topology.hosts() == topology.ranks() && topology.hosts() > 1)
    return fmt::format("the ranks are on {} hosts, one on each", topology.hosts());
  for (int r = 0; r < topology.ranks(); ++r) {
    const Introduction& own = all[static_cast<std::size_t>(r)];
    if (!own.wanted) return fmt::format("STRETTO_NODE=0 on rank {}", r);
    if (topology.hosts() == 1 && own.boot != all.front().boot)
      return fmt::format("ranks 0 and {} run under different kernels", r);
  }
  return {};
}

topology::Topology host_of(const topology::Topology& topology, int rank) {
  std::vector<topology::Place> places;
  for (const std::int32_t r : topology.ranks_of(topology.host_of(rank))) places.push_back(topology.place(r));
  return topology::Topology(std::move(places), topology.cores_per_host());
}

constexpr Purpose kSharing = "for the collectives of a host";

// Rank 0's setting of hierarchies on all ranks. Collective. invalid_argument, on every rank: it does not fit the
// machine.
Status ask_hierarchies(backend::Transport& transport, const topology::Topology& topology,
                       std::optional<node::Hierarchies>* hierarchies) noexcept {
  const char* given = secure_getenv("STRETTO_HIERARCHY");
  std::string wish;
  if (const Status s = share_text(transport, given != nullptr ? given : "", &wish); s != Status::ok) return s;
  Status found = Status::ok;
  const Status s = guarded(kSharing, [&] {
    std::vector<topology::Place> places;
    places.reserve(static_cast<std::size_t>(topology.ranks()));
    for (int r = 0; r < topology.ranks(); ++r) places.push_back(topology.place(r));
    found = node::parse_hierarchies(wish, places, transport.numbers(), &hierarchies->emplace());
    if (found != Status::ok) found = fail(found, "STRETTO_HIERARCHY: {}", message());
  });
  return s != Status::ok ? s : found;
}

// Collective. The ranks agree after each step that may fail on one rank alone.
Status meet(backend::Transport& transport, const topology::Topology& topology, const model::Profile& profile,
            node::Hierarchies hierarchies, std::unique_ptr<node::Collectives>* made) noexcept {
  std::optional<stretto::node::Options> options;
  Status s = guarded(kSharing, [&] { options = options_for(topology, profile, std::move(hierarchies), transport); });
  if (s = node::agree(transport, s); s != Status::ok) return s;
  // Peers map an arena when they meet, so it must exist by then.
  if (void* own = node::arena::allocate(1, node::kLine)) node::arena::release(own);
  s = node::Collectives::create(transport, *options, made);
  return node::agree(transport, s);
}

}  // namespace

Introduction introduce() {
  Introduction me;
  std::string boot;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, boot);
  std::copy_n(boot.begin(), std::min(boot.size(), me.boot.size()), me.boot.begin());
  const char* const given = secure_getenv("STRETTO_NODE");
  me.wanted = given == nullptr || std::string_view(given) != "0";
  return me;
}

Status find_node(backend::Transport& transport, const std::vector<Introduction>& all,
                 const topology::Topology& topology, const model::Profile& profile, std::string* why,
                 std::unique_ptr<node::Collectives>* node) noexcept {
  std::optional<node::Hierarchies> hierarchies;
  Status s = ask_hierarchies(transport, topology, &hierarchies);
  if (s = node::agree(transport, s); s != Status::ok) return s;
  s = node::agree(transport, guarded(kSharing, [&] { *why = objection(all, topology); }));
  if (s == Status::ok && !why->empty()) return s;
  if (s == Status::ok) s = meet(transport, topology, profile, std::move(*hierarchies), node);
  if (s == Status::ok) return s;
  node->reset();
  return guarded(kSharing, [why] { *why = message(); });
}

backend::MakeHost later_node(backend::Transport& transport, const std::vector<Introduction>& all,
                             const topology::Topology& topology, const model::Profile& profile, std::string* why) {
  *why = objection(all, topology);
  if (!why->empty()) return {};
  const int rank = transport.rank();
  const auto members = topology.ranks_of(topology.host_of(rank));
  const Introduction& me = all[static_cast<std::size_t>(rank)];
  const auto stranger = std::find_if(members.begin(), members.end(),
                                     [&](std::int32_t r) { return all[static_cast<std::size_t>(r)].boot != me.boot; });
  if (stranger != members.end())
    return [rank, other = *stranger](node::Exchange&, std::unique_ptr<node::Collectives>*) {
      return fail(Status::unsupported, "ranks {} and {} run under different kernels", rank, other);
    };
  const topology::Topology host = host_of(topology, rank);
  node::Options options = options_for(host, profile, {node::Hierarchy(host.ranks()), {}}, transport);
  // Hosts under one kernel, as containers with names of their own, share its cores.
  const auto beside = std::count_if(all.begin(), all.end(), [&](const Introduction& r) { return r.boot == me.boot; });
  options.group.others += static_cast<int>(beside) - host.ranks();
  return [options = std::move(options), numbers = std::vector<std::int32_t>(members.begin(), members.end())](
             node::Exchange& among, std::unique_ptr<node::Collectives>* made) {
    node::Options own = options;
    own.group.numbers = numbers;
    if (void* first = node::arena::allocate(1, node::kLine)) node::arena::release(first);
    return node::Collectives::create(among, own, made);
  };
}

}  // namespace stretto::api
