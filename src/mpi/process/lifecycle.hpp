// What follows from functions of MPI that are no collectives.
#pragma once

#include <mpi.h>

namespace stretto::mpi {

// Before MPI_Init or MPI_Init_thread is passed on. False: the program's MPI has another binary interface than this library,
// which one rank says; the call ends with MPI_ERR_OTHER.
bool may_begin() noexcept;

// MPI_Init or MPI_Init_thread returned `code`, which is passed on. Collective over MPI_COMM_WORLD.
int initialised(int code) noexcept;

// `comm` was given this info by a function that returned `code`, which is passed on.
int informed(int code, MPI_Comm comm, MPI_Info info) noexcept;

// `comm` was made by the function `by` of C, which returned `code`, which is passed on.
int constructed(int code, MPI_Comm comm, const char* by, MPI_Info info) noexcept;

// While a duplicate of `parent` is begun, which is given this info and is there some time later.
class InheritedBound {
 public:
  InheritedBound(MPI_Comm parent, MPI_Info info) noexcept;
  ~InheritedBound();
  InheritedBound(const InheritedBound&) = delete;
  InheritedBound& operator=(const InheritedBound&) = delete;

 private:
  MPI_Comm parent_ = MPI_COMM_NULL;  // null: there is nothing to hand on
};

// MPI_Alloc_mem: true: *at (a void*) is memory that peers see. False: the MPI's is to serve.
bool lend(MPI_Aint bytes, MPI_Info info, void* at) noexcept;

// MPI_Free_mem: false: it is the MPI's.
bool take_back(void* at) noexcept;

}  // namespace stretto::mpi
