// Recursion guard: MPI functions (as in Fortran layers), stretto's own calls, and attribute functions may call public
// MPI names within a call.
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
