// Memory of the emulated device. Device memory has a public address, which nobody can touch, and an address for
// kernels. Unwritten memory holds a pattern. Accesses are recorded with vector clocks, so that unordered pairs are
// found in any order of execution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/plugin.hpp"

namespace stretto::device {

// A vector clock: the known progress of each stream and host thread.
class Time {
 public:
  std::uint64_t of(std::size_t who) const { return who < at_.size() ? at_[who] : 0; }
  void tick(std::size_t who) { grow(who) += 1; }
  void learn(const Time& other) {
    for (std::size_t i = 0; i < other.at_.size(); ++i)
      if (grow(i) < other.at_[i]) at_[i] = other.at_[i];
  }

 private:
  std::uint64_t& grow(std::size_t who) {
    if (who >= at_.size()) at_.resize(who + 1);
    return at_[who];
  }
  std::vector<std::uint64_t> at_;
};

// A stream or host that accesses memory, and the purpose.
struct Visitor {
  std::size_t who;
  const Time& now;
  const char* what;
};

class EmulatedMemory {
 public:
  // Null if the system has no memory.
  void* allocate(MemoryKind kind, int device, std::size_t bytes);
  bool release(void* p);
  // Released, but kernels may use it until forget().
  bool retire(void* p);

  // Device memory for or from another process; lives until its last user ends.
  bool lend(void* p, MemoryHandle* handle) const;
  void* borrow(const MemoryHandle& handle, int device);
  Location locate(const void* p) const;
  std::size_t held(MemoryKind kind) const;
  bool empty() const { return allocations_.empty(); }

  // The kernels' address of public address `p`; other addresses are unchanged.
  template <class T>
  T* real(T* p) const {
    return static_cast<T*>(find_real(p));
  }

  // Records an access by a stream, or by the host for a stream.
  void touch(const void* p, std::size_t bytes, bool writes, const Visitor& visitor);

  long races() const { return races_; }
  const std::string& first_race() const { return first_race_; }
  // Forgets races, and unmaps retired memory.
  void forget();

 private:
  struct Access {
    std::uintptr_t begin, end;
    bool writes;
    std::size_t who;
    std::uint64_t when;
    const char* what;
  };
  struct Allocation {
    MemoryKind kind;
    int device;
    std::byte* given;
    std::byte* real;
    std::size_t bytes;
    std::vector<Access> accesses;
    int file = -1;          // of device memory
    bool borrowed = false;  // from another process
    bool retired = false;
  };
  void* map(MemoryKind kind, int device, std::size_t size, int file, bool borrowed);
  void* find_real(const void* p) const;
  const Allocation* find(const void* p) const;

  std::map<std::uintptr_t, Allocation> allocations_;
  long races_ = 0;
  std::string first_race_;
};

}  // namespace stretto::device
