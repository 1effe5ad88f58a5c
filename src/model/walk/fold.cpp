#include <algorithm>
#include <bit>

#include "model/walk/programs.hpp"
#include "schedule/floors.hpp"

namespace stretto::model {

using schedule::Symmetry;

namespace {

// 0 unless hosts have equal, consecutive ranks, alike inside.
int ranks_a_host(const topology::Topology& t) {
  if (t.ranks() == 0 || !t.uniform()) return 0;
  const int d = t.ranks() / t.hosts();
  for (int r = 0; r < t.ranks(); ++r) {
    if (t.host_of(r) != r / d) return 0;
    const int i = r % d;
    for (int j = 0; j < i; ++j)
      if (t.distance(r, r - i + j) != t.distance(i, j)) return 0;
  }
  return d;
}

}  // namespace

int fold_period(const schedule::Algorithm& algorithm, const schedule::Request& request,
                const topology::Topology& topology, int hosts_per_leaf) {
  const int p = request.ranks;
  const Symmetry symmetry = algorithm.symmetry;
  // Hosts on a torus differ in their links.
  if (symmetry == Symmetry::none || !topology.torus().empty()) return p;
  const int d = ranks_a_host(topology);
  if (d == 0) return p;
  const int walked = std::max(hosts_per_leaf, 1);
  if (topology.hosts() % walked != 0) return p;
  if (walked > 1 && symmetry == Symmetry::shift_unshared) return p;
  if (symmetry == Symmetry::exclusive_or) {
    const auto power = [](int n) { return std::has_single_bit(static_cast<unsigned>(n)); };
    if (!power(topology.hosts()) || !power(walked) || (!algorithm.uses_groups && !power(p))) return p;
  }
  return d * walked;
}

schedule::Groups groups_of(const topology::Topology& topology) {
  schedule::Groups groups = schedule::groups_of(topology.levels());
  groups.torus = topology.torus();
  return groups;
}

}  // namespace stretto::model
