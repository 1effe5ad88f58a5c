#include "model/walk/system.hpp"

namespace stretto::model {

System system_of(payload::Kind kind, bool raw_inside, double raw_below) noexcept {
  System s;
  s.raw_inside = raw_inside;
  s.raw_below = raw_below;
  switch (kind) {
    case payload::Kind::raw: break;
    case payload::Kind::cprp2p: s.compression = Compression::every_hop; break;
    case payload::Kind::recompress: s.compression = Compression::once; break;
    case payload::Kind::homomorphic:
      s.compression = Compression::once;
      s.combining = Combining::streams;
      break;
    case payload::Kind::fused:
      s.compression = Compression::once;
      s.combining = Combining::fused;
      break;
  }
  return s;
}

std::span<const PublishedSystem> known_systems() noexcept {
  using T = Compression;
  using M = Combining;
  constexpr std::string_view ring = "ring", doubling = "recursive_doubling", two_floors = "hierarchical_ring";
  // name, {compression, combining, up_front, agree, own_beside, sums_after, raw_inside}, overlap, allreduce, reduce_scatter,
  // allgather
  static constexpr PublishedSystem all[] = {
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
      {"argm", {T::once, M::fused, false, true, true, 0, true}, false, two_floors, "", ""},
  };
  return all;
}

const PublishedSystem* find_system(std::string_view name) noexcept {
  for (const PublishedSystem& k : known_systems())
    if (k.name == name) return &k;
  return nullptr;
}

}  // namespace stretto::model
