// Profile of a machine: the figures behind predictions, and their JSON file (docs/command.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "model/profile/provider.hpp"
#include "model/walk/torus.hpp"
#include "schedule/schedule.hpp"
#include "topology/topology.hpp"

namespace stretto::model {

inline constexpr int kProfileVersion = 1;

// Time of a message of n bytes, from <= n < from of the next: alpha + n beta (seconds, seconds a byte).
struct Span {
  double from = 0;
  double alpha = 0;
  double beta = 0;
  double cpu = 0;  // seconds a byte that the transfer keeps a core busy, at the sender and at the receiver alike
};
using Link = std::vector<Span>;  // ascending; the first from 0; empty: not measured

// Codec costs on one core at one compression ratio: seconds per call and per byte of raw values.
struct CodecCost {
  double ratio = 1;
  double call = 0;
  double compress = 0, decompress = 0, add = 0, fused = 0;  // stream + stream; raw + stream
};

// Measured times of a collective against the bytes of the whole vector: the most that one rank holds. That is the
// operand of allreduce, reduce and broadcast, all blocks of allgather, reduce_scatter, gather and scatter, and for
// alltoall the blocks that one rank sends (as many bytes as it receives). 0 for a barrier. Questions and rows of
// stretto-measure count alike.
struct Native {
  schedule::Collective collective{};
  int ranks = 0, hosts = 0;
  std::vector<std::pair<double, double>> points;  // bytes, seconds; ascending bytes
  Provider provider = Provider::mpi;              // or node
};

// Thresholds in bytes at which the collectives of `ranks` ranks of one node change protocol (node::Options): reductions
// above `eager`, and a reduce above `eager_reduce`, are pipelined; the kernel copies private blocks of at least
// `kernel` in allgather, gather, scatter and alltoall. Empty: the default.
struct Switches {
  int ranks = 0;
  std::optional<std::size_t> eager, eager_reduce, kernel;
};

// NCCL's own collectives, per step from one device to the next.
struct NcclHop {
  double step = 0;  // seconds a step
  double byte = 0;  // seconds a byte that a device sends there; 0: not measured

  bool known() const noexcept { return byte > 0; }
};

// Costs of the device that holds the values, if any. Its own kernels' figures (f32, f64, combine, copy) are measured
// beside the host's. If they are missing and `launch` is known, the profile's own figures are the device's.
struct Device {
  std::string name;                   // "NVIDIA H200"
  std::string source;                 // where the figures come from
  double launch = 0;                  // seconds a kernel
  double staging = 0;                 // seconds per byte between host and device
  double look = 0;                    // seconds until the host sees that enqueued work is complete
  double combine = 0;                 // seconds a byte of result of raw + raw
  double copy = 0;                    // seconds a byte copied
  std::vector<CodecCost> f32, f64;    // `call`: the least time of a kernel
  NcclHop nccl_inside, nccl_between;  // inside a host, and between hosts

  bool known() const noexcept { return launch > 0; }
};

// Transport of a communicator's messages. Communicators of threads use an MPI's figures.
enum class Carrier : std::uint8_t { mpi, ucx };
const char* name(Carrier carrier) noexcept;  // "mpi"
std::optional<Carrier> find_carrier(std::string_view name) noexcept;

// Costs that depend on the carrier.
struct Messages {
  int ranks = 1, hosts = 1;                      // of the measurement
  std::array<Link, topology::kDistances> links;  // by Distance
  bool full_duplex = true;                       // a rank sends and receives at the same time
  int nics = 1;          // of a host: that many ranks of it send at full rate at the same time; 0: every rank
  double step = 0;       // seconds of the engine per step, beside the bytes
  double agreement = 0;  // seconds per round of the exchange before a collective

  // True if any link was measured.
  bool known() const noexcept {
    return std::any_of(links.begin(), links.end(), [](const Link& l) { return !l.empty(); });
  }
};

struct UcxMessages : Messages {
  std::string library;  // "UCX 1.13.1"
};

// Its own message figures belong to the MPI that it names, or to any carrier if it names none.
struct Profile : Messages {
  std::string name;                             // "built-in", a shipped one, or the host's name
  std::string source;                           // where the figures come from
  std::string mpi;                              // "Open MPI 5.0.11"
  int cores = 1;                                // of a host
  Torus torus;                                  // how hosts are joined; used if a job has a host at each place
  double gamma = 0;                             // seconds a byte of result of raw + raw
  double copy = 0;                              // seconds a byte copied
  std::vector<CodecCost> f32, f64;              // ascending ratio; linear in 1 / ratio between
  std::vector<CodecCost> dense_f32, dense_f64;  // of dense streams, by their own ratio; empty: not measured
  std::vector<Native> natives;
  std::vector<Switches> switches;
  Device device;
  std::optional<UcxMessages> ucx;
  std::vector<std::string> doubts;  // implausible figures: the profile is then used only if a user names it
  std::string network_of;           // profile that provided the times between hosts (`over`); empty: this one

  // The entry for `of_ranks` ranks; null: not measured.
  const Switches* switches_of(int of_ranks) const noexcept {
    const auto found =
        std::find_if(switches.begin(), switches.end(), [&](const Switches& s) { return s.ranks == of_ranks; });
    return found != switches.end() ? &*found : nullptr;
  }
};

// The profile for communicators over `carrier`: its message figures are those of this carrier, and it has no natives if
// the carrier has no collectives. Figures of another carrier are never used; missing figures come from the built-in
// profile. *messages (optional): name of the profile that provided them. Links inside a host never replace a network:
// an unmeasured network comes from the built-in profile, as `network_of` records.
Profile over(Carrier carrier, Profile profile, std::string* messages = nullptr);

// Where the hosts lie on the profile's torus, if there are as many as it has places; else the topology as it is.
topology::Topology on_network(const Profile& profile, topology::Topology topology);

// JSON text to profile and back. invalid_argument describes the problem and its place; an unsupported version is named
// with ours.
Status parse(const std::string& json, Profile* profile) noexcept;
std::string to_json(const Profile& profile);

// From a file.
Status load(const std::string& path, Profile* profile) noexcept;

// The profile that the library uses: STRETTO_PROFILE (a file, or a shipped name) if set; else the file for this host
// and library (an MPI, or UCX) in the user's configuration directory ($XDG_CONFIG_HOME/stretto or ~/.config/stretto),
// unless it has doubts; else the built-in. Only an unreadable profile that the user named is an error.
Status find(const std::string& host, const std::string& library, Profile* profile) noexcept;

// find() without a running MPI: the most recent file of this host, of any MPI. Skips files that are unreadable, have
// doubts or were not measured over `carrier`. *from: "STRETTO_PROFILE=NAME", a path, or "built-in".
Status find_of_host(const std::string& host, Carrier carrier, Profile* profile, std::string* from) noexcept;

// Output file of `stretto tune`; library names are like "Open MPI 5.0.11" or "UCX 1.13.1".
std::string user_path(const std::string& host, const std::string& library);

// Plausible figures without any measurement; and the shipped profiles by name (see profiles/).
const Profile& built_in();
std::vector<std::string> shipped();
Status shipped(const std::string& name, Profile* profile) noexcept;

}  // namespace stretto::model
