// Format: docs/command.md.
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

// n bytes, up to the next `from`, take alpha + n beta seconds.
struct Span {
  double from = 0;
  double alpha = 0;
  double beta = 0;
  double cpu = 0;          // seconds a byte of a core at either end
  double cpu_message = 0;  // seconds a message of a core at either end
};
using Link = std::vector<Span>;  // ascending from 0; empty: not measured

// Seconds on one core, per call and per byte of raw values.
struct CodecCost {
  double ratio = 1;
  double call = 0;
  double compress = 0, decompress = 0, add = 0, fused = 0;  // stream + stream; raw + stream
};

// Seconds a byte on a fixed sample in cache (measure_codec()), to scale another processor's costs. 0: not measured.
struct CodecProbe {
  double compress = 0, decompress = 0, add = 0, fused = 0;

  bool known() const noexcept { return compress > 0 && decompress > 0 && add > 0 && fused > 0; }
};

// Bytes are of the whole vector (docs/command.md, "natives, node").
struct Native {
  schedule::Collective collective{};
  int ranks = 0, hosts = 0;
  std::vector<std::pair<double, double>> points;  // ascending bytes, seconds
  Provider provider = Provider::mpi;              // or node
};

// Bytes at which a node's collectives change protocol (node::Options). Empty: the default.
struct Switches {
  int ranks = 0;
  std::optional<std::size_t> eager, eager_reduce, kernel;
};

struct NcclHop {
  double step = 0;
  double byte = 0;  // seconds a byte sent; 0: not measured

  bool known() const noexcept { return byte > 0; }
};

// Costs in seconds; staging, combine and copy in seconds a byte. With `launch` but without f32, f64, combine and copy,
// the profile's own figures are the device's.
struct Device {
  std::string name;
  std::string source;
  double launch = 0;   // seconds a kernel
  double staging = 0;  // from or to the host
  double look = 0;     // until the host sees that work is complete
  double combine = 0;  // raw + raw
  double copy = 0;
  std::vector<CodecCost> f32, f64;  // `call`: least time of a kernel
  NcclHop nccl_inside, nccl_between;

  bool known() const noexcept { return launch > 0; }
};

// Communicators of threads use an MPI's.
enum class Carrier : std::uint8_t { mpi, ucx };
const char* name(Carrier carrier) noexcept;
std::optional<Carrier> find_carrier(std::string_view name) noexcept;

inline constexpr std::uint64_t kShortCall = 16 << 10;  // bytes of a vector

struct Messages {
  int ranks = 1, hosts = 1;
  std::array<Link, topology::kDistances> links;
  Link short_calls;  // between hosts, in a shaped port's burst; empty: as links
  bool full_duplex = true;
  int nics = 1;          // ranks of a host that send at full rate together; 0: all
  double step = 0;       // seconds of the engine per step
  double agreement = 0;  // seconds per round of the exchange before a collective

  bool known() const noexcept {
    return std::any_of(links.begin(), links.end(), [](const Link& l) { return !l.empty(); });
  }
};

struct UcxMessages : Messages {
  std::string library;
};

// Behind the name of an Open MPI whose collectives of several hosts do not go by its component han.
inline constexpr std::string_view kWithoutHan = " without HAN";

// Message figures belong to the named MPI, or to any carrier.
struct Profile : Messages {
  std::string name;  // "built-in", a shipped one, or the host's
  std::string source;
  std::string mpi;  // "Open MPI 5.0.11", perhaps with kWithoutHan behind it
  int cores = 1;
  Torus torus;                                  // for jobs with a host at each place
  double gamma = 0;                             // seconds a byte of raw + raw
  double copy = 0;                              // seconds a byte
  std::vector<CodecCost> f32, f64;              // ascending ratio; linear in 1 / ratio
  std::vector<CodecCost> dense_f32, dense_f64;  // by their own ratio; empty: not measured
  CodecProbe probe, dense_probe;                // on the core that the codec's costs were measured on
  std::vector<Native> natives;
  std::vector<Switches> switches;
  Device device;
  std::optional<UcxMessages> ucx;
  std::vector<std::string> doubts;
  std::string network_of;  // source of the network's times (`over`); empty: this profile
  // Transport::eager_limit. Longer messages that two ranks exchange take turns. A communicator's, in no file.
  std::size_t eager_limit = 0;
  int codec_threads = 1;  // of a rank, each with a core. A communicator's, in no file

  const Switches* switches_of(int of_ranks) const noexcept {
    const auto found =
        std::find_if(switches.begin(), switches.end(), [&](const Switches& s) { return s.ranks == of_ranks; });
    return found != switches.end() ? &*found : nullptr;
  }
};

// With `carrier`'s message figures, and no natives if it has no collectives. Missing figures come from the built-in
// profile, never from another carrier. *messages (optional): their source.
Profile over(Carrier carrier, Profile profile, std::string* messages = nullptr);

// Scales the costs to a core with these probes, where both are known.
void scale_codec(const CodecProbe& fixed, const CodecProbe& dense, Profile* profile);

// Unchanged unless the numbers of hosts agree.
topology::Topology on_network(const Profile& profile, topology::Topology topology);

// invalid_argument names the problem and its place.
Status parse(const std::string& json, Profile* profile) noexcept;
std::string to_json(const Profile& profile);

Status load(const std::string& path, Profile* profile) noexcept;

// STRETTO_PROFILE, the file of this host and library, or the built-in (docs/command.md, "Which one is used"). Fails
// only if a named profile is unreadable.
Status find(const std::string& host, const std::string& library, Profile* profile) noexcept;

// Without a running MPI: the host's latest file of any MPI, if readable, beyond doubt and measured over `carrier`.
// *from: "STRETTO_PROFILE=NAME", a path, or "built-in".
Status find_of_host(const std::string& host, Carrier carrier, Profile* profile, std::string* from) noexcept;

// `library`: "Open MPI 5.0.11", "UCX 1.13.1".
std::string user_path(const std::string& host, const std::string& library);

const Profile& built_in();
std::vector<std::string> shipped();
Status shipped(const std::string& name, Profile* profile) noexcept;

}  // namespace stretto::model
