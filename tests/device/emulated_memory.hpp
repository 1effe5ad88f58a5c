// Memory of the emulated device. A device's memory has two addresses: the one that is given out, which nobody can touch,
// and one for kernels. What was never written holds a pattern. Accesses are written down with the time of who made them,
// so that two that nothing orders are found, whatever the order in which they happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/plugin.hpp"

namespace stretto::device {

// How far each stream and each thread of the host had come, as far as somebody knows (a vector clock).
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

// Who touches memory, and what for.
struct Visitor {
  std::size_t who;
  const Time& now;
  const char* what;
};

class EmulatedMemory {
 public:
  // Null where the system has none.
  void* allocate(MemoryKind kind, int device, std::size_t bytes);
  bool release(void* p);

  // Memory of the kind device, for another process and from one; the memory goes when the last of them has ended.
  bool lend(void* p, MemoryHandle* handle) const;
  void* borrow(const MemoryHandle& handle, int device);
  Location locate(const void* p) const;
  std::size_t held(MemoryKind kind) const;
  bool empty() const { return allocations_.empty(); }

  // The address for kernels of what was given out as `p`; another address stays as it is.
  template <class T>
  T* real(T* p) const {
    return static_cast<T*>(find_real(p));
  }

  // An access by a stream, or by the host in a stream's name.
  void touch(const void* p, std::size_t bytes, bool writes, const Visitor& visitor);

  long races() const { return races_; }
  const std::string& first_race() const { return first_race_; }
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
    int file = -1;          // of memory of a device
    bool borrowed = false;  // from another process
  };
  void* map(MemoryKind kind, int device, std::size_t size, int file, bool borrowed);
  void* find_real(const void* p) const;
  const Allocation* find(const void* p) const;

  std::map<std::uintptr_t, Allocation> allocations_;
  long races_ = 0;
  std::string first_race_;
};

}  // namespace stretto::device
