#include "api/creation/network.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/float_environment.hpp"
#include "base/waiting.hpp"
#include "node/memory/handle.hpp"

namespace stretto::api {
namespace {

constexpr std::size_t short_bytes = 8, long_bytes = std::size_t{256} << 10;
constexpr double patience = 60;  // seconds, of a message

std::array<std::atomic<double>, 2> latencies, bytes_of;  // of this process, by carrier

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

Status pass(carrier::Carrier& messages, Neighbours to, std::uint64_t tag, std::byte* out, std::byte* in,
            std::size_t bytes) noexcept {
  Status s = messages.start_recv(to.previous, tag, in, bytes, 0);
  if (s == Status::ok) s = messages.start_send(to.next, tag, out, bytes, 1);
  const double begun = Waiting::clock();
  for (int left = 2; s == Status::ok && left > 0;) {
    std::array<carrier::Completion, 2> done;
    std::size_t n = 0;
    s = messages.wait_any(done, &n, 0.05);
    for (std::size_t i = 0; i < n && s == Status::ok; ++i) s = done[i].status;
    left -= static_cast<int>(n);
    if (s == Status::ok && left > 0 && Waiting::clock() - begun > patience)
      s = fail(Status::timeout, "a message of {} bytes to rank {} and one from rank {} did not pass within {} s", bytes,
               to.next, to.previous, patience);
  }
  return s;
}

// *took: the seconds of each message but the first, which warms up.
template <std::size_t N>
Status pass_many(carrier::Carrier& messages, Neighbours to, std::byte* out, std::byte* in, std::size_t bytes,
                 std::array<double, N>* took) noexcept {
  for (std::size_t k = 0; k <= N; ++k) {
    const double begun = Waiting::clock();
    if (const Status s = pass(messages, to, k, out, in, bytes); s != Status::ok) return s;
    if (k > 0) (*took)[k - 1] = Waiting::clock() - begun;
  }
  return Status::ok;
}

Status measure(carrier::Carrier& messages, Neighbours to, std::byte* memory, NetworkSpeed* speed) noexcept {
  std::byte *out = memory, *in = memory + long_bytes;
  std::array<double, 4> brief{};
  std::array<double, 3> whole{};
  Status s = pass_many(messages, to, out, in, short_bytes, &brief);
  if (s == Status::ok) s = pass_many(messages, to, out, in, long_bytes, &whole);
  if (s == Status::ok) *speed = speed_of(brief, whole, long_bytes);
  return s;
}

}  // namespace

NetworkSpeed known_speed(model::Carrier carrier) noexcept {
  const auto c = static_cast<std::size_t>(carrier);
  return {latencies.at(c).load(std::memory_order_relaxed), bytes_of.at(c).load(std::memory_order_relaxed)};
}

NetworkSpeed slower(NetworkSpeed one, NetworkSpeed other) noexcept {
  if (!one.known() || !other.known()) return {};
  return {std::max(one.latency, other.latency), std::max(one.byte, other.byte)};
}

Status probe_network(backend::Transport& transport, const topology::Topology& topology, model::Carrier over,
                     carrier::Carrier& messages, NetworkSpeed* speed) noexcept {
  const FloatEnvironment environment;
  std::vector<NetworkSpeed> all;
  std::unique_ptr<std::byte[]> memory;
  Status s = Status::ok;
  try {
    all.resize(static_cast<std::size_t>(transport.size()));
    memory = std::make_unique<std::byte[]>(2 * long_bytes);
  } catch (...) {
    s = fail(Status::out_of_memory, std::string_view("no memory to probe the network"));
  }
  if (s = node::agree(transport, s); s != Status::ok) return s;
  NetworkSpeed own;
  if (const Neighbours to = neighbours_of(topology, transport.rank()); to.next >= 0) {
    s = measure(messages, to, memory.get(), &own);
    // The carrier may still access the memory of a message that did not end: never free it.
    if (s != Status::ok) static_cast<void>(memory.release());
  }
  if (s = node::agree(transport, s); s != Status::ok) return s;
  if (s = transport.allgather(&own, sizeof own, all.data()); s != Status::ok) return s;
  *speed = {};
  for (const NetworkSpeed& one : all) *speed = {std::max(speed->latency, one.latency), std::max(speed->byte, one.byte)};
  const auto c = static_cast<std::size_t>(over);
  latencies.at(c).store(speed->latency, std::memory_order_relaxed);
  bytes_of.at(c).store(speed->byte, std::memory_order_relaxed);
  return Status::ok;
}

}  // namespace stretto::api
