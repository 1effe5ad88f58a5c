// Memory that runs out on purpose: an allocation fails, once, on the thread that asked for it: by operator new, and (not under
// sanitizers) by aligned_alloc and posix_memalign.
#pragma once

namespace stretto::tests {

// While one lives, the n-th allocation (from 0) that this thread makes from now on finds no memory; others are as ever.
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
