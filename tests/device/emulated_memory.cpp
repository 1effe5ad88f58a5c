#include "emulated_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace stretto::device {
namespace {

constexpr std::size_t page = 4096;
constexpr int never_written = 0xCB;

constexpr std::size_t pages(std::size_t bytes) { return (bytes + page) / page * page; }  // one at least

}  // namespace

void* EmulatedMemory::allocate(MemoryKind kind, int device, std::size_t bytes) {
  const int file = memfd_create("emulated device", MFD_CLOEXEC);
  const std::size_t size = pages(bytes);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) return nullptr;
  void* real = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* given = kind != MemoryKind::device ? real : mmap(nullptr, size, PROT_NONE, MAP_SHARED, file, 0);
  close(file);
  if (real == MAP_FAILED || given == MAP_FAILED) return nullptr;
  std::memset(real, never_written, size);
  allocations_[reinterpret_cast<std::uintptr_t>(given)] = {
      kind, device, static_cast<std::byte*>(given), static_cast<std::byte*>(real), size, {}};
  return given;
}

bool EmulatedMemory::release(void* p) {
  const auto at = allocations_.find(reinterpret_cast<std::uintptr_t>(p));
  if (at == allocations_.end()) return false;
  const Allocation& a = at->second;
  if (a.given != a.real) munmap(a.given, a.bytes);
  munmap(a.real, a.bytes);
  allocations_.erase(at);
  return true;
}

const EmulatedMemory::Allocation* EmulatedMemory::find(const void* p) const {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  auto at = allocations_.upper_bound(address);
  if (at == allocations_.begin()) return nullptr;
  const Allocation& a = (--at)->second;
  return address < at->first + a.bytes ? &a : nullptr;
}

Location EmulatedMemory::locate(const void* p) const {
  const Allocation* a = find(p);
  return a ? Location{a->kind, a->device} : Location{MemoryKind::host, 0};
}

std::size_t EmulatedMemory::held(MemoryKind kind) const {
  std::size_t bytes = 0;
  for (const auto& [address, a] : allocations_) bytes += a.kind == kind ? a.bytes : 0;
  return bytes;
}

void* EmulatedMemory::find_real(const void* p) const {
  const Allocation* a = find(p);
  auto* at = static_cast<std::byte*>(const_cast<void*>(p));
  return a ? a->real + (at - a->given) : at;
}

void EmulatedMemory::touch(const void* p, std::size_t bytes, bool writes, const Visitor& visitor) {
  auto* a = const_cast<Allocation*>(find(p));
  if (!a || bytes == 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(p), end = begin + bytes;
  for (const Access& other : a->accesses) {
    if (other.end <= begin || end <= other.begin || !(writes || other.writes)) continue;
    if (other.who == visitor.who || visitor.now.of(other.who) >= other.when) continue;
    if (races_++ == 0) {
      first_race_ = std::string(visitor.what) + (writes ? " writes" : " reads") + " what " + other.what +
                    (other.writes ? " writes" : " reads") + ", and nothing orders them";
    }
  }
  if (writes) {
    std::erase_if(a->accesses, [&](const Access& other) { return begin <= other.begin && other.end <= end; });
  } else {
    std::erase_if(a->accesses, [&](const Access& other) {
      return !other.writes && other.who == visitor.who && begin <= other.begin && other.end <= end;
    });
  }
  a->accesses.push_back({begin, end, writes, visitor.who, visitor.now.of(visitor.who), visitor.what});
}

void EmulatedMemory::forget() {
  races_ = 0;
  first_race_.clear();
}

}  // namespace stretto::device
