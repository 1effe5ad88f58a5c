// The layer around a block, filled with the neighbours' outermost points: one message per shared face.
#pragma once

#include <mpi.h>

#include <array>
#include <vector>

#include "grid.hpp"

namespace stretto::programs {

// A face shared with a neighbour: the sent points and the received layer, as derived datatypes of a field.
struct Face {
  int neighbour = MPI_PROC_NULL;
  int sent_tag = 0, received_tag = 0;  // identifies a message's direction
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

  // All directions at once. Between the two calls the field must not be written, and its layer not be accessed.
  void start(void* field);
  void finish();

  const std::vector<Face>& faces() const { return faces_; }
  std::size_t points() const;  // sent by this rank

 private:
  MPI_Comm comm_;
  std::array<Face, 6> all_;  // including faces without a neighbour
  std::vector<Face> faces_;  // faces with a neighbour
  std::vector<MPI_Request> requests_;
};

}  // namespace stretto::programs
