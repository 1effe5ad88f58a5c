#include "bench/choose_profile.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>

#include <fmt/core.h>

#include "bench/mpi.hpp"
#include "model/profile.hpp"

namespace stretto::bench {
namespace {

constexpr std::size_t name_length = 64;

// The ranks' hosts, by name.
std::vector<std::string> host_names() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<char> names(static_cast<std::size_t>(ranks) * name_length, 0);
  char own[name_length] = "";
  gethostname(own, sizeof own - 1);
  MPI_Allgather(own, name_length, MPI_CHAR, names.data(), name_length, MPI_CHAR, MPI_COMM_WORLD);
  std::vector<std::string> all;
  for (int r = 0; r < ranks; ++r) all.emplace_back(&names[static_cast<std::size_t>(r) * name_length]);
  return all;
}

// Lines through the medians of half round trips.
model::Link link_to(Calls& calls, int peer) {
  constexpr int lengths[] = {0, 1024, 8192, 65536, 1 << 20, most_ping};
  std::vector<double> seconds;
  for (const int n : lengths) seconds.push_back(calls.ping(peer, n, n > 100000 ? 7 : 51));
  MPI_Bcast(seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  model::Link link;
  for (std::size_t i = 0; i + 1 < seconds.size(); ++i) {
    const double beta = std::max(0.0, (seconds[i + 1] - seconds[i]) / (lengths[i + 1] - lengths[i]));
    link.push_back({static_cast<double>(lengths[i]), std::max(0.0, seconds[i] - beta * lengths[i]), beta});
  }
  return link;
}

template <class Call>
void measure(Calls& calls, const Kind& kind, const std::vector<std::uint64_t>& sizes, const Call& call,
             model::Native* native) {
  for (const std::uint64_t size : sizes) {
    const std::uint64_t bytes = calls.fit(kind, size);
    if (!native->points.empty() && static_cast<double>(bytes) <= native->points.back().first) continue;
    const auto once = [&] { call(kind, bytes); };
    for (int k = 0; k < 3; ++k) once();  // memory that was idle comes back
    const double first = calls.sample(once, 1, bytes);
    std::vector<double> ms;
    for (int k = 0; k < (first > 50 ? 1 : 9); ++k) ms.push_back(calls.sample(once, Calls::calls_for(first), bytes));
    native->points.emplace_back(static_cast<double>(bytes), median(ms) * 1e-3);
  }
}

}  // namespace

int count_hosts() {
  const std::vector<std::string> names = host_names();
  return static_cast<int>(std::set<std::string>(names.begin(), names.end()).size());
}

void measure_profile(Calls& calls, const std::vector<std::uint64_t>& sizes, const std::string& path,
                     const std::string& base) {
  model::Profile p = model::built_in();
  if (!base.empty() && model::load(base, &p) != Status::ok) throw std::runtime_error(message());
  p.name = "bench-choose";
  p.source = "measured by bench_choose";
  p.mpi = mpi_version();
  p.ranks = calls.ranks();
  p.hosts = count_hosts();
  const std::vector<std::string> names = host_names();
  const auto peer = [&](bool near) {
    const auto found = std::find_if(names.begin() + 1, names.end(),
                                    [&](const std::string& name) { return (name == names.front()) == near; });
    return found == names.end() ? -1 : static_cast<int>(found - names.begin());
  };
  if (const int near = peer(true); near > 0 && base.empty()) {
    const model::Link link = link_to(calls, near);
    for (const auto d : {topology::Distance::cache, topology::Distance::socket, topology::Distance::node})
      p.links[static_cast<std::size_t>(d)] = link;
  }
  if (const int far = peer(false); far > 0)
    p.links[static_cast<std::size_t>(topology::Distance::network)] = link_to(calls, far);
  p.natives.clear();
  setenv("STRETTO_PROFILE", "built-in", 1);
  stretto_comm comm = nullptr;
  if (stretto_comm_create(MPI_COMM_WORLD, &comm) != STRETTO_OK) throw std::runtime_error(stretto_message());
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.check = 0;
  o.schedule = "node";
  for (const Kind& kind : kinds()) {
    p.natives.push_back({kind.collective, p.ranks, p.hosts, {}, model::Provider::mpi});
    measure(
        calls, kind, sizes, [&](const Kind& k, std::uint64_t bytes) { calls.mpi(k, bytes); }, &p.natives.back());
    if (calls.ours(kind, calls.fit(kind, 8), comm, o) != STRETTO_OK) continue;  // on all ranks alike
    p.natives.push_back({kind.collective, p.ranks, p.hosts, {}, model::Provider::node});
    measure(
        calls, kind, sizes,
        [&](const Kind& k, std::uint64_t bytes) {
          if (calls.ours(k, bytes, comm, o) != STRETTO_OK) throw std::runtime_error(stretto_message());
        },
        &p.natives.back());
  }
  static_cast<void>(stretto_comm_free(comm));
  unsetenv("STRETTO_PROFILE");
  if (calls.rank() != 0) return;
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw std::runtime_error("cannot write " + path);
  fmt::print(file, "{}\n", model::to_json(p));
  std::fclose(file);
}

}  // namespace stretto::bench
