// Places of a communicator's ranks, equal on every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace stretto::topology {

// The closest thing that two ranks share.
enum class Distance : std::uint8_t {
  cache,  // last-level cache
  socket,
  node,  // across sockets
  network,
};
constexpr std::size_t kDistances = 4;

const char* name(Distance d) noexcept;

// Unique in the job (host), or in the host. -1: unknown, not bound within one; ranks of a host then count as sharing
// it.
struct Place {
  std::int32_t host = 0;
  std::int32_t socket = -1;
  std::int32_t cache = -1;
  std::int32_t core = -1;
  std::int32_t numa = -1;
  friend bool operator==(const Place&, const Place&) = default;
};

Distance distance(const Place& a, const Place& b) noexcept;

inline constexpr std::string_view kAllLevels = "l3,numa,socket";

class Topology {
 public:
  Topology() = default;
  explicit Topology(std::vector<Place> places, int cores_per_host = 0);  // 0: unknown

  // The last host may have fewer.
  static Topology regular(int ranks, int per_host);

  int ranks() const noexcept { return static_cast<int>(places_.size()); }
  int hosts() const noexcept { return static_cast<int>(hosts_.size()); }
  int cores_per_host() const noexcept { return cores_; }
  // Below 1 where hosts of one machine share cores.
  double core_part() const noexcept { return core_part_; }
  void share_cores(double part) noexcept { core_part_ = part; }
  const Place& place(int rank) const noexcept { return places_[static_cast<std::size_t>(rank)]; }
  Distance distance(int a, int b) const noexcept;

  // Ascending; hosts in the order of their lowest rank.
  std::span<const std::int32_t> ranks_of(int host) const noexcept;
  int host_of(int rank) const noexcept;
  bool uniform() const noexcept;

  // Ranks' numbers by level, from the outermost inwards: hosts, then levels that separate ranks of some host. If a
  // rank's socket (cache) is unknown, all ranks of its host share it.
  const std::vector<std::vector<std::int32_t>>& levels() const noexcept { return levels_; }
  bool nested() const noexcept { return levels_.size() > 1; }

  // Sides of the hosts' torus, row by row, the last dimension changing fastest; empty: unknown. lay_on_torus:
  // invalid_argument unless sides are at least 1, with a place per host.
  const std::vector<std::int32_t>& torus() const noexcept { return torus_; }
  Status lay_on_torus(std::vector<std::int32_t> sides);

  // A comma-separated list of l3, numa and socket; empty: hosts alone. invalid_argument names an unknown level.
  Status take_levels(std::string_view labels);

 private:
  void add_level(std::int32_t Place::*number);

  std::vector<Place> places_;
  std::vector<std::vector<std::int32_t>> hosts_;
  std::vector<std::int32_t> host_of_;
  std::vector<std::vector<std::int32_t>> levels_;
  std::vector<std::int32_t> torus_;
  int cores_ = 0;
  double core_part_ = 1;
};

// By hwloc and the process's binding, with host 0. An object's number is its lowest hardware thread, equal in all
// containers of a host. *cores: hardware threads that processes of this host may use. internal: hwloc cannot describe
// the machine.
Status locate(Place* here, int* cores) noexcept;

}  // namespace stretto::topology
