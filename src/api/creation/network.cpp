#include "api/creation/network.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "base/float_environment.hpp"
#include "base/waiting.hpp"
#include "node/memory/handle.hpp"

namespace stretto::api {
namespace {

constexpr std::size_t short_bytes = 8, long_bytes = std::size_t{256} << 10;
constexpr int short_ones = 5, long_ones = 3;  // the first of each warms up
constexpr double patience = 1;                // seconds, of a message

std::array<std::atomic<double>, 2> latencies, bytes_of;  // by carrier; of this process

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

// One message to the next host and one from the previous. False: the carrier failed, or it took too long.
bool pass(carrier::Carrier& messages, Neighbours to, std::uint64_t tag, std::byte* out, std::byte* in,
          std::size_t bytes) noexcept {
  if (messages.start_recv(to.previous, tag, in, bytes, 0) != Status::ok) return false;
  if (messages.start_send(to.next, tag, out, bytes, 1) != Status::ok) return false;
  const double begun = Waiting::clock();
  for (int left = 2; left > 0;) {
    std::array<carrier::Completion, 2> done;
    std::size_t n = 0;
    if (messages.wait_any(done, &n, patience) != Status::ok) return false;
    for (std::size_t i = 0; i < n; ++i)
      if (done[i].status != Status::ok) return false;
    left -= static_cast<int>(n);
    if (left > 0 && Waiting::clock() - begun > patience) return false;
  }
  return true;
}

// Seconds of a message after the first, the least and the mean; negative: it failed.
struct Took {
  double least = -1, mean = -1;
};

Took pass_many(carrier::Carrier& messages, Neighbours to, std::byte* out, std::byte* in, std::size_t bytes,
               int times) noexcept {
  double least = patience, total = 0;
  for (int k = 0; k < times; ++k) {
    const double begun = Waiting::clock();
    if (!pass(messages, to, static_cast<std::uint64_t>(k), out, in, bytes)) return {};
    if (k == 0) continue;
    const double took = Waiting::clock() - begun;
    least = std::min(least, took);
    total += took;
  }
  return {least, total / (times - 1)};
}

// Of this rank's two neighbours. A byte below 0: it failed.
NetworkSpeed measure(carrier::Carrier& messages, Neighbours to) noexcept {
  // A carrier may touch the memory of a message that did not end: the memory is then never freed.
  auto memory = std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[2 * long_bytes]());
  if (!memory) return {0, -1};
  std::byte *out = memory.get(), *in = out + long_bytes;
  const Took brief = pass_many(messages, to, out, in, short_bytes, short_ones);
  // The mean counts: the first bytes after a pause may pass a shaped link faster than its rate.
  const Took whole = brief.least >= 0 ? pass_many(messages, to, out, in, long_bytes, long_ones) : Took{};
  if (whole.mean < 0) {
    static_cast<void>(memory.release());
    return {0, -1};
  }
  return {brief.least, std::max(whole.mean - brief.least, 1e-9) / static_cast<double>(long_bytes)};
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

NetworkSpeed measure_network(backend::Transport& transport, const topology::Topology& topology, model::Carrier over,
                             carrier::Carrier& messages) noexcept {
  const FloatEnvironment environment;
  NetworkSpeed own;
  std::vector<NetworkSpeed> all;
  Status s = Status::ok;
  try {
    all.resize(static_cast<std::size_t>(transport.size()));
  } catch (...) {
    s = fail(Status::out_of_memory, std::string_view("no memory to measure the network"));
  }
  if (node::agree(transport, s) != Status::ok) return {};
  const Neighbours to = neighbours_of(topology, transport.rank());
  if (to.next >= 0) own = measure(messages, to);
  if (transport.allgather(&own, sizeof own, all.data()) != Status::ok) return {};
  NetworkSpeed found;
  for (const NetworkSpeed& one : all) {
    if (one.byte < 0) return {};
    found = {std::max(found.latency, one.latency), std::max(found.byte, one.byte)};
  }
  const auto c = static_cast<std::size_t>(over);
  latencies.at(c).store(found.latency, std::memory_order_relaxed);
  bytes_of.at(c).store(found.byte, std::memory_order_relaxed);
  return found;
}

}  // namespace stretto::api
