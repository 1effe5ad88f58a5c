// Failing operator new.
#include <cstdlib>
#include <limits>
#include <new>
#include <numeric>
#include <vector>

#include "../processes.hpp"
#include "node/collectives/collectives.hpp"

namespace {

constexpr int kNever = std::numeric_limits<int>::max();
int until_failure = kNever;  // allocations; none is given at 0

}  // namespace

// Not inlined: the compiler would see free() meet what came from new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (until_failure != kNever && until_failure-- <= 0) {
    until_failure = 0;
    throw std::bad_alloc();
  }
  if (void* at = std::malloc(bytes > 0 ? bytes : 1)) return at;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { std::free(at); }

namespace stretto::node {
namespace {

constexpr auto kNothing = [](const std::vector<pid_t>&) {};

// Rank 1 runs out of memory after k allocations, for every k: either all ranks have collectives, or none has. The alarm
// ends a rank that waits for a missing rank.
TEST(NoMemory, RankWithoutMemoryLeavesNoOtherWaiting) {
  constexpr int ranks = 3, spared = 100;
  bool all_spared = false;
  for (int k = 0; !all_spared; ++k) {
    Inherited memory(ranks);
    const auto ends = on_processes(
        ranks, memory,
        [&](Exchange& exchange) {
          alarm(20);
          const Options options;
          std::unique_ptr<Collectives> c;
          if (exchange.rank() == 1) until_failure = k;
          const Status s = Collectives::create(exchange, options, &c);
          if (exchange.rank() == 1 && until_failure > 0) memory.count() += spared;
          until_failure = kNever;
          if (s == Status::ok) ++memory.count();
          return agree(exchange, Status::ok) == Status::ok ? 0 : 1;
        },
        kNothing);
    for (const int end : ends) ASSERT_EQ(end, 0) << "after " << k << " allocations";
    const int made = memory.count() % spared;
    ASSERT_TRUE(made == 0 || made == ranks) << made << " ranks have collectives after " << k << " allocations";
    all_spared = memory.count() >= spared;
    ASSERT_TRUE(!all_spared || made == ranks);
  }
}

TEST(NoMemory, AlltoallInPlaceOnOneRankTakesNoMemory) {
  Inherited memory(1);
  InheritedExchange exchange(memory, 0, 1);
  std::unique_ptr<Collectives> c;
  ASSERT_EQ(Collectives::create(exchange, {}, &c), Status::ok) << message();
  std::vector<int> x(1 << 16);
  std::iota(x.begin(), x.end(), 0);
  const std::vector<int> before = x;
  until_failure = 0;
  const Status s = c->alltoall(nullptr, x.data(), x.size() * sizeof(int));
  until_failure = kNever;
  EXPECT_EQ(s, Status::ok);
  EXPECT_EQ(x, before);
}

}  // namespace
}  // namespace stretto::node
