// Ranks as threads, each with an engine of its own over a thread carrier.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "carrier/threads.hpp"
#include "engine/engine.hpp"

namespace stretto::tests {

// Runs body(rank, engine) on `ranks` threads and waits for all. `wrap` may put another carrier around a rank's.
using Wrap = std::function<std::unique_ptr<carrier::Carrier>(int rank, std::unique_ptr<carrier::Carrier>)>;

inline void on_ranks(int ranks, const std::function<void(int, engine::Engine&)>& body, const Wrap& wrap = {}) {
  auto group = carrier::make_thread_group(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      auto carrier = carrier::make_thread_carrier(group, r);
      if (wrap) carrier = wrap(r, std::move(carrier));
      engine::Engine engine(*carrier);
      body(r, engine);
    });
  }
  for (auto& t : threads) t.join();
}

}  // namespace stretto::tests
