// Injected allocation failures: one allocation fails on the requesting thread, by operator new and (not under
// sanitizers) by aligned_alloc and posix_memalign.
#pragma once

namespace stretto::tests {

// While an object lives, the n-th allocation (from 0) of this thread fails; others succeed.
class Scarce {
 public:
  explicit Scarce(long n) noexcept;
  ~Scarce();
  Scarce(const Scarce&) = delete;
  Scarce& operator=(const Scarce&) = delete;
  bool struck() const noexcept;  // it has failed
};

// While one lives, allocations of this thread do not count.
class Plenty {
 public:
  Plenty() noexcept;
  ~Plenty();
  Plenty(const Plenty&) = delete;
  Plenty& operator=(const Plenty&) = delete;

 private:
  bool before_;
};

}  // namespace stretto::tests
