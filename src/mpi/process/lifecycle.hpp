// MPI functions that are not collectives.
#pragma once

#include <mpi.h>

namespace stretto::mpi {

// Before MPI_Init. False: another binary interface (is_own_mpi()); the call fails with MPI_ERR_OTHER.
bool may_begin() noexcept;

// After MPI_Init. Collective over MPI_COMM_WORLD.
int initialised(int code) noexcept;

int informed(int code, MPI_Comm comm, MPI_Info info) noexcept;

int constructed(int code, MPI_Comm comm, const char* by, MPI_Info info) noexcept;

class InheritedBound {
 public:
  InheritedBound(MPI_Comm parent, MPI_Info info) noexcept;
  ~InheritedBound();
  InheritedBound(const InheritedBound&) = delete;
  InheritedBound& operator=(const InheritedBound&) = delete;

 private:
  MPI_Comm parent_ = MPI_COMM_NULL;
};

// True: *at (a void*) is memory that peers can map.
bool lend(MPI_Aint bytes, MPI_Info info, void* at) noexcept;

// False: the memory is the MPI's.
bool take_back(void* at) noexcept;

}  // namespace stretto::mpi
