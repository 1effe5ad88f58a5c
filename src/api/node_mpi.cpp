#include "api/node_mpi.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/share_mpi.hpp"
#include "backend/node.hpp"
#include "node/arena/arena.hpp"
#include "node/group/hierarchy_text.hpp"

namespace stretto::api {
namespace {

class MpiExchange final : public node::Exchange {
 public:
  explicit MpiExchange(MPI_Comm comm) noexcept : comm_(comm) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  using Exchange::allgather;
  Status allgather(const void* mine, std::size_t bytes, void* all) noexcept override {
    const int n = static_cast<int>(bytes);
    return MPI_Allgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, comm_) == MPI_SUCCESS
               ? Status::ok
               : fail(Status::mpi_error, "MPI_Allgather failed while the ranks of a host met");
  }

 private:
  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
};

// Hosts may bear the same name, and one of several names (of containers) may have one memory. The kernel knows.
struct Introduction {
  std::array<char, 40> boot{};
  int wanted = 1;
};

Introduction introduce() {
  Introduction me;
  std::string boot;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, boot);
  std::copy_n(boot.begin(), std::min(boot.size(), me.boot.size()), me.boot.begin());
  const char* wanted = secure_getenv("STRETTO_NODE");
  me.wanted = wanted == nullptr || std::string_view(wanted) != "0" ? 1 : 0;
  return me;
}

// A message that waits to be matched needs this rank to look, even while it waits for shared memory.
void progress(void* comm) noexcept {
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, *static_cast<MPI_Comm*>(comm), &found, MPI_STATUS_IGNORE);
}

// The ranks' numbers in MPI_COMM_WORLD; negative: it is of another.
std::vector<int> numbers_of(MPI_Comm comm, int ranks) {
  std::vector<int> own(static_cast<std::size_t>(ranks)), all(own.size(), -1);
  std::iota(own.begin(), own.end(), 0);
  MPI_Group here = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &here);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(here, ranks, own.data(), world, all.data());
  MPI_Group_free(&here);
  MPI_Group_free(&world);
  return all;
}

// Ranks of the program on this host beside those of a communicator: as the launcher tells, else all that there are.
int others_here(int ranks) {
  int world = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    const char* told = secure_getenv(name);
    const int here = told != nullptr ? std::atoi(told) : 0;
    if (here > 0) world = std::min(world, here);
  }
  return std::max(0, world - ranks);
}

node::Options options_for(const topology::Topology& topology, const model::Profile& profile,
                          node::Hierarchies hierarchies, MPI_Comm* comm) {
  node::Options o;
  o.hierarchy = std::move(hierarchies.usual);
  o.hierarchies = std::move(hierarchies.of);
  if (const model::Switches* s = profile.switches_of(topology.ranks())) {
    o.eager = s->eager;
    o.eager_reduce = s->eager_reduce;
    o.kernel = s->kernel.value_or(o.kernel);
  }
  const auto least = 4 * node::kLine * static_cast<std::size_t>(topology.ranks());
  o.group.slot = std::max(o.group.slot, least);
  o.group.others = others_here(topology.ranks());
  o.group.patience.progress = progress;
  o.group.patience.context = comm;
  return o;
}

// Why not, the same on every rank; empty: they may try.
std::string objection(const std::vector<Introduction>& all, const topology::Topology& topology) {
  if (topology.hosts() > 1) return fmt::format("the ranks are on {} hosts", topology.hosts());
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (!all[r].wanted) return fmt::format("STRETTO_NODE=0 on rank {}", r);
    if (all[r].boot != all[0].boot) return fmt::format("ranks 0 and {} run under different kernels", r);
  }
  return {};
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

// As rank 0 was asked to. Collective. invalid_argument, on every rank: what is wished for cannot be.
Status ask_hierarchies(MPI_Comm comm, const topology::Topology& topology,
                       std::optional<node::Hierarchies>* hierarchies) noexcept {
  const char* given = secure_getenv("STRETTO_HIERARCHY");
  std::string wish;
  if (const Status s = share_text(comm, given != nullptr ? given : "", &wish); s != Status::ok) return s;
  Status found = Status::ok;
  const Status s = tried([&] {
    std::vector<topology::Place> places;
    places.reserve(static_cast<std::size_t>(topology.ranks()));
    for (int r = 0; r < topology.ranks(); ++r) places.push_back(topology.place(r));
    found = node::parse_hierarchies(wish, places, numbers_of(comm, topology.ranks()), &hierarchies->emplace());
    if (found != Status::ok) found = fail(found, "STRETTO_HIERARCHY: {}", message());
  });
  return s != Status::ok ? s : found;
}

// Collective. What one rank alone may fail at is agreed each time, so that all go on or none does.
Status meet(MPI_Comm comm, const topology::Topology& topology, const model::Profile& profile,
            std::optional<node::Hierarchies> hierarchies, std::string* why,
            std::unique_ptr<backend::NodeBackend>* node) noexcept {
  MpiExchange exchange(comm);
  Introduction me;
  std::vector<Introduction> all;
  Status s = tried([&] {
    me = introduce();
    all.resize(static_cast<std::size_t>(exchange.size()));
  });
  if (s = node::agree(exchange, s); s != Status::ok) return s;
  if (s = exchange.allgather(&me, sizeof me, all.data()); s != Status::ok) return s;

  std::shared_ptr<MPI_Comm> hooked;
  std::optional<stretto::node::Options> options;
  s = tried([&] {
    *why = objection(all, topology);
    if (!why->empty()) return;
    hooked = std::make_shared<MPI_Comm>(comm);
    options = options_for(topology, profile, std::move(*hierarchies), hooked.get());
  });
  if (s = node::agree(exchange, s); s != Status::ok || !why->empty()) return s;
  // Peers map an arena when they meet, so it is there by then: buffers that are asked for later are seen too.
  if (void* made = node::arena::allocate(1, node::kLine)) node::arena::release(made);
  std::unique_ptr<node::Collectives> made;
  s = node::Collectives::create(exchange, *options, &made);
  if (s == Status::ok) s = tried([&] { *node = backend::make_node_backend(std::move(made), std::move(hooked)); });
  return node::agree(exchange, s);
}

}  // namespace

Status find_node(MPI_Comm comm, const topology::Topology& topology, const model::Profile& profile, std::string* why,
                 std::unique_ptr<backend::NodeBackend>* node) noexcept {
  std::optional<node::Hierarchies> hierarchies;  // where all are on one host
  Status s = topology.hosts() == 1 ? ask_hierarchies(comm, topology, &hierarchies) : Status::ok;
  MpiExchange exchange(comm);
  if (s = node::agree(exchange, s); s != Status::ok) return s;
  if (meet(comm, topology, profile, std::move(hierarchies), why, node) == Status::ok) return Status::ok;
  node->reset();
  return tried([why] { *why = message(); });
}

}  // namespace stretto::api
