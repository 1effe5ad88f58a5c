// Which ranks behave alike.
#include <algorithm>
#include <bit>
#include <string_view>

#include "model/programs.hpp"
#include "schedule/floors.hpp"

namespace stretto::model {
namespace {

using schedule::Collective;

enum class Symmetry : std::uint8_t { none, shift, exclusive_or };

// What maps an algorithm onto itself when all ranks have as many blocks: a shift of all ranks by any number, or an exclusive-or of
// all ranks with any number, where the ranks are a power of two. Of algorithms over hosts the same holds for the hosts.
Symmetry symmetry_of(const schedule::Algorithm& a) {
  struct Row {
    Collective collective;
    std::string_view name;
    Symmetry symmetry;
  };
  using C = Collective;
  constexpr Symmetry shift = Symmetry::shift, exclusive_or = Symmetry::exclusive_or;
  static constexpr Row rows[] = {
      {C::allreduce, "ring", shift},
      {C::allreduce, "recursive_doubling", exclusive_or},
      {C::allreduce, "rabenseifner", exclusive_or},
      {C::allreduce, "hierarchical_ring", shift},
      {C::allreduce, "hierarchical_rabenseifner", exclusive_or},
      {C::allreduce, "hierarchical_recursive_doubling", exclusive_or},
      {C::allreduce, "leader", exclusive_or},
      {C::reduce_scatter, "ring", shift},
      {C::reduce_scatter, "pairwise", shift},
      {C::allgather, "ring", shift},
      {C::allgather, "pairwise", shift},
      {C::allgather, "recursive_doubling", exclusive_or},
      {C::alltoall, "pairwise", shift},
      {C::barrier, "dissemination", shift},
      {C::barrier, "recursive_doubling", exclusive_or},
  };
  for (const Row& r : rows)
    if (r.collective == a.collective && r.name == a.name) return r.symmetry;
  return Symmetry::none;
}

// Hosts of as many ranks each, in a row, all alike inside. 0: they are not.
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
  const Symmetry symmetry = symmetry_of(algorithm);
  if (symmetry == Symmetry::none) return p;
  const int d = ranks_a_host(topology);
  if (d == 0) return p;
  const int walked = std::max(hosts_per_leaf, 1);
  if (topology.hosts() % walked != 0) return p;
  // Of a pairwise exchange the messages that share an uplink begin together, and which is first depends on the switch.
  if (walked > 1 && algorithm.name == "pairwise") return p;
  if (symmetry == Symmetry::exclusive_or) {
    const auto power = [](int n) { return std::has_single_bit(static_cast<unsigned>(n)); };
    if (!power(topology.hosts()) || !power(walked) || (!algorithm.uses_groups && !power(p))) return p;
  }
  return d * walked;
}

schedule::Groups groups_of(const topology::Topology& topology) { return schedule::groups_of(topology.levels()); }

}  // namespace stretto::model
