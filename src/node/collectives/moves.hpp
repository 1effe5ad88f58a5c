#pragma once

#include <cstddef>
#include <vector>

namespace stretto::node {

// A refused pull is repeated in a second pass.
enum class PullState : char { pending, done, refused };

struct Pull {
  int source = 0;
  std::size_t index = 0;
  std::size_t offset = 0;
  std::byte* to = nullptr;
};

struct Moves {
  const std::byte* exposed = nullptr;
  std::vector<std::size_t> offsets;
  std::size_t span = 0;
  std::size_t indices = 1;  // most blocks that any rank exposes; equal on every rank
  std::vector<int> readers;
  std::vector<Pull> pulls;
  bool by_kernel = true;   // the kernel may copy private blocks of at least Options::kernel bytes
  bool passes_on = false;  // this rank exposes the data that it pulls
  std::size_t bytes = 0;
  std::vector<PullState> states;
  const std::byte* own = nullptr;
  std::byte* own_to = nullptr;  // null: it is in place

  void clear() noexcept {
    exposed = nullptr;
    offsets.clear();
    span = 0;
    indices = 1;
    readers.clear();
    pulls.clear();
    by_kernel = true;
    passes_on = false;
    bytes = 0;
    own = nullptr;
    own_to = nullptr;
  }
};

}  // namespace stretto::node
