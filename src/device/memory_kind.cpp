#include "device/memory_kind.hpp"

#include <atomic>

namespace stretto::device {
namespace {

constexpr int kAsks = -1;
std::atomic<int> assumed{kAsks};

}  // namespace

void assume(const MemoryKind* kind) noexcept {
  assumed.store(kind != nullptr ? static_cast<int>(*kind) : kAsks, std::memory_order_relaxed);
}

Status told(const Plugin& plugin, int error, const char* what) noexcept {
  if (error == 0) return Status::ok;
  return fail(Status::internal, "{}: CUDA error {}: {}", what, error, plugin.error_text(error));
}

Status locate(const Plugin& plugin, const void* p, Location* where) noexcept {
  const int kind = assumed.load(std::memory_order_relaxed);
  if (kind == kAsks) return told(plugin, plugin.locate(p, where), "a pointer");
  where->kind = static_cast<MemoryKind>(kind);
  return told(plugin, plugin.current_device(&where->device), "the current device");
}

}  // namespace stretto::device
