#include "api/creation/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "api/creation/choosers.hpp"
#include "api/creation/network.hpp"
#include "api/creation/share.hpp"
#include "base/file.hpp"
#include "model/profile/codec_probe.hpp"
#include "model/profile/profile_text.hpp"
#include "node/memory/handle.hpp"
#include "stretto/stretto_stream.h"
#include "topology/free_cores.hpp"
#include "topology/topology.hpp"

namespace stretto::api {
namespace {

// One rank's entry: what tells its host from others, and where on it it is.
struct Here {
  std::array<char, 64> host{};
  std::int32_t socket = -1, cache = -1, core = -1, numa = -1, cores = 0;
  std::array<char, 64> levels{};  // of a hierarchy inside hosts
  std::array<char, 40> boot{};    // equal on the hosts of one machine
  std::int32_t machine_cores = 0;
  std::int32_t codec_threads = 1;  // that this process asks for, and has CPUs for
  NetworkSpeed network;            // as this process probed it before
  model::CodecProbe codec, dense;  // as this process measured its core before
  bool messages = false;           // whether it has any to probe it with
  bool probed = false;             // whether it measured its core
  Introduction introduction;
};

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::array<char, 40> boot_of_machine() {
  std::array<char, 40> boot{};
  std::string text;
  if (read_file("/proc/sys/kernel/random/boot_id", &text) == Status::ok)
    std::copy_n(text.begin(), std::min(text.size(), boot.size() - 1), boot.begin());
  return boot;
}

// Discovery of the machine takes milliseconds, and a process does not move between hosts, so it runs once. If it fails, only the
// host is known.
Here look() {
  static const Here once = [] {
    Here h;
    const char* given = secure_getenv("STRETTO_HOST");
    const std::string name = given != nullptr && *given != 0 ? given : host_name();
    std::copy_n(name.begin(), std::min(name.size(), h.host.size()), h.host.begin());
    h.boot = boot_of_machine();
    h.machine_cores = static_cast<std::int32_t>(sysconf(_SC_NPROCESSORS_ONLN));
    topology::Place place;
    int cores = 0;
    if (topology::locate(&place, &cores) == Status::ok) {
      h.socket = place.socket;
      h.cache = place.cache;
      h.core = place.core;
      h.numa = place.numa;
      h.cores = cores;
    }
    return h;
  }();
  return once;
}

// The part of its cores that a host has for itself: containers and namespaces of one machine may count the same cores.
double core_part(const std::vector<Here>& all) {
  struct Machine {
    std::map<std::string_view, int> hosts;  // with their cores
    int cores = 0;
  };
  std::map<std::string_view, Machine> machines;
  for (const Here& h : all) {
    if (h.boot.front() == 0 || h.cores <= 0) continue;
    Machine& m = machines[{h.boot.data(), h.boot.size()}];
    m.hosts[{h.host.data(), h.host.size()}] = h.cores;
    m.cores = std::max({m.cores, h.machine_cores, h.cores});
  }
  double part = 1;
  for (const auto& [boot, m] : machines) {
    int counted = 0;
    for (const auto& [host, cores] : m.hosts) counted += cores;
    part = std::min(part, static_cast<double>(m.cores) / counted);
  }
  return part;
}

// Threads that every rank has for the codec: as many as all ask for, and no more than its share of its host's cores.
int codec_threads_of(const std::vector<Here>& all, const topology::Topology& topology) {
  std::int32_t threads = all.front().codec_threads;
  for (const Here& h : all) threads = std::min(threads, h.codec_threads);
  std::size_t ranks = 1;
  for (int host = 0; host < topology.hosts(); ++host) ranks = std::max(ranks, topology.ranks_of(host).size());
  const double cores = topology.cores_per_host() * topology.core_part() / static_cast<double>(ranks);
  return std::max(1, std::min(threads, static_cast<int>(cores)));
}

// All ranks go by rank 0's levels.
Status topology_of(const std::vector<Here>& all, topology::Topology* topology) {
  std::map<std::string_view, std::int32_t> hosts;
  std::vector<topology::Place> places;
  int cores = 0;
  for (const Here& h : all) {
    const std::string_view name(h.host.data(), h.host.size());
    const auto host = hosts.emplace(name, static_cast<std::int32_t>(hosts.size())).first->second;
    places.push_back({host, h.socket, h.cache, h.core, h.numa});
    if (h.cores > 0) cores = cores > 0 ? std::min(cores, h.cores) : h.cores;
  }
  *topology = topology::Topology(std::move(places), cores);
  const Status s = topology->take_levels(all.front().levels.data());
  return s == Status::ok ? s : fail(s, "STRETTO_LEVELS: {}", message());
}

// Facts that rank 0 finds for all, beside the profile.
struct RankZeroFacts {
  std::size_t eager_limit = 0;
  bool named = false;   // the user named the profile
  bool yields = false;  // looks for messages give the core away
};

// The text and the rest of rank 0 on all ranks; where it has a failure to tell, its message is the text.
Status share(backend::Transport& transport, Status found, const std::string& given, std::string* text,
             RankZeroFacts* rest) noexcept {
  std::array<std::uint64_t, 4> words{static_cast<std::uint64_t>(found), rest->eager_limit, rest->named ? 1U : 0U,
                                     rest->yields ? 1U : 0U};
  const Status passed = transport.broadcast(words.data(), sizeof words);
  const Status shared = share_text(transport, found == Status::ok ? std::string_view(given) : message(), text);
  if (passed != Status::ok) return passed;
  *rest = {static_cast<std::size_t>(words[1]), words[2] != 0, words[3] != 0};
  const auto s = static_cast<Status>(words[0]);
  return shared != Status::ok || s == Status::ok ? shared : fail(s, "{}", *text);
}

Status profile_here(const backend::Transport& transport, std::string* text) noexcept {
  try {
    return model::find_text(host_name(), transport.name(), text);
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory for the machine's profile"));
  }
}

// True if no profile has network times for these messages. A user who names the built-in profile gets its own times.
bool lacks_network(const model::Profile& profile, const std::string& messages, const RankZeroFacts& first) {
  const std::string& built_in = model::built_in().name;
  return profile.network_of == built_in || (messages == built_in && !first.named);
}

// Puts the network's times into the profile, from an earlier probe of all ranks' processes or from one now. Collective.
Status take_network(backend::Transport& transport, const topology::Topology& topology, model::Carrier over,
                    carrier::Carrier* messages, const std::vector<Here>& all, model::Profile* profile) {
  NetworkSpeed speed = all.front().network;
  bool can = true;
  for (const Here& h : all) {
    speed = slower(speed, h.network);
    can = can && h.messages;
  }
  if (!speed.known() && !can) return Status::ok;  // the communicator is not made
  if (!speed.known())
    if (const Status s = probe_network(transport, topology, over, *messages, &speed); s != Status::ok) return s;
  profile->links[static_cast<std::size_t>(topology::Distance::network)] = {
      {0, speed.latency, speed.byte, speed.core_byte, speed.core_message}};
  return Status::ok;
}

struct Probes {
  model::CodecProbe fixed, dense;
};

// Measured once in a process, in a millisecond.
Probes probes_here() noexcept {
  static const Probes once{model::measure_codec(codec::Coding::fixed), model::measure_codec(codec::Coding::dense)};
  return once;
}
std::atomic<bool> probed{false};

model::CodecProbe slowest(const model::CodecProbe& a, const model::CodecProbe& b) noexcept {
  if (!a.known() || !b.known()) return {};
  return {std::max(a.compress, b.compress), std::max(a.decompress, b.decompress), std::max(a.add, b.add),
          std::max(a.fused, b.fused)};
}

// Scales the built-in profile's costs of the codec, which are another processor's, to the slowest rank's. Collective.
Status take_codec(backend::Transport& transport, const std::vector<Here>& all, model::Profile* profile) {
  std::vector<Probes> probes;
  Status room = Status::ok;
  try {
    for (const Here& h : all) probes.push_back({h.codec, h.dense});
  } catch (...) {
    room = fail(Status::out_of_memory, std::string_view("no memory for the speed of the codec"));
  }
  if (room = node::agree(transport, room); room != Status::ok) return room;
  if (!std::all_of(all.begin(), all.end(), [](const Here& h) { return h.probed; })) {
    const Probes own = probes_here();
    probed.store(true, std::memory_order_release);
    if (const Status s = transport.allgather(&own, sizeof own, probes.data()); s != Status::ok) return s;
  }
  Probes most = probes.front();
  for (const Probes& p : probes) most = {slowest(most.fixed, p.fixed), slowest(most.dense, p.dense)};
  model::scale_codec(most.fixed, most.dense, profile);
  return Status::ok;
}

// STRETTO_CODEC_THREADS, at most the CPUs that this process may use; 1 where it is not set.
Status asked_codec_threads(std::int32_t* threads) noexcept {
  constexpr const char* variable = "STRETTO_CODEC_THREADS";
  *threads = 1;
  const char* const text = secure_getenv(variable);
  if (text == nullptr || *text == '\0') return Status::ok;
  const char* const end = text + std::strlen(text);
  int asked = 0;
  const auto [at, error] = std::from_chars(text, end, asked);
  if (error != std::errc() || at != end || asked < 1 || asked > STRETTO_THREADS_MAX)
    return fail(Status::invalid_argument, "{}={}: a number of threads, from 1 to {}", variable, text,
                STRETTO_THREADS_MAX);
  const topology::Cpus bound = topology::bound_to();
  *threads = std::clamp(CPU_COUNT_S(sizeof bound.set, bound.set), 1, asked);
  return Status::ok;
}

// Everything that a model depends on, as text.
std::string key_of(const std::string& text, model::Carrier carrier, const std::vector<Here>& all,
                   const model::Profile& profile, const topology::Topology& topology) {
  std::string key = fmt::format("{}\n{} {} {}\n{}\n", text, static_cast<int>(carrier), profile.mpi, profile.eager_limit,
                                all.front().levels.data());
  for (const model::Span& s : profile.links[static_cast<std::size_t>(topology::Distance::network)])
    key += fmt::format("{} {} {} {} {}\n", s.from, s.alpha, s.beta, s.cpu, s.cpu_message);
  key += fmt::format("{}\n", topology.core_part());
  key += fmt::format("{}\n", profile.codec_threads);
  for (const auto* costs : {&profile.f32, &profile.dense_f32})
    for (const model::CodecCost& c : *costs)
      key += fmt::format("{} {} {} {}\n", c.compress, c.decompress, c.add, c.fused);
  for (const Here& h : all)
    key += fmt::format("{} {} {} {} {} {}\n", std::string_view(h.host.data(), h.host.size()), h.socket, h.cache, h.core,
                       h.numa, h.cores);
  return key;
}

Status describe(int ranks, Here* own, std::vector<Here>* all, std::vector<Introduction>* introductions) noexcept {
  try {
    *own = look();
    if (const Status s = asked_codec_threads(&own->codec_threads); s != Status::ok) return s;
    own->introduction = introduce();
    const char* given = secure_getenv("STRETTO_LEVELS");
    const std::string_view levels = given != nullptr ? given : topology::all_levels;
    std::copy_n(levels.begin(), std::min(levels.size(), own->levels.size() - 1), own->levels.begin());
    all->resize(static_cast<std::size_t>(ranks));
    introductions->resize(all->size());
    return Status::ok;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory to describe the machine"));
  }
}

// Rank 0 reads the text as all others do: all ranks then hold the same to the last bit.
Status read_profile(const std::string& text, const std::vector<Here>& all, model::Carrier carrier,
                    model::Profile* profile, topology::Topology* topology, std::string* of_messages) noexcept {
  try {
    if (const Status s = model::parse_cached(text, profile); s != Status::ok) return s;
    *profile = model::over(carrier, std::move(*profile), of_messages);
    return topology_of(all, topology);
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory for the machine's profile"));
  }
}

}  // namespace

Status find_machine(backend::Transport& transport, model::Carrier carrier, carrier::Carrier* messages,
                    std::shared_ptr<select::SharedChooser>* chooser,
                    std::vector<Introduction>* introductions) noexcept {
  try {
    Here own;
    std::vector<Here> all;
    Status s = node::agree(transport, describe(transport.size(), &own, &all, introductions));
    if (s != Status::ok) return s;
    own.network = known_speed(carrier);
    own.messages = messages != nullptr;
    own.probed = probed.load(std::memory_order_acquire);
    if (own.probed) own.codec = probes_here().fixed, own.dense = probes_here().dense;
    if (s = transport.allgather(&own, sizeof own, all.data()); s != Status::ok) return s;
    std::transform(all.begin(), all.end(), introductions->begin(), [](const Here& h) { return h.introduction; });
    const auto elsewhere = [&](const Here& h) { return h.host != all.front().host; };
    const bool between = std::any_of(all.begin(), all.end(), elsewhere);
    std::string given, text;
    RankZeroFacts first;
    if (transport.rank() == 0) {
      s = profile_here(transport, &given);
      first.named = secure_getenv("STRETTO_PROFILE") != nullptr;
      if (between) first.eager_limit = transport.eager_limit(), first.yields = transport.yields();
    }
    s = share(transport, s, given, &text, &first);
    if (between) transport.set_yields(first.yields);
    model::Profile profile;
    topology::Topology topology;
    std::string of_messages;
    if (s == Status::ok) s = read_profile(text, all, carrier, &profile, &topology, &of_messages);
    // Probes between hosts are collective.
    if (between) s = node::agree(transport, s);
    if (s != Status::ok) return s;
    // A profile that the user names says what hosts are. Commands then answer as programs choose.
    if (!first.named) topology.share_cores(core_part(all));
    if (between && lacks_network(profile, of_messages, first))
      if (s = take_network(transport, topology, carrier, messages, all, &profile); s != Status::ok) return s;
    if (between && profile.name == model::built_in().name && !first.named)
      if (s = take_codec(transport, all, &profile); s != Status::ok) return s;
    profile.codec_threads = codec_threads_of(all, topology);
    profile.mpi = transport.name();  // of this communicator, whoever measured
    profile.eager_limit = first.eager_limit;
    const std::string key = key_of(text, carrier, all, profile, topology);
    *chooser = Choosers::here().of(key, std::move(profile), std::move(topology), std::move(of_messages));
    return s;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory to describe the machine"));
  }
}

}  // namespace stretto::api
