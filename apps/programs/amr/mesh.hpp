// Blocks of an adaptive mesh, divided among the ranks along the tree's Z-curve. Every rank knows the whole tree; the
// values of a block, and whether it should be refined, are known to its owner alone.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "cells.hpp"
#include "tree.hpp"

namespace stretto::programs {

// Where a rank's time goes. What a phase sends is counted: messages or collective calls, and their bytes.
enum Phase : std::uint8_t {
  kStencil,
  kGhosts,   // messages between neighbours, and copies
  kChange,   // MPI_Allreduce of the largest change of a step
  kMarks,    // MPI_Allreduce of the blocks' marks, and of how many were raised
  kRebuild,  // what each rank computes in a refinement
  kBalance,  // MPI_Alltoallv of blocks
  kSums,     // MPI_Allreduce of the sums of all variables
  kPhases
};
struct Use {
  double seconds = 0, calls = 0, bytes = 0;
};
using Uses = std::array<Use, kPhases>;

// Blocks that the surface cuts are refined.
struct Sphere {
  std::array<double, 3> centre{};
  double radius = 0;
  bool cuts(const std::array<double, 3>& low, double side) const;
};

class Mesh {
 public:
  // Collective, as are the functions below. The roots, with values of 0.
  Mesh(int roots, int levels, const Shape& shape);

  // Values at the centres of cells: of(variable, {z, y, x}).
  void fill(const std::function<double(int, const std::array<double, 3>&)>& of);

  // Refines and coarsens by the sphere until nothing changes, at most once for each level and once more, and moves
  // blocks so that each rank has the same number, or one more.
  void refine(const Sphere& sphere);

  // A step: ghost cells, then the stencil. Returns the largest change of all ranks.
  double step();

  // The integral of each variable.
  std::vector<double> sums();

  // Over all bits, equal for every number of ranks.
  std::uint64_t checksum() const;

  int blocks() const { return tree_.count(); }
  int largest_share() const { return largest_range(cuts_); }
  std::vector<int> blocks_by_level() const;
  Uses& uses() { return uses_; }

 private:
  using Cuts = std::vector<int>;  // rank r has the leaves from cuts[r] to cuts[r + 1]

  struct Peer {
    int rank = 0;
    std::vector<Link> receives, sends;  // as the owner of `to` sees them, in one order on both ranks
    std::vector<double> in, out;
  };

  int first() const { return cuts_[static_cast<std::size_t>(rank_)]; }
  int last() const { return cuts_[static_cast<std::size_t>(rank_) + 1]; }
  double* block(int leaf) { return blocks_[static_cast<std::size_t>(leaf - first())].data(); }
  const double* block(int leaf) const { return blocks_[static_cast<std::size_t>(leaf - first())].data(); }
  Cuts even_cuts() const;
  Cuts cuts_for(std::int64_t successors) const;
  static int largest_range(const Cuts& cuts);
  void check_size(double blocks);
  void plan();
  void exchange();
  bool adapt(const Sphere& sphere);
  void mark(const Sphere& sphere);
  bool raise_marks();
  void change_blocks();
  void move(Cuts cuts);

  Shape shape_;
  Tree tree_;
  int rank_, ranks_;
  double room_ = 0;  // blocks for which there is memory
  Cuts cuts_;
  std::vector<std::vector<double>> blocks_;  // of this rank
  std::vector<Link> links_;                  // of these
  std::vector<Peer> peers_;
  std::vector<std::int8_t> marks_;  // of all leaves
  std::vector<double> scratch_;
  Uses uses_;
};

}  // namespace stretto::programs
