#include "api/creation/network.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/float_environment.hpp"
#include "base/guarded.hpp"
#include "base/waiting.hpp"

namespace stretto::api {
namespace {

constexpr std::size_t kShortBytes = 8, kMediumBytes = std::size_t{8} << 10, kLongBytes = std::size_t{256} << 10;
constexpr std::size_t kEach = 4, kMostRounds = 3;  // messages of a length in a round
constexpr double kPatience = 60;                   // seconds, of a message

constexpr std::size_t kCoreBytes = std::size_t{128} << 10;  // of messages whose core time is taken

struct KnownSpeed {
  std::atomic<double> latency, byte, short_byte, core_message, core_byte;
};
std::array<KnownSpeed, 2> known;

// About 20 microseconds.
void work() noexcept {
  std::uint64_t x = 1;
  for (int i = 0; i < 16000; ++i) {
    x = x * 6364136223846793005u + 1;
    asm volatile("" : "+r"(x));
  }
}

struct Neighbours {
  int next = -1, previous = -1;  // -1: this rank measures nothing
};

Neighbours neighbours_of(const topology::Topology& topology, int rank) {
  const int hosts = topology.hosts();
  for (int h = 0; h < hosts; ++h)
    if (topology.ranks_of(h).front() == rank)
      return {topology.ranks_of((h + 1) % hosts).front(), topology.ranks_of((h + hosts - 1) % hosts).front()};
  return {};
}

// `look` waits for completions.
template <class Look>
Status pass(carrier::Carrier& messages, Neighbours to, std::uint64_t tag, std::byte* out, std::byte* in,
            std::size_t bytes, const Look& look) noexcept {
  Status s = messages.start_recv(to.previous, tag, in, bytes, 0);
  if (s == Status::ok) s = messages.start_send(to.next, tag, out, bytes, 1);
  const double begun = Waiting::clock();
  for (int left = 2; s == Status::ok && left > 0;) {
    std::array<carrier::Completion, 2> done;
    std::size_t n = 0;
    s = look(done, &n);
    for (std::size_t i = 0; i < n && s == Status::ok; ++i) s = done[i].status;
    left -= static_cast<int>(n);
    if (s == Status::ok && left > 0 && Waiting::clock() - begun > kPatience)
      s = fail(Status::timeout, "a message of {} bytes to rank {} and one from rank {} did not pass within {} s", bytes,
               to.next, to.previous, kPatience);
  }
  return s;
}

// *took: the seconds of each message but the first, which warms up.
template <std::size_t N>
Status pass_many(carrier::Carrier& messages, Neighbours to, std::byte* out, std::byte* in, std::size_t bytes,
                 std::array<double, N>* took) noexcept {
  for (std::size_t k = 0; k <= N; ++k) {
    const double begun = Waiting::clock();
    const auto wait = [&](std::span<carrier::Completion> done, std::size_t* n) {
      return messages.wait_any(done, n, 0.05);
    };
    if (const Status s = pass(messages, to, k, out, in, bytes, wait); s != Status::ok) return s;
    if (k > 0) (*took)[k - 1] = Waiting::clock() - begun;
  }
  return Status::ok;
}

double median(std::span<double> all) noexcept {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

// *took: seconds by which each pair of messages but the first lengthens turns of work and a look. The kernel's work is
// in no thread's time: the clock counts, less `turn` seconds of a turn without messages.
template <std::size_t N>
Status pass_beside_work(carrier::Carrier& messages, Neighbours to, std::byte* out, std::byte* in, std::size_t bytes,
                        std::array<double, N>* took) noexcept {
  int turns = 0;
  const auto turn = [&](std::span<carrier::Completion> done, std::size_t* n) {
    ++turns;
    work();
    sched_yield();
    return messages.wait_any(done, n, 0);
  };
  for (std::size_t k = 0; k <= N; ++k) {
    turns = 0;
    const double begun = Waiting::clock();
    if (const Status s = pass(messages, to, k, out, in, bytes, turn); s != Status::ok) return s;
    const double passed = Waiting::clock() - begun;
    std::array<double, 9> idle{};
    const int taken = turns;
    for (double& one : idle) {
      std::array<carrier::Completion, 1> none;
      std::size_t n = 0;
      const double start = Waiting::clock();
      if (const Status s = turn(none, &n); s != Status::ok) return s;
      one = Waiting::clock() - start;
    }
    if (k > 0) (*took)[k - 1] = passed - taken * median(idle);
  }
  return Status::ok;
}

Status measure_speed(carrier::Carrier& messages, Neighbours to, std::byte* memory, MessageTimes* times) noexcept {
  std::byte *out = memory, *in = memory + kLongBytes;
  std::array<double, kEach> brief{}, medium{}, whole{};
  Status s = pass_many(messages, to, out, in, kShortBytes, &brief);
  if (s == Status::ok) s = pass_many(messages, to, out, in, kMediumBytes, &medium);
  if (s == Status::ok) s = pass_many(messages, to, out, in, kLongBytes, &whole);
  if (s == Status::ok) times->take(brief, medium, whole);
  return s;
}

Status measure_core(carrier::Carrier& messages, Neighbours to, std::byte* memory, NetworkSpeed* speed) noexcept {
  std::byte *out = memory, *in = memory + kLongBytes;
  std::array<double, 3> brief{}, whole{};
  Status s = pass_beside_work(messages, to, out, in, kShortBytes, &brief);
  if (s == Status::ok) s = pass_beside_work(messages, to, out, in, kCoreBytes, &whole);
  if (s == Status::ok) set_core_times(brief, whole, kCoreBytes, speed);
  return s;
}

}  // namespace

NetworkSpeed known_speed(model::Carrier carrier) noexcept {
  const KnownSpeed& k = known.at(static_cast<std::size_t>(carrier));
  const auto read = [](const std::atomic<double>& x) { return x.load(std::memory_order_relaxed); };
  return {read(k.latency), read(k.byte), read(k.short_byte), read(k.core_message), read(k.core_byte)};
}

NetworkSpeed slower(NetworkSpeed one, NetworkSpeed other) noexcept {
  if (!one.known() || !other.known()) return {};
  return {std::max(one.latency, other.latency), std::max(one.byte, other.byte),
          std::max(one.short_byte, other.short_byte), std::max(one.core_message, other.core_message),
          std::max(one.core_byte, other.core_byte)};
}

Status probe_network(backend::Transport& transport, const topology::Topology& topology, model::Carrier over,
                     carrier::Carrier& messages, NetworkSpeed* speed) noexcept {
  const FloatEnvironment environment;
  std::vector<NetworkSpeed> all;
  std::vector<std::int32_t> settled;
  std::unique_ptr<std::byte[]> memory;
  Status s = guarded("to probe the network", [&] {
    all.resize(static_cast<std::size_t>(transport.size()));
    settled.resize(all.size());
    memory = std::make_unique<std::byte[]>(2 * kLongBytes);
  });
  if (s = node::agree(transport, s); s != Status::ok) return s;
  NetworkSpeed own;
  const Neighbours to = neighbours_of(topology, transport.rank());
  const auto together = [&](const auto& measure) {
    if (to.next >= 0) s = measure();
    // The carrier may still access the memory of an unfinished message: never free it.
    if (s != Status::ok) static_cast<void>(memory.release());
    return s = node::agree(transport, s);
  };
  MessageTimes times;
  for (std::size_t round = 0; round < kMostRounds; ++round) {
    if (together([&] { return measure_speed(messages, to, memory.get(), &times); }) != Status::ok) return s;
    const std::int32_t mine = to.next < 0 || times.settled() ? 1 : 0;
    if (s = transport.allgather(&mine, sizeof mine, settled.data()); s != Status::ok) return s;
    if (std::count(settled.begin(), settled.end(), 0) == 0) break;
  }
  if (to.next >= 0) own = times.speed(kMediumBytes, kLongBytes);
  // All ranks have measured the speed before one works beside messages: hosts may share cores.
  if (together([&] { return measure_core(messages, to, memory.get(), &own); }) != Status::ok) return s;
  if (s = transport.allgather(&own, sizeof own, all.data()); s != Status::ok) return s;
  *speed = {};
  for (const NetworkSpeed& one : all) {
    speed->latency = std::max(speed->latency, one.latency);
    speed->byte = std::max(speed->byte, one.byte);
    speed->short_byte = std::max(speed->short_byte, one.short_byte);
    speed->core_message += one.core_message / topology.hosts();
    speed->core_byte += one.core_byte / topology.hosts();
  }
  // A core passed as many bytes in and out while the link passed them once, for each host that it serves.
  const double cores = topology.cores_per_host() * topology.core_part();
  const double served = cores > 0 ? std::max(1.0, 1 / cores) : 1;
  speed->core_message = std::min(speed->core_message, speed->latency / 2);
  speed->core_byte = std::min(speed->core_byte, speed->byte / (2 * served));
  KnownSpeed& k = known.at(static_cast<std::size_t>(over));
  k.latency.store(speed->latency, std::memory_order_relaxed);
  k.byte.store(speed->byte, std::memory_order_relaxed);
  k.short_byte.store(speed->short_byte, std::memory_order_relaxed);
  k.core_message.store(speed->core_message, std::memory_order_relaxed);
  k.core_byte.store(speed->core_byte, std::memory_order_relaxed);
  return Status::ok;
}

}  // namespace stretto::api
