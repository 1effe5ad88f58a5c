// An octree over a cube of root blocks, by its leaves. Face neighbours differ by at most one level.
#pragma once

#include <cstdint>
#include <vector>

#include "block.hpp"

namespace stretto::programs {

struct Leaf {
  Three at{};  // the first corner, in blocks of the finest level
  int level = 0;
};

enum class Kind : std::uint8_t { wall, same, finer, coarser };

// What lies at a face of the leaf `to`: the leaf `from`. A finer one covers the face's quarter `quarter`; the face lies
// in that quarter of a coarser one's.
struct Link {
  int to = 0, from = 0;
  std::uint8_t direction = 0, side = 0, quarter = 0;  // side 0 is towards smaller coordinates
  Kind kind = Kind::wall;

  // The same face as `from` has it.
  Link mirrored() const;
};

class Tree {
 public:
  // The roots alone. A side has `roots` of them, and at most 2^20 blocks of the finest level.
  Tree(int roots, int levels);

  // In the order of a Z-curve, in which the leaves below any block are consecutive.
  const std::vector<Leaf>& leaves() const { return leaves_; }
  int count() const { return static_cast<int>(leaves_.size()); }
  int levels() const { return levels_; }
  double side(const Leaf& leaf) const { return 1.0 / (static_cast<double>(roots_) * (1 << leaf.level)); }

  // The coordinate of the first corner, in a cube of side 1.
  double low(const Leaf& leaf, int direction) const {
    return static_cast<double>(leaf.at[static_cast<std::size_t>(direction)]) / (static_cast<double>(roots_) * span(0));
  }

  // The first of eight siblings that are all leaves, of which `leaf` is one; -1 if there are none.
  int family(int leaf) const;

  // Appends the links of all six faces. Throws std::logic_error if levels differ by more than one.
  void add_links(int leaf, std::vector<Link>* links) const;

  // Marks are 1: becomes its eight children, -1: becomes its parent with its whole family, 0: stays. Returns where each
  // leaf's successors start among the new leaves, and their number at the end. Throws std::logic_error if the new
  // leaves do not fill the cube.
  std::vector<int> apply(const std::vector<std::int8_t>& marks);

 private:
  int find(const Three& at) const;
  int span(int level) const { return 1 << (levels_ - level); }  // in blocks of the finest level

  int roots_, levels_;
  std::vector<Leaf> leaves_;
};

}  // namespace stretto::programs
