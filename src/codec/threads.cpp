// Threads for the codec: started for each call, one for each part but the first, which the caller does; or communication cores.
#include <algorithm>
#include <array>
#include <thread>

#include "base/communication_cores.hpp"
#include "codec/driver.hpp"

namespace stretto::codec {
namespace {

void run_on_threads(void*, int n, void (*task)(void* arg, int i), void* arg) {
  std::array<std::thread, kMaxParts> others;
  int begun = 1;
  try {
    for (; begun < n; ++begun) others[static_cast<std::size_t>(begun)] = std::thread(task, arg, begun);
  } catch (...) {  // no more threads, or no memory for one: what is left is done here
  }
  task(arg, 0);
  for (int i = begun; i < n; ++i) task(arg, i);
  for (auto& other : others)
    if (other.joinable()) other.join();
}

void run_on_cores(void*, int n, void (*task)(void* arg, int i), void* arg) {
  CommunicationCores::mine().share(n, task, arg);
}

constexpr int most_cores = 63;

// By the number of cores: what a call has borrowed stays as it is when their number changes.
constexpr auto by_cores = [] {
  std::array<Parallel, most_cores + 1> made{};
  for (int cores = 0; cores <= most_cores; ++cores)
    made[static_cast<std::size_t>(cores)] = {cores + 1, run_on_cores, nullptr};
  return made;
}();

}  // namespace

const Parallel* communication_cores() noexcept {
  const int cores = std::min(CommunicationCores::mine().threads(), most_cores);
  return cores == 0 ? nullptr : &by_cores[static_cast<std::size_t>(cores)];
}

Parallel threads(int width) noexcept { return {width, run_on_threads, nullptr}; }

}  // namespace stretto::codec
