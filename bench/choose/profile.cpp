#include "bench/choose/profile.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <stdexcept>

#include <fmt/core.h>

#include "bench/doubt.hpp"
#include "bench/mpi.hpp"
#include "model/profile/profile.hpp"

namespace stretto::bench {
namespace {

constexpr std::size_t name_length = 64;

// The ranks' host names.
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

// Lines through the medians of half round trips. Short messages take so many that a shaped link's burst, which passes at
// full speed, is less than half of them.
model::Link link_to(Calls& calls, int peer) {
  constexpr int lengths[] = {0, 1024, 4096, 8192, 65536, 1 << 20, most_ping};
  std::vector<double> seconds;
  for (const int n : lengths) seconds.push_back(calls.ping(peer, n, n > 100000 ? 7 : n > 10000 ? 51 : 501));
  MPI_Bcast(seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  model::Link link;
  for (std::size_t i = 0; i + 1 < seconds.size(); ++i) {
    const double beta = std::max(0.0, (seconds[i + 1] - seconds[i]) / (lengths[i + 1] - lengths[i]));
    link.push_back({static_cast<double>(lengths[i]), std::max(0.0, seconds[i] - beta * lengths[i]), beta});
  }
  return link;
}

// As `stretto tune` finds out: a message each way at once takes less than half more time than one.
bool is_full_duplex(Calls& calls, int peer) {
  double both_over_one = calls.cross(peer, 1 << 20, 7) / calls.ping(peer, 1 << 20, 7);
  MPI_Bcast(&both_over_one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return both_over_one < 1.5;
}

// A provider of collectives, and the times of its calls.
struct Candidate {
  std::function<void(const Kind&, std::uint64_t bytes)> call;
  model::Native native;
};

constexpr int looks = 3;  // measurements of a point in doubt, of which the fastest counts

struct Point {
  double bytes = 0;
  GrowingPoint of{};  // ms
};

// Alternates between all providers, since core placement and other load change over time.
void measure(Calls& calls, const Kind& kind, const std::vector<std::uint64_t>& sizes,
             std::vector<Candidate>& candidates) {
  std::vector<std::uint64_t> lengths;
  for (const std::uint64_t size : sizes)
    if (const std::uint64_t bytes = calls.fit(kind, size); lengths.empty() || bytes > lengths.back())
      lengths.push_back(bytes);
  std::vector<std::vector<Point>> found(candidates.size(), std::vector<Point>(lengths.size()));
  const auto measure_length = [&](std::size_t at) {
    const std::uint64_t bytes = lengths[at];
    std::vector<std::vector<double>> ms(candidates.size());
    std::vector<double> first;
    for (Candidate& candidate : candidates) {
      const auto once = [&] { candidate.call(kind, bytes); };
      for (int k = 0; k < 3; ++k) once();  // brings idle memory back
      first.push_back(calls.sample(once, 1, bytes));
    }
    for (int round = 0; round < 9; ++round)
      for (std::size_t i = 0; i < candidates.size(); ++i)
        if (round == 0 || first[i] <= 50)
          ms[i].push_back(calls.sample([&] { candidates[i].call(kind, bytes); }, Calls::calls_for(first[i]), bytes));
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Point now{static_cast<double>(bytes), {median(ms[i]), is_steady(ms[i])}};
      Point& point = found[i][at];
      if (point.of.time == 0 || now.of.time < point.of.time) point = now;
    }
  };
  for (std::size_t i = 0; i < lengths.size(); ++i) measure_length(i);
  for (int look = 1; look < looks; ++look) {
    std::vector<bool> again(lengths.size());
    for (const std::vector<Point>& points : found) {
      std::vector<GrowingPoint> growing;
      for (const Point& point : points) growing.push_back(point.of);
      const std::vector<bool> doubts = in_doubt(growing);
      for (std::size_t i = 0; i < again.size(); ++i) again[i] = again[i] || doubts[i];
    }
    for (std::size_t i = 0; i < again.size(); ++i)
      if (again[i]) measure_length(i);
  }
  for (std::size_t i = 0; i < candidates.size(); ++i)
    for (const Point& point : found[i]) candidates[i].native.points.emplace_back(point.bytes, point.of.time * 1e-3);
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
  if (const int far = peer(false); far > 0) {
    p.links[static_cast<std::size_t>(topology::Distance::network)] = link_to(calls, far);
    p.full_duplex = is_full_duplex(calls, far);
  }
  p.natives.clear();
  setenv("STRETTO_PROFILE", "built-in", 1);
  stretto_comm comm = nullptr;
  if (stretto_comm_create(MPI_COMM_WORLD, &comm) != STRETTO_OK) throw std::runtime_error(stretto_message());
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.check = 0;
  o.schedule = "node";
  for (const Kind& kind : kinds()) {
    std::vector<Candidate> candidates{{[&](const Kind& k, std::uint64_t bytes) { calls.mpi(k, bytes); },
                                       {kind.collective, p.ranks, p.hosts, {}, model::Provider::mpi}}};
    const auto by_node = [&](const Kind& k, std::uint64_t bytes) {
      if (calls.ours(k, bytes, comm, o) != STRETTO_OK) throw std::runtime_error(stretto_message());
    };
    if (calls.ours(kind, calls.fit(kind, 8), comm, o) == STRETTO_OK)  // on all ranks alike
      candidates.push_back({by_node, {kind.collective, p.ranks, p.hosts, {}, model::Provider::node}});
    measure(calls, kind, sizes, candidates);
    for (Candidate& candidate : candidates) p.natives.push_back(std::move(candidate.native));
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
