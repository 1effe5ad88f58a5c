#include "api/machine_mpi.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "carrier/mpi_unasked.hpp"
#include "model/profile.hpp"
#include "topology/topology.hpp"

namespace stretto::api {
namespace {

// One rank's entry: what tells its host from others, and where on it it is.
struct Here {
  std::array<char, 64> host{};
  std::int32_t socket = -1, cache = -1, core = -1, numa = -1, cores = 0;
  std::array<char, 64> levels{};  // of a hierarchy inside hosts
};

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

// "Open MPI 5.0.11", as profiles name it.
std::string mpi_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<std::size_t>(length));
  std::string flavour = all.substr(0, all.find_first_of(" \t\n"));
  for (const char* known : {"Open MPI", "MPICH"})
    if (all.find(known) != std::string::npos) flavour = known;
  const std::size_t from = all.find_first_of("0123456789");
  if (from == std::string::npos) return flavour;
  return flavour + " " + all.substr(from, all.find_first_not_of("0123456789.", from) - from);
}

// Looking at the machine takes milliseconds, and a process does not move between hosts. Where it cannot be looked at, nothing but
// the host is known.
Here look() {
  static const Here once = [] {
    Here h;
    const std::string name = host_name();
    std::copy_n(name.begin(), std::min(name.size(), h.host.size()), h.host.begin());
    topology::Place place;
    int cores = 0;
    if (topology::locate(&place, &cores) == Status::ok) {
      h.socket = place.socket;
      h.cache = place.cache;
      h.core = place.core;
      h.numa = place.numa;
      h.cores = cores;
    }
    return h;
  }();
  return once;
}

// All ranks go by rank 0's levels.
Status topology_of(const std::vector<Here>& all, topology::Topology* topology) {
  std::map<std::string_view, std::int32_t> hosts;
  std::vector<topology::Place> places;
  int cores = 0;
  for (const Here& h : all) {
    const std::string_view name(h.host.data(), h.host.size());
    const auto host = hosts.emplace(name, static_cast<std::int32_t>(hosts.size())).first->second;
    places.push_back({host, h.socket, h.cache, h.core, h.numa});
    if (h.cores > 0) cores = cores > 0 ? std::min(cores, h.cores) : h.cores;
  }
  *topology = topology::Topology(std::move(places), cores);
  const Status s = topology->take_levels(all.front().levels.data());
  return s == Status::ok ? s : fail(s, "STRETTO_LEVELS: {}", message());
}

// The text and the number on all ranks; where rank 0 has a failure to tell, that is the text.
Status share(MPI_Comm comm, int rank, Status found, std::string* text, std::size_t* number) {
  long long length[3] = {static_cast<long long>(text->size()), static_cast<int>(found),
                         static_cast<long long>(*number)};
  if (MPI_Bcast(length, 3, MPI_LONG_LONG, 0, comm) != MPI_SUCCESS)
    return fail(Status::mpi_error, "MPI_Bcast failed while a communicator was created");
  if (rank != 0) text->resize(static_cast<std::size_t>(length[0]));
  if (MPI_Bcast(text->data(), static_cast<int>(length[0]), MPI_CHAR, 0, comm) != MPI_SUCCESS)
    return fail(Status::mpi_error, "MPI_Bcast failed while a communicator was created");
  *number = static_cast<std::size_t>(length[2]);
  const auto s = static_cast<Status>(length[1]);
  return s == Status::ok ? s : fail(s, "{}", *text);
}

}  // namespace

Status find_machine(MPI_Comm comm, std::shared_ptr<SharedChooser>* chooser) noexcept {
  try {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    Here own = look();
    const char* given = std::getenv("STRETTO_LEVELS");
    const std::string_view levels = given != nullptr ? given : topology::all_levels;
    std::copy_n(levels.begin(), std::min(levels.size(), own.levels.size() - 1), own.levels.begin());
    std::vector<Here> all(static_cast<std::size_t>(ranks));
    constexpr int bytes = sizeof(Here);
    if (MPI_Allgather(&own, bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, comm) != MPI_SUCCESS)
      return fail(Status::mpi_error, "MPI_Allgather failed while a communicator was created");
    model::Profile profile;
    std::string text;
    Status s = Status::ok;
    if (rank == 0) {
      s = model::find(host_name(), mpi_name(), &profile);
      text = s == Status::ok ? model::to_json(profile) : message();
    }
    std::size_t unasked = carrier::mpi_unasked();
    s = share(comm, rank, s, &text, &unasked);
    // Rank 0 reads its own text too: all ranks then hold the same to the last bit.
    if (s == Status::ok) s = model::parse(text, &profile);
    topology::Topology topology;
    if (s == Status::ok) s = topology_of(all, &topology);
    if (s != Status::ok) return s;
    const bool between = topology.hosts() > 1;
    *chooser = std::make_shared<SharedChooser>(std::move(profile), std::move(topology));
    if (between) (*chooser)->unasked = unasked;
    return s;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory to describe the machine"));
  }
}

}  // namespace stretto::api
