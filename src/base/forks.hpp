// A forked child must recognise its parent's objects.
#pragma once

#include <atomic>

namespace stretto {

unsigned fork_generation() noexcept;

extern std::atomic<unsigned> fork_counter;

inline bool is_of_generation(unsigned born) noexcept { return fork_counter.load(std::memory_order_relaxed) == born; }

}  // namespace stretto
