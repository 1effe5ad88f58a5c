// Forks between this process and the one that first asked: a child tells by them that something is its parent's.
#pragma once

#include <atomic>

namespace stretto {

// Begins to count, and gives the number of now.
unsigned fork_generation() noexcept;

// Where the number is.
extern std::atomic<unsigned> fork_counter;

// Whether this process is the one that fork_generation() gave `born` to.
inline bool is_of_generation(unsigned born) noexcept { return fork_counter.load(std::memory_order_relaxed) == born; }

}  // namespace stretto
