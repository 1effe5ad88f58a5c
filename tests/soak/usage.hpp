// Resources of a long-running process: memory and descriptors, recorded after each cycle.
#pragma once

#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace soak {

struct Held {
  long resident = 0;     // bytes in memory
  long live = 0;         // bytes that the program has allocated and not freed
  long descriptors = 0;  // that are open
};

inline Held held_now() {
  Held held;
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*d %ld", &pages) == 1) held.resident = pages * sysconf(_SC_PAGESIZE);
    std::fclose(file);
  }
  const auto heap = mallinfo2();
  held.live = static_cast<long>(heap.uordblks + heap.hblkhd);
  if (DIR* all = opendir("/proc/self/fd")) {
    while (readdir(all) != nullptr) ++held.descriptors;
    closedir(all);
  }
  return held;
}

// Compares the last fifth of the cycles with the second fifth; the first warms up. Recording allocates nothing: with
// many cycles every second, fourth, ... is kept.
class Usage {
 public:
  Usage() { looks_.reserve(kMost); }
  void look() {
    if (cycles_++ % every_ != 0) return;
    if (looks_.size() == kMost) {
      for (std::size_t i = 0; i < kMost / 2; ++i) looks_[i] = looks_[2 * i];
      looks_.resize(kMost / 2);
      every_ *= 2;
    }
    looks_.push_back(held_now());
  }
  std::size_t cycles() const { return cycles_; }
  Held before() const { return median(looks_.size() / 5, 2 * looks_.size() / 5); }
  Held after() const { return median(4 * looks_.size() / 5, looks_.size()); }

 private:
  Held median(std::size_t from, std::size_t to) const {
    if (from >= to) return looks_.empty() ? Held{} : looks_.back();
    const auto of = [&](long Held::*member) {
      std::vector<long> v;
      for (std::size_t i = from; i < to; ++i) v.push_back(looks_[i].*member);
      std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
      return v[v.size() / 2];
    };
    return {of(&Held::resident), of(&Held::live), of(&Held::descriptors)};
  }
  static constexpr std::size_t kMost = 4096;
  std::vector<Held> looks_;
  std::size_t cycles_ = 0, every_ = 1;
};

}  // namespace soak
