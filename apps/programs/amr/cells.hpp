// The values of a block of cells, and what neighbours, children and parents take from them.
#pragma once

#include <cstdint>
#include <vector>

#include "block.hpp"
#include "tree.hpp"

namespace stretto::programs {

// A block has `side`^3 cells of each variable, in a layer of ghost cells. `side` is even.
class Shape {
 public:
  Shape(int side, int variables) : block_{{side, side, side}}, variables_(variables) {}
  const Block& block() const { return block_; }
  int side() const { return block_.count[0]; }
  int variables() const { return variables_; }
  std::size_t values() const { return block_.points() * static_cast<std::size_t>(variables_); }  // without ghosts
  std::size_t storage() const { return block_.storage() * static_cast<std::size_t>(variables_); }
  std::size_t face(Kind kind) const {  // values of a message
    const auto edge = static_cast<std::size_t>(kind == Kind::same ? side() : side() / 2);
    return edge * edge * static_cast<std::size_t>(variables_);
  }

 private:
  Block block_;
  int variables_;
};

// Every cell becomes the mean of itself and its six neighbours. Returns the largest change.
double average(const Shape& shape, double* block, std::vector<double>* scratch);

// The values that a face needs of the leaf beyond it: those of an equal leaf as they are, means of four of a finer one,
// and a quarter of a coarser one's. Returns the end of `out`.
double* pack(const Shape& shape, const Link& link, const double* from, double* out);

// Ghost cells of a face, of packed values; at a wall they are the block's own. Beside finer leaves a ghost is the mean
// of the cell at the face and of the four beyond, so that what a coarse cell gains the fine ones lose. Returns the end
// of `in`.
const double* unpack(const Shape& shape, const Link& link, const double* in, double* to);

// The values without ghosts. The ends of `out` and `in` are returned.
double* copy_out(const Shape& shape, const double* block, double* out);
const double* copy_in(const Shape& shape, const double* in, double* block);

// A child of a block has the values of its cells; a parent has the means of its children's.
void split(const Shape& shape, const double* parent, int octant, double* child);
void join(const Shape& shape, const double* child, int octant, double* parent);

// Adds the sum of each variable, times the volume of a cell.
void add_sums(const Shape& shape, const double* block, double volume, double* sums);

// Of all bits. Values have numbers from `first` on.
std::uint64_t checksum(const Shape& shape, const double* block, std::uint64_t first);

}  // namespace stretto::programs
