// One thread a part, but for the first, which the caller runs.
#include <array>
#include <thread>

#include "base/guarded.hpp"
#include "codec/driver.hpp"

namespace stretto::codec {
namespace {

void run_on_threads(void*, int n, void (*task)(void* arg, int i), void* arg) {
  std::array<std::thread, kMaxParts> others;
  int begun = 1;
  static_cast<void>(attempt([&] {  // where threads or memory lack, the caller runs the remaining parts
    for (; begun < n; ++begun) others[static_cast<std::size_t>(begun)] = std::thread(task, arg, begun);
  }));
  task(arg, 0);
  for (int i = begun; i < n; ++i) task(arg, i);
  for (auto& other : others)
    if (other.joinable()) other.join();
}

}  // namespace

Parallel threads(int width) noexcept { return {width, run_on_threads, nullptr}; }

}  // namespace stretto::codec
