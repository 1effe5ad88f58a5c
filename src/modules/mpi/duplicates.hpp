// Duplicates of a communicator that are made before a transport needs them. To make one, ranks agree on an id. Where
// several threads call MPI, that may be done only where the program makes a communicator itself: inside another
// collective, it could wait for an agreement of another thread.
#pragma once

#include <mpi.h>

#include <array>

namespace stretto::modules {

// While it lives, errors of the communicator come back as codes. Its own error handler is restored at the end. Another
// thread sees the change only if it makes an error on the communicator meanwhile.
class ErrorsReturned {
 public:
  explicit ErrorsReturned(MPI_Comm comm) noexcept;
  ~ErrorsReturned();
  ErrorsReturned(const ErrorsReturned&) = delete;
  ErrorsReturned& operator=(const ErrorsReturned&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

class Duplicates {
 public:
  Duplicates() = default;
  Duplicates(Duplicates&& other) noexcept;
  Duplicates& operator=(Duplicates&&) = delete;
  ~Duplicates();  // frees the remaining ones, before MPI_Finalize

  // As many as a transport takes. Collective over `parent`. False, on all ranks: the MPI failed on a rank, and there are
  // none.
  bool make(MPI_Comm parent) noexcept;
  bool ready() const noexcept { return left_ > 0; }

  // One of these, or, where none is left, a new duplicate of `parent`: collective over it then. Returns the MPI's code.
  int take(MPI_Comm parent, MPI_Comm* duplicate) noexcept;

 private:
  std::array<MPI_Comm, 3> all_{};  // of the transport, and of its carriers for agreements and for data
  std::size_t left_ = 0;
};

}  // namespace stretto::modules
