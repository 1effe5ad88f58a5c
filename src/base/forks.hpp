// A child must recognise its parent's objects.
#pragma once

#include <atomic>

namespace stretto {

// Forks since the first call.
unsigned fork_generation() noexcept;

extern std::atomic<unsigned> fork_counter;

// fork_generation() returned `born` in this process.
inline bool is_of_generation(unsigned born) noexcept { return fork_counter.load(std::memory_order_relaxed) == born; }

}  // namespace stretto
