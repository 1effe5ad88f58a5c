// The systems of the literature, as configurations of the model's walk.
#pragma once

#include <span>
#include <string_view>

#include "model/walk/system.hpp"

namespace stretto::app {

// A published system, its schedules (empty: none), and whether codec and transfers overlap.
struct PublishedSystem {
  std::string_view name;
  model::System system;
  bool overlap;
  std::string_view allreduce, reduce_scatter, allgather;
};
inline std::span<const PublishedSystem> known_systems() noexcept {
  using T = model::Compression;
  using M = model::Combining;
  constexpr std::string_view ring = "ring", doubling = "recursive_doubling", two_floors = "hierarchical_ring";
  // name, {compression, combining, up_front, agree, own_beside, sums_after, raw_inside, raw_below, halves}, overlap,
  // allreduce, reduce_scatter, allgather
  static constexpr PublishedSystem kAll[] = {
      {"mpi-ring", {T::raw, M::raw, false, true, false, 0, false}, true, ring, ring, ring},
      {"mpi-recursive-doubling", {T::raw, M::raw, false, true, false, 0, false}, true, doubling, "", doubling},
      {"cprp2p", {T::every_hop, M::raw, false, false, false, 0, false}, false, ring, ring, ring},
      {"c-coll", {T::once, M::raw, false, false, true, 0, false}, true, ring, ring, ring},
      {"gzccl", {T::once, M::raw, false, false, false, 0, false}, true, doubling, ring, ring},
      {"hzccl", {T::once, M::streams, true, true, true, 0, false}, false, ring, ring, ring},
      {"ghzccl", {T::once, M::streams, false, true, false, 1, false}, false, doubling, "", ""},
      {"homcomp", {T::once, M::quantised, true, true, true, 0, false}, false, ring, ring, ring},
      {"homcomp-ahead", {T::once, M::quantised, false, true, true, 0, false}, false, ring, ring, ring},
      {"homcomp-f", {T::once, M::fused, false, true, true, 0, false}, false, ring, ring, ring},
      {"bfloat16", {T::once, M::raw, false, true, false, 0, false, 0, true}, true, ring, ring, ring},
      {"argm", {T::once, M::fused, false, true, true, 0, true}, false, two_floors, "", ""},
  };
  return kAll;
}

inline const PublishedSystem* find_system(std::string_view name) noexcept {
  for (const PublishedSystem& k : known_systems())
    if (k.name == name) return &k;
  return nullptr;
}

}  // namespace stretto::app
