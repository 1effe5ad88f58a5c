// Where the ranks of a communicator are: hosts, and inside a host sockets, last-level caches and cores.
//
// A Topology is data, the same on every rank: it is gathered once, or made up to ask what another machine would do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace stretto::topology {

// The closest thing that two ranks share; the kinds of link that a machine profile knows.
enum class Distance : std::uint8_t {
  cache,    // the last level of cache
  socket,   // the socket, not the cache
  node,     // the host, across sockets
  network,  // hosts joined by a network
};
constexpr std::size_t kDistances = 4;

const char* name(Distance d) noexcept;  // "cache", "socket", "node", "network"

// The place of one rank. host is a number unique in the job; socket, cache, core and NUMA node are unique within the host. -1: unknown,
// since the process is not bound within a single one; two ranks of a host count as sharing it where either has -1.
struct Place {
  std::int32_t host = 0;
  std::int32_t socket = -1;
  std::int32_t cache = -1;
  std::int32_t core = -1;
  std::int32_t numa = -1;
  friend bool operator==(const Place&, const Place&) = default;
};

Distance distance(const Place& a, const Place& b) noexcept;

// Levels inside a host that a hierarchy has unless others are asked for, from the innermost outwards.
inline constexpr std::string_view all_levels = "l3,numa,socket";

class Topology {
 public:
  Topology() = default;
  explicit Topology(std::vector<Place> places, int cores_per_host = 0);  // cores_per_host 0: not known

  // `ranks` ranks, `per_host` (>= 1) in a row on each host; the last host may have fewer.
  static Topology regular(int ranks, int per_host);

  int ranks() const noexcept { return static_cast<int>(places_.size()); }
  int hosts() const noexcept { return static_cast<int>(hosts_.size()); }
  int cores_per_host() const noexcept { return cores_; }
  const Place& place(int rank) const noexcept { return places_[static_cast<std::size_t>(rank)]; }
  Distance distance(int a, int b) const noexcept;

  // Ranks of the i-th host, ascending; hosts in the order of their lowest rank.
  std::span<const std::int32_t> ranks_of(int host) const noexcept;
  int host_of(int rank) const noexcept;  // index as in ranks_of
  bool uniform() const noexcept;         // as many ranks on every host

  // The ranks' numbers at each level of a hierarchy, from the outermost inwards: hosts first, then those levels that separate ranks
  // of some host. On a host where one rank is not known to be within a single socket (cache), all are taken to share it.
  const std::vector<std::vector<std::int32_t>>& levels() const noexcept { return levels_; }
  bool nested() const noexcept { return levels_.size() > 1; }  // some host has levels inside

  // Lengths of the sides of the torus that the hosts lie on, row by row, the last dimension changing fastest; empty: none is known.
  // lay_on_torus: invalid_argument unless it has a place for each host, of sides of at least 1.
  const std::vector<std::int32_t>& torus() const noexcept { return torus_; }
  Status lay_on_torus(std::vector<std::int32_t> sides);

  // Takes these levels alone, all_levels before: a list of l3, numa and socket separated by commas, in any order; empty: hosts alone. invalid_argument names an unknown label.
  Status take_levels(std::string_view labels);

 private:
  void add_level(std::int32_t Place::*number);

  std::vector<Place> places_;
  std::vector<std::vector<std::int32_t>> hosts_;
  std::vector<std::int32_t> host_of_;
  std::vector<std::vector<std::int32_t>> levels_;
  std::vector<std::int32_t> torus_;
  int cores_ = 0;
};

// Finds the place of the calling process by hwloc and its binding; host stays 0, since the gathering code numbers the hosts.
// Numbers agree between the processes of a host, in different containers too: each is the lowest hardware thread of the object.
// *cores: the number of hardware threads of this host that its processes may use, bound or not; the cores of a virtual machine
// are hardware threads. internal when hwloc cannot describe the machine.
Status locate(Place* here, int* cores) noexcept;

}  // namespace stretto::topology
