// Detection of forks: a child recognises objects of its parent.
#pragma once

#include <atomic>

namespace stretto {

// Number of forks between the first calling process and this one. The first call starts counting.
unsigned fork_generation() noexcept;

// Where the number is.
extern std::atomic<unsigned> fork_counter;

// True if fork_generation() returned `born` in this process.
inline bool is_of_generation(unsigned born) noexcept { return fork_counter.load(std::memory_order_relaxed) == born; }

}  // namespace stretto
