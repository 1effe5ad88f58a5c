// Placements of two ranks on a host: one pair of hardware threads for each kind of neighbourhood.
#pragma once

#include <hwloc.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "topology/topology.hpp"

namespace stretto::measure {

// Hardware threads by their number in the operating system. A pair with cpu[0] == -1 keeps the launcher's binding.
struct Placement {
  std::string name;  // "core": two threads of a core; else the name of the distance; "unbound"; "network"
  topology::Distance distance{};
  int cpu[2] = {-1, -1};
};

class Machine {
 public:
  Machine();  // throws std::runtime_error if hwloc cannot describe the machine

  int cores() const;              // allowed hardware threads
  std::size_t cache() const;      // bytes of the largest cache; 32 MiB if unknown
  std::vector<int> cpus() const;  // allowed hardware threads, cores before second threads of a core

  // Closest first; empty if only one hardware thread is allowed.
  std::vector<Placement> placements() const;

 private:
  friend class Bound;
  struct Destroy {
    void operator()(hwloc_topology_t t) const noexcept { hwloc_topology_destroy(t); }
  };
  std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy> hwloc_;
};

// Binds the calling thread to a hardware thread for this object's life. No effect for cpu -1, or a forbidden thread.
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
