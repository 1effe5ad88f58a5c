#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stretto::schedule {

// Families have schedules; the others are forms of a family. The numbers are those of stretto_collective, less one.
// `agreement`, internal and last, compares a word of each rank in a node's memory.
enum class Collective : std::uint8_t {
  allreduce,
  reduce,
  reduce_scatter,
  allgather,
  bcast,
  gather,
  scatter,
  alltoall,
  barrier,
  allreduce_multi,
  reduce_scatter_block,
  allgatherv,
  gatherv,
  scatterv,
  alltoallv,
  scan,
  exscan,
  agreement
};
inline constexpr int kCollectives = 18;

// Ranks that know the numbers of elements.
enum class Counts : std::uint8_t {
  one,      // one number
  by_rank,  // every number
  at_root,
  by_pair  // each rank has its own pairs'
};

struct Properties {
  const char* name;
  Collective family;
  bool reduces;
  bool rooted;  // one rank has all data, at the start or at the end
  bool blocks;  // a count is a rank's block, else the whole vector
  Counts counts;
};

inline constexpr auto kAllProperties = [] {
  using enum Collective;
  using enum Counts;
  return std::array<Properties, kCollectives>{{
      {"allreduce", allreduce, true, false, false, one},
      {"reduce", reduce, true, true, false, one},
      {"reduce_scatter", reduce_scatter, true, false, true, by_rank},
      {"allgather", allgather, false, false, true, one},
      {"bcast", bcast, false, true, false, one},
      {"gather", gather, false, true, true, one},
      {"scatter", scatter, false, true, true, one},
      {"alltoall", alltoall, false, false, true, one},
      {"barrier", barrier, false, false, false, one},
      {"allreduce_multi", allreduce, true, false, false, one},
      {"reduce_scatter_block", reduce_scatter, true, false, true, one},
      {"allgatherv", allgather, false, false, true, by_rank},
      {"gatherv", gather, false, true, true, at_root},
      {"scatterv", scatter, false, true, true, at_root},
      {"alltoallv", alltoall, false, false, true, by_pair},
      {"scan", scan, true, false, false, one},
      {"exscan", exscan, true, false, false, one},
      {"agreement", barrier, false, false, false, one},
  }};
}();

// Bytes of the longest values that travel with an agreement.
inline constexpr std::size_t kLongestShortCall = 4096;

// Bytes of all blocks of the longest allgather and alltoall that one rank of each host stands for; of an alltoall
// within a bound.
inline constexpr std::size_t kLongestShortVector = 32 * 1024;
inline constexpr std::size_t kLongestCodedVector = 64 * 1024;

// Bytes of the longest vector that one rank of each host stands for, whole in each message between hosts.
constexpr std::size_t longest_short_vector(Collective c) noexcept {
  return c == Collective::allreduce ? 32 * 1024 : c == Collective::reduce ? 8 * 1024 : 4096;
}

constexpr const Properties& properties(Collective c) noexcept { return kAllProperties[static_cast<std::size_t>(c)]; }
constexpr const char* name(Collective c) noexcept { return properties(c).name; }
constexpr Collective family(Collective c) noexcept { return properties(c).family; }
constexpr bool reduces(Collective c) noexcept { return properties(c).reduces; }
constexpr bool rooted(Collective c) noexcept { return properties(c).rooted; }
constexpr bool is_family(Collective c) noexcept { return family(c) == c; }

// Every rank has a result of its own.
constexpr bool is_prefix(Collective c) noexcept { return c == Collective::scan || c == Collective::exscan; }

}  // namespace stretto::schedule
