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
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "api/creation/choosers.hpp"
#include "api/creation/create.hpp"
#include "api/creation/network.hpp"
#include "api/creation/share.hpp"
#include "base/guarded.hpp"
#include "model/profile/codec_probe.hpp"
#include "model/profile/profile_text.hpp"
#include "stretto/stretto_stream.h"
#include "topology/free_cores.hpp"
#include "topology/topology.hpp"

namespace stretto::api {
namespace {

// Facts of the transport's messages, which rank 0 finds for all: an MPI takes milliseconds to answer.
struct MessageFacts {
  std::uint64_t eager_limit = 0;
  bool yields = false;  // looks for messages give the core away
  bool has_han = false;
  bool known = false;
};

struct Probes {
  model::CodecProbe fixed, dense;
};

struct Here {
  std::array<char, 64> host{};
  std::int32_t socket = -1, cache = -1, core = -1, numa = -1, cores = 0;
  std::array<char, 64> levels{};  // of a hierarchy inside hosts
  std::int32_t machine_cores = 0;
  std::int32_t codec_threads = 1;  // that this process asks for, and has CPUs for
  NetworkSpeed network;            // as this process probed it before
  Probes codec;                    // as this process measured its core before, if `probed`
  bool probed = false;
  Introduction introduction;
  // Hashes of profiles: earlier communicators', and on rank 0 the one to take now. 0: none.
  std::uint64_t profile = 0, taken = 0;
  bool named = false;  // on rank 0: by STRETTO_PROFILE
  MessageFacts facts;
};

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

// STRETTO_HOST or the kernel's name.
const std::array<char, 64>& own_host() noexcept {
  static const std::array<char, 64> once = [] {
    std::array<char, 256> name{};
    const char* text = secure_getenv("STRETTO_HOST");
    if (text == nullptr || *text == 0) text = gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
    std::array<char, 64> host{};
    std::copy_n(text, std::min(std::strlen(text), host.size()), host.begin());
    return host;
  }();
  return once;
}

// Takes milliseconds, so it runs once. If it fails, only the host is known.
Here look() {
  static const Here once = [] {
    Here h;
    h.host = own_host();
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

// A host's own part of its cores: containers of one machine may count the same cores.
double core_part(const std::vector<Here>& all) {
  struct Machine {
    std::map<std::string_view, int> hosts;
    int cores = 0;
  };
  std::map<std::string_view, Machine> machines;
  for (const Here& h : all) {
    const auto& boot = h.introduction.boot;  // equal on the hosts of one machine
    if (boot.front() == 0 || h.cores <= 0) continue;
    Machine& m = machines[{boot.data(), boot.size()}];
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

// Codec threads of every rank: as many as all ask for, at most a rank's share of its host's cores.
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

// Gives all ranks rank 0's text and facts; if it failed, its message is the text.
Status share(backend::Transport& transport, Status found, const std::string& given, std::string* text,
             MessageFacts* facts) noexcept {
  std::array<std::uint64_t, 5> words{static_cast<std::uint64_t>(found), facts->eager_limit, facts->yields ? 1U : 0U,
                                     facts->has_han ? 1U : 0U, facts->known ? 1U : 0U};
  const Status passed = transport.broadcast(words.data(), sizeof words);
  const Status shared = share_text(transport, found == Status::ok ? std::string_view(given) : message(), text);
  if (passed != Status::ok) return passed;
  *facts = {words[1], words[2] != 0, words[3] != 0, words[4] != 0};
  const auto s = static_cast<Status>(words[0]);
  return shared != Status::ok || s == Status::ok ? shared : fail(s, "{}", *text);
}

// The profile and the facts that this process shared last: ranks that all have both exchange neither.
struct Shared {
  std::string text;
  std::uint64_t hash = 0;               // of the text; 0: there is none
  std::array<MessageFacts, 2> facts{};  // of each carrier

  const MessageFacts& of(model::Carrier carrier) const noexcept { return facts.at(static_cast<std::size_t>(carrier)); }
};

// Threads may make communicators concurrently: each uses the snapshot whose hash it announced.
class KeptShared {
 public:
  static KeptShared& here() {
    static KeptShared& all = *new KeptShared;  // threads may make communicators at exit
    return all;
  }

  std::shared_ptr<const Shared> snapshot() noexcept {
    const std::lock_guard lock(mutex_);
    return kept_;
  }

  void keep(const std::string& text, model::Carrier carrier, const MessageFacts& facts) noexcept {
    const std::lock_guard lock(mutex_);
    // Without memory, the next communicator shares them again.
    static_cast<void>(attempt([&] {
      auto made = std::make_shared<Shared>(Shared{text, hash_of(text), kept_->facts});
      if (facts.known) made->facts.at(static_cast<std::size_t>(carrier)) = facts;
      kept_ = std::move(made);
    }));
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const Shared> kept_ = std::make_shared<const Shared>();
};

// No profile has network times for these messages. A user who names the built-in profile gets its own times.
bool lacks_network(const model::Profile& profile, const std::string& messages, bool named) {
  const std::string& built_in = model::built_in().name;
  return profile.network_of == built_in || (messages == built_in && !named);
}

// Puts the network's times into the profile, from an earlier probe of all ranks' processes or a new one. Collective.
Status take_network(backend::Transport& transport, const topology::Topology& topology, model::Carrier over,
                    carrier::Carrier* messages, const std::vector<Here>& all, model::Profile* profile) {
  NetworkSpeed speed = all.front().network;
  for (const Here& h : all) speed = slower(speed, h.network);
  if (!speed.known())
    if (const Status s = probe_network(transport, topology, over, *messages, &speed); s != Status::ok) return s;
  return guarded("for the speed of the network", [&] {
    profile->links[static_cast<std::size_t>(topology::Distance::network)] = {
        {0, speed.latency, speed.byte, speed.core_byte, speed.core_message}};
    profile->short_calls.clear();
    if (speed.has_bursts())
      profile->short_calls = {{0, speed.latency, speed.short_byte, speed.core_byte, speed.core_message}};
  });
}

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

// Scales the built-in profile's codec costs to the slowest rank's processor. Collective. `before`: this rank's status.
Status take_codec(backend::Transport& transport, const std::vector<Here>& all, Status before, model::Profile* profile) {
  const bool measured = std::all_of(all.begin(), all.end(), [](const Here& h) { return h.probed; });
  std::span<const Probes> probes;
  if (!measured) {
    const Probes own = probes_here();
    probed.store(true, std::memory_order_release);
    before = transport.step(before, own, &probes);
  }
  if (before != Status::ok) return before;
  const auto of = [&](std::size_t r) { return measured ? all[r].codec : probes[r]; };
  Probes most = of(0);
  for (std::size_t r = 1; r < all.size(); ++r)
    most = {slowest(most.fixed, of(r).fixed), slowest(most.dense, of(r).dense)};
  model::scale_codec(most.fixed, most.dense, profile);
  return Status::ok;
}

// STRETTO_CODEC_THREADS (1 if not set), at most the CPUs that this process may use.
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

// Everything that a model depends on.
std::string key_of(const std::string& text, model::Carrier carrier, const std::vector<Here>& all,
                   const model::Profile& profile, const topology::Topology& topology) {
  std::string key = fmt::format("{}\n{} {} {}\n{}\n", text, static_cast<int>(carrier), profile.mpi, profile.eager_limit,
                                all.front().levels.data());
  for (const model::Link* link :
       {&profile.links[static_cast<std::size_t>(topology::Distance::network)], &profile.short_calls}) {
    for (const model::Span& s : *link)
      key += fmt::format("{} {} {} {} {}\n", s.from, s.alpha, s.beta, s.cpu, s.cpu_message);
    key += '\n';
  }
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

Status profile_here(const backend::Transport& transport, std::string* text) noexcept {
  return guarded("for the machine's profile",
                 [&]() -> Status { return model::find_text(host_name(), transport.name(), text); });
}

Status describe(const Shared& before, model::Carrier carrier, Here* own) {
  *own = look();
  if (const Status s = asked_codec_threads(&own->codec_threads); s != Status::ok) return s;
  const char* const levels = secure_getenv("STRETTO_LEVELS");
  const std::string_view wanted = levels != nullptr ? levels : topology::kAllLevels;
  std::copy_n(wanted.begin(), std::min(wanted.size(), own->levels.size() - 1), own->levels.begin());
  own->introduction = introduce();
  own->network = known_speed(carrier);
  own->probed = probed.load(std::memory_order_acquire);
  if (own->probed) own->codec = probes_here();
  own->profile = before.hash;
  own->facts = before.of(carrier);
  return Status::ok;
}

// Rank 0 reads the text, too: all ranks then hold equal bits.
Status read_profile(const std::string& text, const std::vector<Here>& all, model::Carrier carrier,
                    model::Profile* profile, topology::Topology* topology, std::string* of_messages) noexcept {
  return guarded("for the machine's profile", [&]() -> Status {
    if (const Status s = model::parse_cached(text, profile); s != Status::ok) return s;
    *profile = model::over(carrier, std::move(*profile), of_messages);
    if (const Status s = topology_of(all, topology); s != Status::ok) return s;
    if (!all.front().named) topology->share_cores(core_part(all));
    return Status::ok;
  });
}

}  // namespace

Status find_machine(backend::Transport& transport, model::Carrier carrier, Status ready, carrier::Carrier* messages,
                    std::shared_ptr<select::SharedChooser>* chooser, std::vector<Introduction>* introductions,
                    bool* several_hosts) noexcept {
  return guarded("to describe the machine", [&]() -> Status {
    Here own;
    std::vector<Here> all;
    std::vector<Introduction> introduced;
    std::shared_ptr<const Shared> before;
    std::string given, received;
    Status s = ready;
    if (s == Status::ok)
      s = guarded("to describe the machine", [&] {
        all.resize(static_cast<std::size_t>(transport.size()));
        introduced.resize(all.size());
        before = KeptShared::here().snapshot();
        return describe(*before, carrier, &own);
      });
    // A failure is told with the profile's text, by share().
    const Status found = s == Status::ok && transport.rank() == 0 ? profile_here(transport, &given) : Status::ok;
    if (transport.rank() == 0) {
      own.named = secure_getenv("STRETTO_PROFILE") != nullptr;
      if (found == Status::ok) own.taken = hash_of(given);
    }
    std::span<const Here> told;
    if (s = transport.step(s, own, &told); s != Status::ok) return s;
    std::copy(told.begin(), told.end(), all.begin());
    std::transform(all.begin(), all.end(), introduced.begin(), [](const Here& h) { return h.introduction; });
    *introductions = std::move(introduced);
    const Here& first = all.front();
    const auto every = [&](const auto& holds) { return std::all_of(all.begin(), all.end(), holds); };
    const bool between = !every([&](const Here& h) { return h.host == first.host; });
    *several_hosts = between;
    MessageFacts facts = first.facts;
    const bool had = first.taken != 0 && every([&](const Here& h) { return h.profile == first.taken; });
    const bool shares = !had || (between && !facts.known);
    if (shares) {
      if (transport.rank() == 0 && between && !facts.known)
        facts = {transport.eager_limit(), transport.yields(), transport.has_han(), true};
      s = share(transport, found, given, &received, &facts);
      if (s == Status::ok) KeptShared::here().keep(received, carrier, facts);
    }
    const std::string& text = shares ? received : before->text;
    if (!between) facts = {};
    if (between) transport.set_yields(facts.yields);
    model::Profile profile;
    topology::Topology topology;
    std::string of_messages;
    if (s == Status::ok) s = read_profile(text, all, carrier, &profile, &topology, &of_messages);
    // Probes between hosts are collective. Without any, the caller's next agreement reports a failure.
    const bool probed_before = every([](const Here& h) { return h.probed && h.network.known(); });
    if (between && !probed_before) s = node::agree(transport, s);
    if (s != Status::ok) return s;
    if (between && lacks_network(profile, of_messages, first.named))
      s = take_network(transport, topology, carrier, messages, all, &profile);
    if (between && profile.name == model::built_in().name && !first.named) s = take_codec(transport, all, s, &profile);
    if (s != Status::ok) return s;
    profile.codec_threads = codec_threads_of(all, topology);
    profile.mpi = transport.name();
    if (between && !facts.has_han && profile.mpi.starts_with("Open MPI")) profile.mpi += model::kWithoutHan;
    profile.eager_limit = static_cast<std::size_t>(facts.eager_limit);
    const std::string key = key_of(text, carrier, all, profile, topology);
    *chooser = Choosers::here().of(key, std::move(profile), std::move(topology), std::move(of_messages));
    return s;
  });
}

std::uint64_t host_hash() noexcept { return hash_of({own_host().data(), own_host().size()}); }

std::uint64_t kernel_hash(bool cores) noexcept {
  return value_or(std::uint64_t{0}, [cores] {
    const Introduction me = introduce();
    if (me.boot.front() == 0) return std::uint64_t{0};
    const std::uint64_t kernel = hash_of({me.boot.data(), me.boot.size()});
    return cores ? kernel ^ me.cores : kernel;
  });
}

}  // namespace stretto::api
