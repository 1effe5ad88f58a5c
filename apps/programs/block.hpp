// Points of a box, consecutive in memory.
#pragma once

#include <array>
#include <cstddef>

namespace stretto::programs {

using Three = std::array<int, 3>;  // by direction; points of the last direction are adjacent

// A block surrounded by one layer of its neighbours' points.
class Block {
 public:
  Three count{};

  std::size_t points() const { return size(0, 0) * size(1, 0) * size(2, 0); }
  std::size_t storage() const { return size(0, 2) * stride(0); }  // including the layer
  std::size_t stride(int direction) const {
    return direction == 0 ? size(1, 2) * size(2, 2) : direction == 1 ? size(2, 2) : 1;
  }
  // Coordinates run from -1, which is in the layer, to count.
  std::size_t at(int z, int y, int x) const {
    return static_cast<std::size_t>(z + 1) * stride(0) + static_cast<std::size_t>(y + 1) * stride(1) +
           static_cast<std::size_t>(x + 1);
  }

 private:
  std::size_t size(std::size_t direction, int more) const { return static_cast<std::size_t>(count[direction] + more); }
};

}  // namespace stretto::programs
