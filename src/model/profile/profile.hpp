// What is known of a machine: the figures that predictions are made from, and their JSON file (docs/command.md).
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

// Of the codec on one core, at one compression ratio: seconds a call and seconds a byte of raw values.
struct CodecCost {
  double ratio = 1;
  double call = 0;
  double compress = 0, decompress = 0, add = 0, fused = 0;  // stream + stream; raw + stream
};

// A collective as it was measured: seconds against bytes of the whole vector. That is what one rank holds at its
// longest: the operand of allreduce, reduce and broadcast, all blocks of allgather, reduce_scatter, gather and scatter,
// and of alltoall the blocks that one rank sends (as many bytes as it receives). 0 for a barrier. Questions and rows of
// stretto-measure count alike.
struct Native {
  schedule::Collective collective{};
  int ranks = 0, hosts = 0;
  std::vector<std::pair<double, double>> points;  // bytes, seconds; ascending bytes
  Provider provider = Provider::mpi;              // or node
};

// From how many bytes on the collectives of so many ranks of one node change to another protocol (node::Options): reductions above
// `eager` bytes, and a reduce above `eager_reduce`, are pipelined; private blocks of `kernel` bytes and more are copied by the kernel in
// allgather, gather, scatter and alltoall. Nothing: by the rule.
struct Switches {
  int ranks = 0;
  std::optional<std::size_t> eager, eager_reduce, kernel;
};

// Of NCCL's own collectives, from one device to the next.
struct NcclHop {
  double step = 0;  // seconds a step
  double byte = 0;  // seconds a byte that a device sends there; 0: not measured

  bool known() const noexcept { return byte > 0; }
};

// Of a device that holds the values, where there is one. Figures of its own kernels (f32, f64, combine, copy) are measured beside those of the
// host; where there are none and `launch` is known, the profile's own figures are the device's.
struct Device {
  std::string name;                   // "NVIDIA H200"
  std::string source;                 // where the figures come from
  double launch = 0;                  // seconds a kernel
  double staging = 0;                 // seconds a byte between host and device
  double look = 0;                    // seconds until the host knows that enqueued work is over
  double combine = 0;                 // seconds a byte of result of raw + raw
  double copy = 0;                    // seconds a byte copied
  std::vector<CodecCost> f32, f64;    // `call`: the least time of a kernel
  NcclHop nccl_inside, nccl_between;  // a host, and hosts

  bool known() const noexcept { return launch > 0; }
};

// What moves the messages of a communicator. One of threads takes the figures of an MPI.
enum class Carrier : std::uint8_t { mpi, ucx };
const char* name(Carrier carrier) noexcept;  // "mpi"
std::optional<Carrier> find_carrier(std::string_view name) noexcept;

// What depends on the carrier.
struct Messages {
  int ranks = 1, hosts = 1;                      // that it was measured with
  std::array<Link, topology::kDistances> links;  // by Distance
  bool full_duplex = true;                       // a rank sends and receives at the same time
  int nics = 1;          // of a host: that many ranks of it send at full rate at the same time; 0: every rank
  double step = 0;       // seconds that our engine takes for a step, beside its bytes
  double agreement = 0;  // seconds a round of the exchange before a collective

  // Whether any link was measured.
  bool known() const noexcept {
    return std::any_of(links.begin(), links.end(), [](const Link& l) { return !l.empty(); });
  }
};

struct UcxMessages : Messages {
  std::string library;  // "UCX 1.13.1"
};

// Its own figures of messages are those of the MPI that it names, or of any carrier where it names none.
struct Profile : Messages {
  std::string name;                 // "built-in", a shipped one, or the host's name
  std::string source;               // where the figures come from
  std::string mpi;                  // "Open MPI 5.0.11"
  int cores = 1;                    // of a host
  Torus torus;                      // that hosts are joined by; used where a job has a host on each of its places
  double gamma = 0;                 // seconds a byte of result of raw + raw
  double copy = 0;                  // seconds a byte copied
  std::vector<CodecCost> f32, f64;  // ascending ratio; linear in 1 / ratio between
  std::vector<Native> natives;
  std::vector<Switches> switches;
  Device device;
  std::optional<UcxMessages> ucx;
  std::vector<std::string> doubts;  // what is implausible of its figures: it is then used only where somebody names it
  std::string network_of;           // the profile whose times between hosts it took (`over`); empty: its own

  // Those of as many ranks; null: none were measured.
  const Switches* switches_of(int of_ranks) const noexcept {
    const auto found =
        std::find_if(switches.begin(), switches.end(), [&](const Switches& s) { return s.ranks == of_ranks; });
    return found != switches.end() ? &*found : nullptr;
  }
};

// The profile as communicators over `carrier` use it: its own figures of messages are those of this carrier, and natives are left
// out where the carrier has no collectives. Figures that another carrier's messages had are never taken; where there are no
// others, the built-in profile's are. *messages, where it is wanted: the name of the profile whose figures they are. Links inside
// a host never stand in for a network: where none was measured, the built-in profile's is taken, and `network_of` says so.
Profile over(Carrier carrier, Profile profile, std::string* messages = nullptr);

// Where the hosts lie on the profile's torus, if there are as many as it has places; else the topology as it is.
topology::Topology on_network(const Profile& profile, topology::Topology topology);

// Text to profile and back. invalid_argument names what is wrong and where; a version that is not ours is named with ours.
Status parse(const std::string& json, Profile* profile) noexcept;
std::string to_json(const Profile& profile);

// From a file.
Status load(const std::string& path, Profile* profile) noexcept;

// What the library uses: STRETTO_PROFILE (a file, or a shipped name) where it is set; else the file of this host and library (an MPI, or UCX) in
// the user's configuration directory ($XDG_CONFIG_HOME/stretto or ~/.config/stretto), if it is not doubted; else the built-in. Only
// a profile that the user named and that cannot be read is an error.
Status find(const std::string& host, const std::string& library, Profile* profile) noexcept;

// The same where no MPI runs that would name itself: of the files of this host the one that was written last, whatever its MPI,
// passing over those that cannot be read, are doubted or were not measured over `carrier`. *from says which it was: "STRETTO_PROFILE=NAME",
// a path, or "built-in".
Status find_of_host(const std::string& host, Carrier carrier, Profile* profile, std::string* from) noexcept;

// Where `stretto tune` writes; the library names itself as "Open MPI 5.0.11" or "UCX 1.13.1".
std::string user_path(const std::string& host, const std::string& library);

// Sane figures without any measurement; and those shipped, by name (see profiles/).
const Profile& built_in();
std::vector<std::string> shipped();
Status shipped(const std::string& name, Profile* profile) noexcept;

}  // namespace stretto::model
