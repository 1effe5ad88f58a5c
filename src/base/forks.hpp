// Forks between this process and the one that first asked: a child tells by them that something is its parent's.
#pragma once

#include <atomic>

namespace stretto {

unsigned fork_generation() noexcept;
// The number behind fork_generation(), which changes in a child.
const std::atomic<unsigned>& fork_counter() noexcept;

}  // namespace stretto
