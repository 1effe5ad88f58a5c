#include "emulated_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace stretto::device {
namespace {

constexpr std::size_t kPage = 4096;
constexpr int kNeverWritten = 0xCB;

constexpr std::size_t pages(std::size_t bytes) { return (bytes + kPage) / kPage * kPage; }  // one at least

}  // namespace

void* EmulatedMemory::allocate(MemoryKind kind, int device, std::size_t bytes) {
  const int file = memfd_create("emulated device", MFD_CLOEXEC);
  const std::size_t size = pages(bytes);
  void* const given =
      file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0 ? nullptr : map(kind, device, size, file, false);
  if (given)
    std::memset(real(given), kNeverWritten, size);
  else if (file >= 0)
    close(file);
  return given;
}

void* EmulatedMemory::map(MemoryKind kind, int device, std::size_t size, int file, bool borrowed) {
  void* real = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (real == MAP_FAILED) return nullptr;
  void* given = kind != MemoryKind::device ? real : mmap(nullptr, size, PROT_NONE, MAP_SHARED, file, 0);
  if (given == MAP_FAILED) {
    munmap(real, size);
    return nullptr;
  }
  if (kind != MemoryKind::device) close(std::exchange(file, -1));
  allocations_[reinterpret_cast<std::uintptr_t>(given)] = {
      kind, device, static_cast<std::byte*>(given), static_cast<std::byte*>(real), size, {}, file, borrowed};
  return given;
}

bool EmulatedMemory::release(void* p) {
  const auto at = allocations_.find(reinterpret_cast<std::uintptr_t>(p));
  if (at == allocations_.end()) return false;
  const Allocation& a = at->second;
  if (a.given != a.real) munmap(a.given, a.bytes);
  munmap(a.real, a.bytes);
  if (a.file >= 0) close(a.file);
  allocations_.erase(at);
  return true;
}

bool EmulatedMemory::retire(void* p) {
  const auto at = allocations_.find(reinterpret_cast<std::uintptr_t>(p));
  if (at == allocations_.end()) return false;
  at->second.retired = true;
  return true;
}

namespace {

struct Lent {
  pid_t process;
  int file;
  std::size_t bytes;
};

}  // namespace

bool EmulatedMemory::lend(void* p, MemoryHandle* handle) const {
  const auto at = allocations_.find(reinterpret_cast<std::uintptr_t>(p));
  if (at == allocations_.end() || at->second.file < 0 || at->second.borrowed) return false;
  const Lent lent{getpid(), at->second.file, at->second.bytes};
  *handle = {};
  std::memcpy(handle->bytes, &lent, sizeof lent);
  return true;
}

void* EmulatedMemory::borrow(const MemoryHandle& handle, int device) {
  Lent lent{};
  std::memcpy(&lent, handle.bytes, sizeof lent);
  if (lent.process == getpid()) return nullptr;  // as CUDA
  const std::string path = "/proc/" + std::to_string(lent.process) + "/fd/" + std::to_string(lent.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  void* const given = file < 0 ? nullptr : map(MemoryKind::device, device, lent.bytes, file, true);
  if (!given && file >= 0) close(file);
  return given;
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
  for (const auto& [address, a] : allocations_) bytes += a.kind == kind && !a.borrowed && !a.retired ? a.bytes : 0;
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
  for (auto at = allocations_.begin(); at != allocations_.end();) {
    const auto next = std::next(at);
    if (at->second.retired) release(at->second.given);
    at = next;
  }
}

}  // namespace stretto::device
