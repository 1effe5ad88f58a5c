// Who exposes which blocks in a collective that only moves them, and who pulls them: one rank's part.
#pragma once

#include <cstddef>
#include <vector>

namespace stretto::node {

// What is left of a pull: its blocks come chunk by chunk, all is there, or this rank was not let at them.
enum class Left : char { chunks, nothing, refused };

struct Pull {
  int source = 0;
  std::size_t index = 0;   // of the block among those that the source exposes
  std::size_t offset = 0;  // of the block from the first byte that the source exposes
  std::byte* to = nullptr;
};

struct Moves {
  const std::byte* exposed = nullptr;  // first byte
  std::vector<std::size_t> offsets;    // of the exposed blocks; empty: nothing
  std::size_t span = 0;                // bytes from the first to the end of the last
  std::size_t indices = 1;             // most blocks that any rank exposes; the same on every rank
  std::vector<int> readers;            // who pulls from this rank
  std::vector<Pull> pulls;
  bool by_kernel = true;           // private blocks may be copied by the kernel, from Options::kernel bytes on
  bool passes_on = false;          // what it exposes is what it pulls
  std::size_t bytes = 0;           // of a block
  std::vector<Left> left;          // by pull
  const std::byte* own = nullptr;  // this rank's own block goes from here
  std::byte* own_to = nullptr;     // to there; null: it is where it belongs

  // Nothing, with the room of all lists kept.
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
