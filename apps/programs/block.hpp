// Points of a box that lie in memory one after the other.
#pragma once

#include <array>
#include <cstddef>

namespace stretto::programs {

using Three = std::array<int, 3>;  // of the three directions; points of the last one lie side by side

// A block with one layer of its neighbours' points around it.
class Block {
 public:
  Three count{};

  std::size_t points() const { return size(0, 0) * size(1, 0) * size(2, 0); }
  std::size_t storage() const { return size(0, 2) * stride(0); }  // with the layer
  std::size_t stride(int direction) const {
    return direction == 0 ? size(1, 2) * size(2, 2) : direction == 1 ? size(2, 2) : 1;
  }
  // Coordinates from -1, which is in the layer, to count.
  std::size_t at(int z, int y, int x) const {
    return static_cast<std::size_t>(z + 1) * stride(0) + static_cast<std::size_t>(y + 1) * stride(1) +
           static_cast<std::size_t>(x + 1);
  }

 private:
  std::size_t size(std::size_t direction, int more) const { return static_cast<std::size_t>(count[direction] + more); }
};

}  // namespace stretto::programs
