// Where two ranks of a host may be put: one pair of hardware threads for each kind of neighbourhood that the host has.
#pragma once

#include <hwloc.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "topology/topology.hpp"

namespace stretto::measure {

// Hardware threads by their number in the operating system. A pair with cpu[0] == -1 is left where the launcher put it.
struct Placement {
  std::string name;  // "core": two threads of a core; else the name of the distance; "unbound"; "network"
  topology::Distance distance{};
  int cpu[2] = {-1, -1};
};

class Machine {
 public:
  Machine();  // throws std::runtime_error where hwloc cannot describe the machine

  int cores() const;              // hardware threads that may be used
  std::size_t cache() const;      // bytes of the largest cache; 32 MiB where that is not known
  std::vector<int> cpus() const;  // those hardware threads, cores before second threads of a core

  // The closest first; empty where only one hardware thread may be used.
  std::vector<Placement> placements() const;

 private:
  friend class Bound;
  struct Destroy {
    void operator()(hwloc_topology_t t) const noexcept { hwloc_topology_destroy(t); }
  };
  std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy> hwloc_;
};

// The calling thread runs on one hardware thread as long as this lives; cpu -1, or one that it may not use: as before.
class Bound {
 public:
  Bound(const Machine& machine, int cpu);
  ~Bound();
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

 private:
  struct Free {
    void operator()(hwloc_bitmap_t b) const noexcept { hwloc_bitmap_free(b); }
  };
  hwloc_topology_t hwloc_;
  std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, Free> before_;
};

}  // namespace stretto::measure
