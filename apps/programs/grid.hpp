// A box of points, divided among the ranks by a Cartesian process grid. Points of the last direction are adjacent in
// memory.
#pragma once

#include <mpi.h>

#include <array>
#include <string>

#include "block.hpp"

namespace stretto::programs {

// "4 x 2 x 1".
std::string words(const Three& numbers);

// Points [first, first + count) of a direction.
struct Part {
  int first = 0, count = 0;
};

// Part `index` of `parts`; the first parts have an additional point if the points do not divide.
Part part_of(int points, int parts, int index);

// The layout by MPI_Dims_create in the first `dimensions` directions; 1 in the others.
Three process_grid(int processes, int dimensions);

// "8x3x1", "8x3" or "8": processes per direction, 1 in missing ones. Throws Refused if the text is malformed, or its
// processes are not `processes`.
Three given_grid(const std::string& text, int processes);

class Grid {
 public:
  // Collective; `dims` has a process per rank. Throws Refused if a direction has fewer points than processes.
  Grid(const Three& points, const Three& dims, bool periodic);
  ~Grid();
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  const Three& points() const { return points_; }
  const Three& dims() const { return dims_; }
  Part part(int direction) const { return part_of(rank_, direction); }
  Part part_of(int rank, int direction) const;
  Block block() const;

  // Side 0 is towards smaller coordinates. MPI_PROC_NULL at an end, and in an undivided direction.
  int neighbour(int direction, int side) const { return neighbours_[static_cast<std::size_t>(2 * direction + side)]; }

 private:
  Three points_, dims_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::array<int, 6> neighbours_{};
};

}  // namespace stretto::programs
