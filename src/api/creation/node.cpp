#include "api/creation/node.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/creation/share.hpp"
#include "base/communication_cores.hpp"
#include "carrier/group.hpp"
#include "node/arena/arena.hpp"
#include "node/group/hierarchy_text.hpp"

namespace stretto::api {
namespace {

// Hosts may bear the same name, and one of several names (of containers) may have one memory. The kernel knows.
enum Wanted : int { nowhere, on_one_host, on_each_host };

struct Introduction {
  std::array<char, 40> boot{};
  Wanted wanted = on_one_host;
};

Introduction introduce() {
  Introduction me;
  std::string boot;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, boot);
  std::copy_n(boot.begin(), std::min(boot.size(), me.boot.size()), me.boot.begin());
  const char* const given = secure_getenv("STRETTO_NODE");
  const std::string_view wanted = given != nullptr ? given : "";
  if (wanted == "0") me.wanted = nowhere;
  if (wanted == "hosts") me.wanted = on_each_host;
  return me;
}

// A waiting rank also drives started calls, since another rank may wait for them.
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

// Tags of the exchanges on a host: the last ones, which the engine reaches last.
constexpr std::uint64_t most_tags = 4096;

// Why not, the same on every rank; empty: they may try.
std::string objection(const std::vector<Introduction>& all, const topology::Topology& topology) {
  if (topology.hosts() == topology.ranks() && topology.hosts() > 1)
    return fmt::format("the ranks are on {} hosts, one on each", topology.hosts());
  for (int r = 0; r < topology.ranks(); ++r) {
    const Introduction& own = all[static_cast<std::size_t>(r)];
    const int first = topology.ranks_of(topology.host_of(r)).front();
    if (own.wanted == nowhere) return fmt::format("STRETTO_NODE=0 on rank {}", r);
    if (own.wanted == on_one_host && topology.hosts() > 1)
      return fmt::format("the ranks are on {} hosts, and STRETTO_NODE is not 'hosts' on rank {}", topology.hosts(), r);
    if (own.boot != all[static_cast<std::size_t>(first)].boot)
      return fmt::format("ranks {} and {} run under different kernels", first, r);
  }
  return {};
}

// The ranks of this rank's host.
topology::Topology host_of(const topology::Topology& topology, int rank) {
  std::vector<topology::Place> places;
  for (const std::int32_t r : topology.ranks_of(topology.host_of(rank))) places.push_back(topology.place(r));
  return topology::Topology(std::move(places), topology.cores_per_host());
}

// A failure where `work` has no memory.
template <class Work>
Status tried(const Work& work) noexcept {
  try {
    work();
    return Status::ok;
  } catch (const std::exception& e) {
    return fail(Status::out_of_memory, "no memory for the collectives of a host: {}", e.what());
  }
}

// Gets rank 0's setting of hierarchies on all ranks. Collective. invalid_argument, on every rank: the setting does not fit the machine.
Status ask_hierarchies(backend::Transport& transport, const topology::Topology& topology,
                       std::optional<node::Hierarchies>* hierarchies) noexcept {
  const char* given = secure_getenv("STRETTO_HIERARCHY");
  std::string wish;
  if (const Status s = share_text(transport, given != nullptr ? given : "", &wish); s != Status::ok) return s;
  Status found = Status::ok;
  const Status s = tried([&] {
    std::vector<topology::Place> places;
    places.reserve(static_cast<std::size_t>(topology.ranks()));
    for (int r = 0; r < topology.ranks(); ++r) places.push_back(topology.place(r));
    found = node::parse_hierarchies(wish, places, transport.numbers(), &hierarchies->emplace());
    if (found != Status::ok) found = fail(found, "STRETTO_HIERARCHY: {}", message());
  });
  return s != Status::ok ? s : found;
}

// Collective. After each step that may fail on one rank alone the ranks agree, so that all go on or none does. On several hosts the ranks
// of each exchange over `messages`.
Status meet(backend::Transport& transport, carrier::Carrier& messages, const topology::Topology& topology,
            const model::Profile& profile, std::optional<node::Hierarchies> hierarchies, std::string* why,
            std::unique_ptr<node::Collectives>* made) noexcept {
  Introduction me;
  std::vector<Introduction> all;
  Status s = tried([&] {
    me = introduce();
    all.resize(static_cast<std::size_t>(transport.size()));
  });
  if (s = node::agree(transport, s); s != Status::ok) return s;
  if (s = transport.allgather(&me, sizeof me, all.data()); s != Status::ok) return s;

  std::optional<stretto::node::Options> options;
  std::optional<carrier::GroupCarrier> here;
  std::optional<node::CarrierExchange> exchange;
  s = tried([&] {
    *why = objection(all, topology);
    if (!why->empty()) return;
    const int rank = transport.rank();
    if (topology.hosts() == 1) {
      options = options_for(topology, profile, std::move(*hierarchies), transport);
      return;
    }
    const topology::Topology host = host_of(topology, rank);
    options = options_for(host, profile, {node::Hierarchy(host.ranks()), {}}, transport);
    // Hosts under one kernel, as containers with names of their own, share its cores.
    const auto beside = std::count_if(all.begin(), all.end(), [&](const Introduction& r) { return r.boot == me.boot; });
    options->group.others += static_cast<int>(beside) - host.ranks();
    const auto members = topology.ranks_of(topology.host_of(rank));
    options->group.numbers = members;
    exchange.emplace(here.emplace(messages, members), messages.tags() - most_tags);
  });
  if (s = node::agree(transport, s); s != Status::ok || !why->empty()) return s;
  // Peers map an arena when they meet, so it is there by then: buffers that are asked for later are seen too.
  if (void* own = node::arena::allocate(1, node::kLine)) node::arena::release(own);
  node::Exchange& among = exchange ? static_cast<node::Exchange&>(*exchange) : transport;
  s = node::Collectives::create(among, *options, made);
  return node::agree(transport, s);
}

}  // namespace

Status find_node(backend::Transport& transport, carrier::Carrier& messages, const topology::Topology& topology,
                 const model::Profile& profile, std::string* why, std::unique_ptr<node::Collectives>* node) noexcept {
  std::optional<node::Hierarchies> hierarchies;  // where all are on one host
  Status s = topology.hosts() == 1 ? ask_hierarchies(transport, topology, &hierarchies) : Status::ok;
  if (s = node::agree(transport, s); s != Status::ok) return s;
  if (meet(transport, messages, topology, profile, std::move(hierarchies), why, node) == Status::ok) return Status::ok;
  node->reset();
  return tried([why] { *why = message(); });
}

}  // namespace stretto::api
