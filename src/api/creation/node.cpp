#include "api/creation/node.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/creation/create.hpp"
#include "api/creation/share.hpp"
#include "base/guarded.hpp"
#include "base/peers.hpp"
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

std::atomic<int> crowd{0};  // the most ranks found under this kernel that were more than their cores

// Ranks of the program on the cores of `host`'s ranks. Hosts under one kernel, as containers with names of their own,
// may each have cores of their own, unless these are too few for all ranks.
int others_on_cores(const topology::Topology& host, const backend::Transport& transport) noexcept {
  return std::max(transport.others_here(), crowd.load() - host.ranks());
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
  o.group.others = others_on_cores(topology, transport);
  o.group.patience.progress = progress;
  o.group.patience.context = &transport;
  return o;
}

// The first rank that keeps ranks from sharing memory, if ranks of one kernel may; all.size(): none.
std::size_t objector(const std::vector<Introduction>& all, bool one_kernel) noexcept {
  const auto objects = [&](const Introduction& r) { return !r.wanted || (one_kernel && r.boot != all.front().boot); };
  return static_cast<std::size_t>(std::find_if(all.begin(), all.end(), objects) - all.begin());
}

std::string objection_of(const std::vector<Introduction>& all, std::size_t r) {
  if (!all[r].wanted) return fmt::format("STRETTO_NODE=0 on rank {}", r);
  return fmt::format("ranks 0 and {} run under different kernels", r);
}

topology::Topology host_of(const topology::Topology& topology, int rank) {
  std::vector<topology::Place> places;
  for (const std::int32_t r : topology.ranks_of(topology.host_of(rank))) places.push_back(topology.place(r));
  return topology::Topology(std::move(places), topology.cores_per_host());
}

// Empty where it cannot be read now, for lack of a descriptor: the next communicator tries again.
std::array<char, 40> own_boot() {
  static std::mutex mutex;
  static std::array<char, 40> kept{};
  const std::lock_guard lock(mutex);
  if (kept.front() == 0) {
    std::string boot;
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::getline(file, boot);
    std::copy_n(boot.begin(), std::min(boot.size(), kept.size()), kept.begin());
  }
  return kept;
}

constexpr Purpose kSharing = "for the collectives of a host";
constexpr const char* kHierarchy = "STRETTO_HIERARCHY";

// `wish`: rank 0's setting, equal on all ranks.
Status read_hierarchies(const backend::Transport& transport, const topology::Topology& topology,
                        const std::string& wish, node::Hierarchies* hierarchies) {
  std::vector<topology::Place> places;
  places.reserve(static_cast<std::size_t>(topology.ranks()));
  for (int r = 0; r < topology.ranks(); ++r) places.push_back(topology.place(r));
  const Status s = node::parse_hierarchies(wish, places, transport.numbers(), hierarchies);
  return s == Status::ok ? s : fail(s, "{}: {}", kHierarchy, message());
}

}  // namespace

void found_under_kernel(int ranks, bool same_cores) noexcept {
  CoreSet own;
  own.find();
  if (ranks <= (same_cores ? own.count() : sysconf(_SC_NPROCESSORS_ONLN))) return;
  int so_far = crowd.load();
  while (so_far < ranks && !crowd.compare_exchange_weak(so_far, ranks)) {
  }
}

std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t h = 0xCBF29CE484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return std::max<std::uint64_t>(h, 1);
}

Introduction introduce() {
  Introduction me;
  me.boot = own_boot();
  CoreSet cores;
  cores.find();
  me.cores = hash_of({reinterpret_cast<const char*>(cores.sets), sizeof cores.sets});
  const char* const given = secure_getenv("STRETTO_NODE");
  me.wanted = given == nullptr || std::string_view(given) != "0";
  me.hierarchy = secure_getenv(kHierarchy) != nullptr;
  return me;
}

Status find_node(backend::Transport& transport, Status ready, const std::vector<Introduction>& all,
                 const model::Chooser* chooser, std::string* why, std::unique_ptr<node::Collectives>* node) noexcept {
  std::string wish;
  if (all.front().hierarchy) {
    const char* const given = secure_getenv(kHierarchy);
    const Status shared = share_text(transport, given != nullptr ? given : "", &wish);
    if (ready == Status::ok) ready = shared;
  }
  const std::size_t against = objector(all, true);
  if (against < all.size() && ready == Status::ok)
    ready = guarded(kSharing, [&] { *why = objection_of(all, against); });
  std::optional<node::Options> options;
  if (ready == Status::ok)
    ready = guarded(kSharing, [&]() -> Status {
      node::Hierarchies hierarchies;
      const Status s = read_hierarchies(transport, chooser->topology(), wish, &hierarchies);
      options = options_for(chooser->topology(), chooser->profile(), std::move(hierarchies), transport);
      return s;
    });
  if (against < all.size()) return ready;
  if (ready != Status::ok) return node::Group::decline(transport, ready);
  // Peers map an arena when they meet, so it must exist by then.
  if (void* own = node::arena::allocate(1, node::kLine)) node::arena::release(own);
  const Status s = node::Collectives::create(transport, *options, node);
  if (s == Status::ok || transport.parted()) return s;
  return guarded(kSharing, [why] { *why = message(); });
}

backend::MakeHost later_node(backend::Transport& transport, const std::vector<Introduction>& all,
                             const topology::Topology& topology, const model::Profile& profile, std::string* why) {
  if (topology.hosts() == topology.ranks())
    *why = fmt::format("the ranks are on {} hosts, one on each", topology.hosts());
  else if (const std::size_t against = objector(all, false); against < all.size())
    *why = objection_of(all, against);
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
  const auto beside = [&](const Introduction& r) { return r.boot == me.boot; };
  const bool same_cores =
      std::all_of(all.begin(), all.end(), [&](const Introduction& r) { return !beside(r) || r.cores == me.cores; });
  found_under_kernel(static_cast<int>(std::count_if(all.begin(), all.end(), beside)), same_cores);
  const topology::Topology host = host_of(topology, rank);
  node::Options options = options_for(host, profile, {node::Hierarchy(host.ranks()), {}}, transport);
  return [options = std::move(options), numbers = std::vector<std::int32_t>(members.begin(), members.end())](
             node::Exchange& among, std::unique_ptr<node::Collectives>* made) {
    node::Options own = options;
    own.group.numbers = numbers;
    if (void* first = node::arena::allocate(1, node::kLine)) node::arena::release(first);
    return node::Collectives::create(among, own, made);
  };
}

}  // namespace stretto::api
