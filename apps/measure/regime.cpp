#include "regime.hpp"

#include <atomic>
#include <new>
#include <thread>

#include "sampling.hpp"

namespace stretto::measure {
namespace {

constexpr double kNear = 0.25e-6;
constexpr double kSeconds = 0.06;
constexpr int kBatch = 200;          // round trips of a sample
constexpr int kSpins = 1 << 14;      // before a waiting rank gives its core away
constexpr std::uint64_t kEnd = ~std::uint64_t{0};

struct alignas(128) Flag {
  std::atomic<std::uint64_t> value;
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
  {
    const SubComm pair(ranks.comm, active);
    ranks.while_quiet(active, [&] {
      const auto cpus = machine.cpus();
      const Bound bound(machine, cpus.size() < 2 ? -1 : cpus[leads ? 0 : 1]);
      MPI_Win window = MPI_WIN_NULL;
      void* own = nullptr;
      MPI_Win_allocate_shared(sizeof(Flag) * 2, 1, MPI_INFO_NULL, pair.get(), &own, &window);
      void* there = nullptr;
      MPI_Aint size = 0;
      int unit = 0;
      MPI_Win_shared_query(window, leads ? 1 : 0, &size, &unit, &there);
      const auto aligned = [](void* p) {
        const auto at = reinterpret_cast<std::uintptr_t>(p);
        return reinterpret_cast<void*>((at + alignof(Flag) - 1) / alignof(Flag) * alignof(Flag));
      };
      Flag* mine = new (aligned(own)) Flag{0};
      const Flag* theirs = std::launder(reinterpret_cast<const Flag*>(aligned(there)));
      MPI_Barrier(pair.get());
      if (leads) {
        round_trip = lead(*mine, *theirs);
      } else {
        follow(*mine, *theirs);
      }
      MPI_Win_free(&window);
    });
  }
  round_trip = ranks.from(first, round_trip);
  return {round_trip, regime_name(round_trip)};
}

}  // namespace stretto::measure
