// Stacks the ranks' images by every schedule and payload asked for, and measures each.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <limits>
#include <vector>

#include "job/images.hpp"
#include "job/options.hpp"
#include "stack/quality.hpp"
#include "stack/row.hpp"

namespace stretto::stacking {

struct Result {
  Setting setting;
  std::vector<Row> rows;         // the first is MPI_Allreduce
  std::vector<std::byte> stack;  // of the last row that summed in code space, else of the last row
  Row shown;                     // that row
  Reference reference;           // on rank 0
};

// Collective: runs every schedule with every payload on a single value, so that an unknown name is told before the work
// begins.
void probe(MPI_Comm comm, const Options& options);

// What errors are measured by.
struct Budget {
  double range = 0;                                             // of the finite values of all images but fill values
  double eps = 0;                                               // error that each image may have
  double fills_from = std::numeric_limits<double>::infinity();  // values of this magnitude and more are fill values
};

// Collective. Throws Problem on every rank where the images have no range that the bound could be relative to.
Budget budget_of_all(MPI_Comm comm, const Options& options, const Images& images);

// Collective. Rows' figures are complete on rank 0. Throws Problem with stretto's message when a collective fails.
Result stack_all(MPI_Comm comm, const Options& options, const Images& images, const Budget& budget);

}  // namespace stretto::stacking
