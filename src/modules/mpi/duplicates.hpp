// Duplicates of a communicator that are made before a transport needs them. To make one, ranks agree on an id. Where
// several threads call MPI, that may be done only where the program makes a communicator itself: inside another
// collective, it could wait for an agreement of another thread.
#pragma once

#include <mpi.h>

#include <array>

namespace stretto::modules {

class Duplicates {
 public:
  Duplicates() = default;
  Duplicates(Duplicates&& other) noexcept;
  Duplicates& operator=(Duplicates&&) = delete;
  ~Duplicates();  // frees the remaining ones, before MPI_Finalize

  // As many as a transport takes. Collective over `parent`. False: the MPI failed, and there are none.
  bool make(MPI_Comm parent) noexcept;
  bool ready() const noexcept { return left_ > 0; }

  // One of these, or, where none is left, a new duplicate of `parent`: collective over it then. Returns the MPI's code.
  int take(MPI_Comm parent, MPI_Comm* duplicate) noexcept;

 private:
  std::array<MPI_Comm, 3> all_{};  // of the transport, and of its carriers for agreements and for data
  std::size_t left_ = 0;
};

}  // namespace stretto::modules
