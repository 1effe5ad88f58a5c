#include "backend/peer/memory.hpp"

#include "base/guarded.hpp"

namespace stretto::backend {
namespace {

constexpr Purpose kToReach("to reach that of other processes' devices");

}  // namespace

Status PeerMemory::refused(int error, const char* what) const noexcept {
  return fail(Status::unsupported, "device {}, {}: CUDA error {}: {}", device_.number(), what, error,
              device_.plugin().error_text(error));
}

Status PeerMemory::lend(const void* p, device::MemoryHandle* handle, std::uint64_t* offset) noexcept {
  std::byte* const base = device_.share(p);
  if (base == nullptr) return fail(Status::internal, std::string_view("memory between devices is of no pool"));
  *offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(p) - base);
  if (const auto at = lent_.find(base); at != lent_.end()) {
    *handle = at->second;
    return Status::ok;
  }
  if (const int e = device_.plugin().export_memory(base, handle); e != 0)
    return refused(e, "memory for another process");
  return guarded(kToReach, [&] { lent_.emplace(base, *handle); });
}

Status PeerMemory::open(const device::MemoryHandle& handle, std::byte** base) noexcept {
  return guarded(kToReach, [&] {
    const std::string key(reinterpret_cast<const char*>(handle.bytes), sizeof handle.bytes);
    const auto [at, fresh] = opened_.emplace(key, nullptr);
    const int e = fresh ? device_.plugin().import_memory(handle, &at->second) : 0;
    if (e != 0) opened_.erase(at);
    if (e != 0) return refused(e, "memory of another process");
    *base = static_cast<std::byte*>(at->second);
    return Status::ok;
  });
}

void PeerMemory::close_all() noexcept {
  for (const auto& [handle, base] : opened_) static_cast<void>(device_.plugin().end_import(base));
  opened_.clear();
}

}  // namespace stretto::backend
