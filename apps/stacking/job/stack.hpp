// Stacks the ranks' images by every requested schedule and payload, and measures each.
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
  std::vector<std::byte> stack;  // of the last row summed in code space, else of the last row
  Row shown;                     // that row
  Reference reference;           // on rank 0
};

// Collective: runs every schedule with every payload on a single value, so that an unknown name fails before the work
// begins.
void probe(MPI_Comm comm, const Options& options);

// Basis of errors.
struct Budget {
  double range = 0;  // of the finite values of all images, excluding fill values
  double eps = 0;    // allowed error per image
  double fills_from = std::numeric_limits<double>::infinity();  // values of at least this magnitude are fill values
};

// Collective. Throws Problem on every rank if the bound is relative and the images have no range.
Budget budget_of_all(MPI_Comm comm, const Options& options, const Images& images);

// Collective. The rows' figures are complete on rank 0. Throws Problem with stretto's message when a collective fails.
Result stack_all(MPI_Comm comm, const Options& options, const Images& images, const Budget& budget);

}  // namespace stretto::stacking
