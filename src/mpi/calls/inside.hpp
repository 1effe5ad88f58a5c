// Recursion guard. An MPI's function may call others by their public names (its Fortran layer does), as may stretto's
// calls of the MPI, and the program's attribute functions. All belong to the outer call.
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
