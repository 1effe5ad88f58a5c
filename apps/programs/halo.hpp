// The layer around a block, filled with the neighbours' outermost points: one message for each face that is shared.
#pragma once

#include <mpi.h>

#include <array>
#include <vector>

#include "grid.hpp"

namespace stretto::programs {

// A face that is shared with a neighbour: the points that are sent, and the layer that is received, as derived datatypes of a field.
struct Face {
  int neighbour = MPI_PROC_NULL;
  int sent_tag = 0, received_tag = 0;  // the direction in which a message travels
  std::size_t points = 0;
  MPI_Datatype sent = MPI_DATATYPE_NULL, received = MPI_DATATYPE_NULL;
};

class Halo {
 public:
  Halo(const Grid& grid, MPI_Datatype element);
  ~Halo();
  Halo(const Halo&) = delete;
  Halo& operator=(const Halo&) = delete;

  // Direction by direction, by MPI_Sendrecv.
  void exchange(void* field) const;

  // All directions at once. Between the two calls the field is read alone, and its layer not at all.
  void start(void* field);
  void finish();

  const std::vector<Face>& faces() const { return faces_; }
  std::size_t points() const;  // that this rank sends

 private:
  MPI_Comm comm_;
  std::array<Face, 6> all_;  // with those that no neighbour shares
  std::vector<Face> faces_;  // those that one does
  std::vector<MPI_Request> requests_;
};

}  // namespace stretto::programs
