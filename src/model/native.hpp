#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/choose.hpp"
#include "model/profile/machine.hpp"
#include "schedule/registry.hpp"
#include "topology/topology.hpp"

namespace stretto::model {

// A schedule replaces a native collective below this time: a fraction and a minimum gain, since predictions are rough.
// Not positive: never. The margins are smaller where the MPI's schedule is known, or is_measured_well().
double longest_worthwhile(double native, bool known = false) noexcept;

// An exact blocking call between hosts, long enough for bandwidth to decide, measured on these ranks.
bool is_measured_well(const Profile& profile, const Question& q, int ranks, int hosts) noexcept;

inline constexpr double kLongestUnbeaten = 20e-6;  // not known

// In bytes: up to here a native collective serves if possible, unless the MPI is known to take unneeded rounds.
inline constexpr std::uint64_t kLongestShort = 1024;

// The only schedules that this MPI may have between hosts; none: unknown. A measured time of the blocking call counts
// more.
//
// - Open MPI 4 and 5 (coll/libnbc): iallreduce of fewer than 4 ranks or 64 KiB is a binomial tree up and down;
//   ireduce_scatter a binomial reduce, whose scatter is left out.
// - MPICH 4 and 5 (coll/mpir/generic.json): allreduce of more than 8 bytes, and a value a rank, is Rabenseifner's.
// - Open MPI 4.1 and 5 (coll/tuned), one rank a host: tuned_sum().
// - Open MPI 5, several ranks a host: an allreduce goes_by_host() up and down a binomial tree, piece by piece (over
//   TCP, whose rendezvous take turns). A bcast of a piece and more to 3 or 4 hosts goes from its root to each of them,
//   in at least a tree's time. A reduce_scatter (coll/tuned) is recursive halving, farthest first: one of equal blocks
//   at any length, others up to 256 or 512 KiB.
struct KnownOfMpi {
  const schedule::Algorithm *first = nullptr, *second = nullptr;  // one after the other
  // Bytes that one rank of each host moves at a time; the rest is not known. 0: all ranks move the whole vector.
  std::uint64_t piece = 0;
  explicit operator bool() const noexcept { return first != nullptr; }
};
KnownOfMpi known_of_mpi(std::string_view mpi, const Question& question, const topology::Topology& topology);

// The call goes by one rank of each host (Open MPI 5's coll/han, unless kWithoutHan).
bool goes_by_host(std::string_view mpi, const Question& question, const topology::Topology& topology) noexcept;

// Interpolates logarithmically between points of these ranks and hosts; proportional beyond the last, constant below
// the first.
std::optional<double> measured_native(const Profile& profile, Provider provider, schedule::Collective collective,
                                      int ranks, int hosts, double bytes) noexcept;

// For n bytes of the whole vector: a ring, or if better the double binary tree of an allreduce (docs/model.md).
// Unmeasured figures are the links'. Infinite: NCCL has none.
double nccl_seconds(const Profile& profile, const topology::Topology& topology, schedule::Collective collective,
                    double bytes);

// A part of the MPI's time: about the gain of a few ranks on measured machines.
constexpr double unmeasured_node(int ranks) noexcept { return ranks == 1 || ranks > 8 ? 1 : 0.5; }

// Short calls wait for shared cores for varying times: a measured time counts only below the unmeasured one.
constexpr bool scattered(int ranks, int cores, double bytes) noexcept { return ranks > cores && bytes <= 1024; }

// Time of streams in shared memory (src/node/collectives/bounded.hpp): `raw` seconds, and codec work on each rank's n
// bytes. Infinite: none.
double streamed_node(const Machine& machine, schedule::Collective collective, int ranks, int cores, double bytes,
                     double raw) noexcept;

}  // namespace stretto::model
