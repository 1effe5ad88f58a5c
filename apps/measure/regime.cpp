#include "regime.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <fmt/core.h>

#include "costs/sampling.hpp"
#include "node/arena/anonymous.hpp"

namespace stretto::measure {
namespace {

constexpr double kNear = 0.25e-6;
constexpr double kSeconds = 0.06;
constexpr int kBatch = 200;      // round trips per sample
constexpr int kSpins = 1 << 14;  // checks before a waiting rank yields its core
constexpr int kTag = 200;        // tag of this part's messages alone
constexpr std::uint64_t kEnd = ~std::uint64_t{0};

struct alignas(128) Flag {
  std::atomic<std::uint64_t> value;
};

struct Flags {
  Flag leader, follower;  // each with one writer
};

// Memory shared by two processes: the leader's memfd, which the follower opens through /proc. Leaves nothing behind.
class Shared {
 public:
  // Between this rank and `peer`, one of which leads.
  Shared(const World& world, int peer, bool leads) {
    int mine[2] = {static_cast<int>(getpid()), -1}, theirs[2] = {};
    if (leads) mine[1] = file_ = node::arena::make_anonymous("stretto-flag", sizeof(Flags));
    const auto tell = [&](const void* out, void* in, std::size_t bytes) {
      world.shift(peer, out, peer, in, bytes, kTag);
    };
    tell(mine, theirs, sizeof mine);
    const int* const where = leads ? mine : theirs;
    if (!leads && where[1] >= 0) file_ = open(fmt::format("/proc/{}/fd/{}", where[0], where[1]).c_str(), O_RDWR);
    void* at = file_ < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Flags), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (at != MAP_FAILED) flags_ = static_cast<Flags*>(at);
    // Both see the same memory, or neither uses it.
    int works = flags_ != nullptr;
    if (leads && works) flags_->leader.value = static_cast<std::uint64_t>(where[0]);
    int there = 0;
    tell(nullptr, nullptr, 0);
    if (!leads && works) works = flags_->leader.value == static_cast<std::uint64_t>(where[0]);
    tell(&works, &there, sizeof works);
    usable_ = works != 0 && there != 0;
    if (leads && usable_) flags_->leader.value = 0;
    tell(nullptr, nullptr, 0);
  }
  ~Shared() {
    if (flags_ != nullptr) munmap(flags_, sizeof(Flags));
    if (file_ >= 0) close(file_);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  Flags* get() const { return usable_ ? flags_ : nullptr; }

 private:
  int file_ = -1;
  Flags* flags_ = nullptr;
  bool usable_ = false;
};

std::uint64_t wait_beyond(const Flag& flag, std::uint64_t last) {
  for (int spins = 0;; ++spins) {
    const std::uint64_t value = flag.value.load(std::memory_order_acquire);
    if (value != last) return value;
    if (spins > kSpins) std::this_thread::yield();
  }
}

double lead(Flag& mine, const Flag& theirs) {
  std::vector<double> samples;
  std::uint64_t sequence = 0;
  for (const double end = now() + kSeconds; now() < end || samples.size() < 5;) {
    const double start = now();
    for (int i = 0; i < kBatch; ++i) {
      mine.value.store(sequence + 1, std::memory_order_release);
      sequence = wait_beyond(theirs, sequence);
    }
    samples.push_back((now() - start) / kBatch);
  }
  mine.value.store(kEnd, std::memory_order_release);
  return summary(samples).median;
}

void follow(Flag& mine, const Flag& theirs) {
  for (std::uint64_t seen = 0; (seen = wait_beyond(theirs, seen)) != kEnd;) {
    mine.value.store(seen, std::memory_order_release);
  }
}

}  // namespace

std::string regime_name(double round_trip) {
  if (round_trip <= 0) return "none";
  return round_trip < kNear ? "near" : "far";
}

Regime probe(const Ranks& ranks, const Machine& machine) {
  const auto [first, second] = ranks.pair_inside();
  if (first < 0) return {0, regime_name(0)};
  const bool active = ranks.rank == first || ranks.rank == second;
  const bool leads = ranks.rank == first;
  double round_trip = 0;
  const std::vector<int> pair{first, second};
  ranks.while_quiet(active, [&] {
    const auto cpus = machine.cpus();
    const Bound bound(machine, cpus.size() < 2 ? -1 : cpus[leads ? 0 : 1]);
    const Shared shared(ranks.world, leads ? second : first, leads);
    Flags* flags = shared.get();
    if (flags == nullptr) return;
    if (leads) {
      round_trip = lead(flags->leader, flags->follower);
    } else {
      follow(flags->follower, flags->leader);
    }
    ranks.barrier(pair);
  });
  round_trip = ranks.from(first, round_trip);
  return {round_trip, regime_name(round_trip)};
}

double own_share(const Ranks& ranks, const Machine& machine) {
  constexpr double kWindow = 0.02;
  constexpr int kWindows = 3;
  const auto cpu_seconds = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double ranks_here = static_cast<double>(ranks.of_host(ranks.host()).size());
  const double crowding = std::max(1.0, ranks_here / std::max(machine.cores(), 1));
  std::array<double, kWindows> lost{};
  for (double& loss : lost) {
    ranks.world.barrier();
    const double start = now(), worked = cpu_seconds();
    while (now() < start + kWindow) {
    }
    loss = std::max(0.0, 1 - crowding * (cpu_seconds() - worked) / (now() - start));
  }
  ranks.largest(lost);
  return 1 - *std::min_element(lost.begin(), lost.end());
}

}  // namespace stretto::measure
