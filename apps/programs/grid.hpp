// A box of points cut among the ranks by a Cartesian grid of processes; the last direction is the one in which points lie side by side.
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

// The part of one of `parts` processes; the first ones have a point more where the points do not divide.
Part part_of(int points, int parts, int index);

// How MPI_Dims_create lays out so many processes in the first `dimensions` directions; 1 in the others.
Three process_grid(int processes, int dimensions);

// "8x3x1", "8x3" or "8": processes of each direction, 1 in those that are not named. Throws Refused where the text is no
// such grid, or has another number of processes than `processes`.
Three given_grid(const std::string& text, int processes);

class Grid {
 public:
  // Collective; `dims` has as many processes as there are ranks. Throws Refused where a direction has fewer points than
  // processes.
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

  // Side 0 is towards smaller coordinates. MPI_PROC_NULL at an end, and in a direction that is not cut.
  int neighbour(int direction, int side) const { return neighbours_[static_cast<std::size_t>(2 * direction + side)]; }

 private:
  Three points_, dims_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::array<int, 6> neighbours_{};
};

}  // namespace stretto::programs
