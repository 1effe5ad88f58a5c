// MPI functions, stretto's own calls, and attribute functions may call public MPI names within a call.
#pragma once

namespace stretto::mpi {

inline thread_local bool inside = false;

class RecursionGuard {
 public:
  RecursionGuard() noexcept { inside = true; }
  ~RecursionGuard() { inside = false; }
  RecursionGuard(const RecursionGuard&) = delete;
  RecursionGuard& operator=(const RecursionGuard&) = delete;
};

}  // namespace stretto::mpi
