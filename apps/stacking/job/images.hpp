// Sources of a rank's images.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "job/options.hpp"
#include "stack/images.hpp"

namespace stretto::stacking {

// One rank's images, and facts about all images.
struct Images {
  Shape shape;  // of all images together
  stretto_type type = STRETTO_F32;
  Share share;                  // this rank's
  std::vector<std::byte> data;  // share.count arrays of `values` values
  std::size_t values = 0;       // of an image, tiling included
  std::string origin;           // description of the source
  double cell_km = 0;           // size of a pixel; 0: unknown
};

// Collective. If rank 0 finds the file or the output directory wrong, it throws a Problem, and the others throw an
// empty Problem, before any rank computes or reads.
void check_together(MPI_Comm comm, const Options& options);

// Collective: reads this rank's share of the file, or migrates its share of the shots.
Images obtain(MPI_Comm comm, const Options& options);

}  // namespace stretto::stacking
