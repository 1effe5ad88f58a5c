#include "base/peers.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

namespace stretto {
namespace {

constexpr double kMostUnused = 0.3;                       // of a core
constexpr double kLeastWatched = 4e-3, kMostWatched = 2;  // seconds between compared samples
constexpr int kEnoughUnused = 2;

struct Peers {
  std::mutex mutex;  // of additions
  std::array<std::atomic<std::int32_t>, 256> processes{};
  std::atomic<int> count{0};
};

Peers peers;

// 0 for a process that ended.
double seconds(clockid_t clock) noexcept {
  timespec t{};
  if (clock_gettime(clock, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

void add_peer(std::int32_t process) noexcept {
  const std::lock_guard lock(peers.mutex);
  const int count = peers.count.load(std::memory_order_relaxed);
  const auto end = peers.processes.begin() + count;
  if (end == peers.processes.end() || std::find(peers.processes.begin(), end, process) != end) return;
  end->store(process, std::memory_order_relaxed);
  peers.count.store(count + 1, std::memory_order_release);
}

PeersTime peers_time() noexcept {
  const int saved = errno;
  const int count = peers.count.load(std::memory_order_acquire);
  PeersTime sample{seconds(CLOCK_MONOTONIC), 0, 0};
  CoreSet all{};
  int live = 0;
  for (int i = 0; i < count; ++i) {
    clockid_t clock{};
    CoreSet cores;
    const std::int32_t process = peers.processes[static_cast<std::size_t>(i)].load(std::memory_order_relaxed);
    if (clock_getcpuclockid(process, &clock) == 0) sample.used += seconds(clock);
    cores.find(process);
    live += cores.count() > 0 ? 1 : 0;
    all.join(cores);
  }
  errno = saved;
  sample.cores = all.count();
  return sample.cores < live ? sample : PeersTime{};
}

bool peers_used_cores(const PeersTime& before, const PeersTime& after) noexcept {
  if (before.cores == 0 || after.cores == 0) return false;
  return after.used - before.used >= (after.cores - kMostUnused) * (after.when - before.when);
}

bool PeersWatch::had_cores(const PeersTime& now) noexcept {
  if (now.cores == 0) return false;
  const double passed = now.when - judged_.when;
  if (passed < kLeastWatched) return true;
  const bool comparable = passed <= kMostWatched && judged_.cores == now.cores;
  unused_ = !comparable || peers_used_cores(judged_, now) ? 0 : unused_ + 1;
  judged_ = now;
  return unused_ < kEnoughUnused;
}

}  // namespace stretto
