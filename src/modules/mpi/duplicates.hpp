// Duplicates made ahead of a transport. With several threads that call MPI, this is safe only where the program makes a
// communicator: elsewhere it could wait for another thread's agreement on an id.
#pragma once

#include <mpi.h>

#include <array>

namespace stretto::modules {

// Returns the communicator's errors as codes. Other threads notice only by an error on it.
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
  ~Duplicates();

  // Makes all that a transport takes. False, on all ranks: the MPI failed on a rank, and there are none. Collective
  // over `parent`.
  bool make(MPI_Comm parent) noexcept;
  bool ready() const noexcept { return left_ > 0; }

  // A duplicate made before, else made here, collectively over `parent`. Returns the MPI's code.
  int take(MPI_Comm parent, MPI_Comm* duplicate) noexcept;

 private:
  std::array<MPI_Comm, 2> all_{};  // transport, with the carrier for agreements; carrier for data
  std::size_t left_ = 0;
};

}  // namespace stretto::modules
