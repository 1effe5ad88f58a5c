// Threads for the codec: a Parallel that starts one thread for each part but the first, and waits for all.
#pragma once

#include <thread>
#include <vector>

#include "codec/codec.hpp"

namespace stretto::bench {

inline codec::Parallel threads(int width) {
  codec::Parallel p;
  p.width = width;
  p.run = [](void*, int n, void (*task)(void*, int), void* arg) {
    std::vector<std::jthread> others;
    others.reserve(static_cast<std::size_t>(n));
    for (int i = 1; i < n; ++i) others.emplace_back(task, arg, i);
    if (n > 0) task(arg, 0);
  };
  return p;
}

}  // namespace stretto::bench
