// An MPI's own function may call others of its functions by their public names, as its Fortran layer does: they are the
// same call. So are those that its functions for stretto call, and the program's own functions of attributes.
#pragma once

namespace stretto::mpi {

inline thread_local bool inside = false;

class Inside {
 public:
  Inside() noexcept { inside = true; }
  ~Inside() { inside = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

}  // namespace stretto::mpi
