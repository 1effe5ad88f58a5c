// Memory that others may still access stays until the process ends.
#pragma once

#include <atomic>
#include <memory>

namespace stretto {

// Leak checkers reach a Node by its member `next`. Null is legal.
template <class Node>
void retain(std::unique_ptr<Node> node) noexcept {
  static std::atomic<Node*> all{nullptr};
  Node* const kept = node.release();
  if (kept == nullptr) return;
  kept->next = all.load(std::memory_order_relaxed);
  while (!all.compare_exchange_weak(kept->next, kept, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace stretto
