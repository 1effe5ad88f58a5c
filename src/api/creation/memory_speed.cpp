#include "api/creation/memory_speed.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "api/creation/choosers.hpp"
#include "base/float_environment.hpp"
#include "base/waiting.hpp"
#include "node/collectives/bounded.hpp"
#include "node/memory/handle.hpp"

namespace stretto::api {
namespace {

using model::MemorySpeed;

constexpr std::size_t bytes = MemorySpeed::least_streamed, count = bytes / sizeof(float);
constexpr double eps = 1e-4;
constexpr int most_ranks = 8;
constexpr int few = 3, many = 9;  // allreduces of each kind, without the first

// A rank's least seconds.
struct Measured {
  double raw = INFINITY, streams = INFINITY;
  double ratio = 1;
};

// Arches of some noise, which streams of `eps` shrink to a fifth.
void fill(std::vector<float>& x, int rank) noexcept {
  std::uint32_t state = 12345U + static_cast<std::uint32_t>(rank);
  for (std::size_t i = 0; i < x.size(); ++i) {
    state = state * 1664525U + 1013904223U;
    const auto at = static_cast<float>(i & 1023U);
    x[i] = at * (1023.0F - at) * 4e-6F + static_cast<float>(state >> 8U) * 6e-11F;
  }
}

// Repeats both kinds in turns.
Status measure(node::Collectives& node, const std::vector<float>& x, std::vector<float>& sum, int times,
               Measured* found) noexcept {
  node::Bounded bounded(node.group());
  node::BoundedCall call;
  call.in = x.data();
  call.out = sum.data();
  call.count = count;
  call.spec = {.kind = payload::Kind::fused, .type = payload::Type::f32, .op = payload::Op::sum, .eps = eps};
  const auto timed = [&node](double* least, const auto& run) {
    Status s = node.barrier();
    const double begun = Waiting::clock();
    if (s == Status::ok) s = run();
    *least = std::min(*least, Waiting::clock() - begun);
    return s;
  };
  for (int k = 0; k <= times; ++k) {
    node::StreamCounts streamed;
    Measured now;
    const auto raw = [&] { return node.allreduce(x.data(), sum.data(), count, payload::Type::f32, {}); };
    Status s = timed(&now.raw, raw);
    if (s == Status::ok) s = timed(&now.streams, [&] { return bounded.run(call, &streamed); });
    if (s != Status::ok) return s;
    found->ratio = std::max(
        1.0, static_cast<double>(streamed.raw_bytes) / std::max(1.0, static_cast<double>(streamed.stream_bytes)));
    if (k == 0) continue;  // brings memory and code
    found->raw = std::min(found->raw, now.raw);
    found->streams = std::min(found->streams, now.streams);
  }
  return Status::ok;
}

// The slowest rank counts. Speeds are rounded, so that equal machines share a model.
Status share(node::Collectives& node, const Measured& own, std::vector<Measured>* all, MemorySpeed* speed) noexcept {
  if (const Status s = node.allgather(&own, all->data(), sizeof own); s != Status::ok) return s;
  Measured slowest{0, 0, INFINITY};
  for (const Measured& one : *all) {
    slowest.raw = std::max(slowest.raw, one.raw);
    slowest.streams = std::max(slowest.streams, one.streams);
    slowest.ratio = std::min(slowest.ratio, one.ratio);
  }
  const auto rounded = [](double x) { return model::power_of_two(std::lround(8 * std::log2(x))); };
  *speed = {rounded(slowest.raw / bytes), rounded(slowest.streams / bytes), std::max(1.0, rounded(slowest.ratio))};
  return Status::ok;
}

bool can_measure(const node::Collectives& node, const node::Group& group, const model::Profile& profile) noexcept {
  if (profile.memory.known() || node.size() < 2 || node.size() > most_ranks) return false;
  if (group.oversubscribed()) return false;
  for (int peer = 0; peer < node.size(); ++peer)
    if (peer != node.rank() && group.same_process(peer)) return false;
  return true;
}

Status probe(backend::Transport& transport, node::Collectives& node, std::vector<Measured>* all,
             MemorySpeed* speed) noexcept {
  std::vector<float> x, sum;
  Status s = Status::ok;
  try {
    x.resize(count);
    sum.resize(count);
  } catch (...) {
    s = fail(Status::out_of_memory, std::string_view("no memory to measure the speed of memory"));
  }
  if (s = node::agree(transport, s); s != Status::ok) return s;
  fill(x, node.rank());
  Measured own;
  s = measure(node, x, sum, few, &own);
  if (s == Status::ok) s = share(node, own, all, speed);
  // Other load disturbs few allreduces: streams take the place of raw values only by many.
  if (s == Status::ok && speed->streams < speed->raw) {
    s = measure(node, x, sum, many, &own);
    if (s == Status::ok) s = share(node, own, all, speed);
  }
  return node::agree(transport, s);
}

}  // namespace

Status take_memory_speed(backend::Transport& transport, node::Collectives& node,
                         std::shared_ptr<select::SharedChooser>* chooser) noexcept {
  const FloatEnvironment environment;
  select::SharedChooser& found = **chooser;
  // Ranks may run on different numbers of cores.
  const bool can = can_measure(node, node.group(), found.chooser.profile());
  MemorySpeed known;
  try {
    const std::lock_guard lock(found.mutex);
    known = found.memory;
  } catch (...) {
  }
  std::vector<std::pair<MemorySpeed, bool>> told;
  std::vector<Measured> all;
  Status s = Status::ok;
  try {
    told.resize(static_cast<std::size_t>(node.size()));
    all.resize(static_cast<std::size_t>(node.size()));
  } catch (...) {
    s = fail(Status::out_of_memory, std::string_view("no memory to measure the speed of memory"));
  }
  if (s = node::agree(transport, s); s != Status::ok) return s;
  const std::pair<MemorySpeed, bool> own(known, can);
  s = transport.allgather(&own, sizeof own, told.data());
  if (s != Status::ok) return s;
  MemorySpeed speed = told.front().first;
  bool all_know = true;
  for (const auto& [one, may] : told) {
    if (!may) return Status::ok;
    all_know =
        all_know && one.known() && one.raw == speed.raw && one.streams == speed.streams && one.ratio == speed.ratio;
  }
  if (!all_know)
    if (s = probe(transport, node, &all, &speed); s != Status::ok) return s;
  try {
    {
      const std::lock_guard lock(found.mutex);
      found.memory = speed;
    }
    model::Profile profile = found.chooser.profile();
    profile.memory = speed;
    const std::string key = fmt::format("{}memory {} {} {}\n", found.key, speed.raw, speed.streams, speed.ratio);
    *chooser = Choosers::here().of(key, std::move(profile), found.chooser.topology(), found.messages);
    return node::agree(transport, Status::ok);
  } catch (...) {
    return node::agree(transport, fail(Status::out_of_memory, std::string_view("no memory to describe the machine")));
  }
}

}  // namespace stretto::api
