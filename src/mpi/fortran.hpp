// Fortran procedures that bypass the public C functions: all of Open MPI's, and those of MPICH's mpi_f08 without choice
// buffers.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <array>

#include "mpi/calls/wrapped_call.hpp"

#ifdef OPEN_MPI
#define STRETTO_WRAPS_FORTRAN
#endif

namespace stretto::mpi::fortran {

// A Fortran constant, recognised by its address, with the linkers' names for it.
class Constant {
 public:
  template <class... Names>
  explicit Constant(Names... names) noexcept : at_{::dlsym(RTLD_DEFAULT, names)...} {}
  bool is(const void* given) const noexcept {
    for (const void* at : at_)
      if (at && at == given) return true;
    return false;
  }

 private:
  std::array<const void*, 5> at_;
};

// Translates MPI_IN_PLACE and MPI_BOTTOM.
void* buffer(void* given) noexcept;

void* find_next(const char* name) noexcept;

// Passes its own `ierror`, since the caller's may be absent. `next` caches the procedure.
template <class... Parameters, class... Arguments>
int go_on(const char* name, void (*&next)(Parameters...), Arguments... arguments) noexcept {
  if (!next) next = reinterpret_cast<void (*)(Parameters...)>(find_next(name));
  if (!next) return MPI_ERR_INTERN;
  MPI_Fint code = MPI_SUCCESS;
  next(arguments..., &code);
  return code;
}

// With a text argument, whose length comes last.
template <class... Parameters, class... Arguments>
int go_on_with(std::size_t length, const char* name, void (*&next)(Parameters...), Arguments... arguments) noexcept {
  if (!next) next = reinterpret_cast<void (*)(Parameters...)>(find_next(name));
  if (!next) return MPI_ERR_INTERN;
  MPI_Fint code = MPI_SUCCESS;
  next(arguments..., &code, length);
  return code;
}

inline void deliver(int code, MPI_Fint* ierror) noexcept {
  if (ierror) *ierror = code;
}

using Init = void (*)(MPI_Fint*);
using InitThread = void (*)(MPI_Fint*, MPI_Fint*, MPI_Fint*);
using Finalize = void (*)(MPI_Fint*);
using SetInfo = void (*)(MPI_Fint*, MPI_Fint*, MPI_Fint*);
using AllocMem = void (*)(MPI_Aint*, MPI_Fint*, void*, MPI_Fint*);
using FreeMem = void (*)(void*, MPI_Fint*);
using Wait = void (*)(MPI_Fint*, MPI_Fint*, MPI_Fint*);
using Waitall = void (*)(MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
using Waitany = void (*)(MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
using Waitsome = void (*)(MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
using Test = Waitall;
using Testall = Waitany;
using Testany = Waitsome;
using Testsome = Waitsome;
using Start = void (*)(MPI_Fint*, MPI_Fint*);
using Startall = void (*)(MPI_Fint*, MPI_Fint*, MPI_Fint*);
using RequestFree = void (*)(MPI_Fint*, MPI_Fint*);
void init(const char* name, Init& next, MPI_Fint* ierror) noexcept;
void init_thread(const char* name, InitThread& next, MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror) noexcept;
void finalize(const char* name, Finalize& next, MPI_Fint* ierror) noexcept;
void comm_set_info(const char* name, SetInfo& next, MPI_Fint* comm, MPI_Fint* info, MPI_Fint* ierror) noexcept;
void alloc_mem(const char* name, AllocMem& next, MPI_Aint* size, MPI_Fint* info, void* base, MPI_Fint* ierror) noexcept;
void alloc_mem_cptr(const char* name, AllocMem& next, MPI_Aint* size, MPI_Fint* info, void* base,
                    MPI_Fint* ierror) noexcept;
void free_mem(const char* name, FreeMem& next, void* base, MPI_Fint* ierror) noexcept;
void wait(const char* name, Wait& next, MPI_Fint* request, MPI_Fint* status, MPI_Fint* ierror) noexcept;
void waitall(const char* name, Waitall& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* statuses,
             MPI_Fint* ierror) noexcept;
void waitany(const char* name, Waitany& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* status,
             MPI_Fint* ierror) noexcept;
void waitsome(const char* name, Waitsome& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* done, MPI_Fint* indices,
              MPI_Fint* statuses, MPI_Fint* ierror) noexcept;
void test(const char* name, Test& next, MPI_Fint* request, MPI_Fint* flag, MPI_Fint* status, MPI_Fint* ierror) noexcept;
void testall(const char* name, Testall& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* flag, MPI_Fint* statuses,
             MPI_Fint* ierror) noexcept;
void testany(const char* name, Testany& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* flag,
             MPI_Fint* status, MPI_Fint* ierror) noexcept;
void testsome(const char* name, Testsome& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* done, MPI_Fint* indices,
              MPI_Fint* statuses, MPI_Fint* ierror) noexcept;
void request_get_status(const char* name, Test& next, MPI_Fint* request, MPI_Fint* flag, MPI_Fint* status,
                        MPI_Fint* ierror) noexcept;
#ifdef STRETTO_ASKS_SEVERAL
void request_get_status_all(const char* name, Testall& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* flag,
                            MPI_Fint* statuses, MPI_Fint* ierror) noexcept;
void request_get_status_any(const char* name, Testany& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index,
                            MPI_Fint* flag, MPI_Fint* status, MPI_Fint* ierror) noexcept;
void request_get_status_some(const char* name, Testsome& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* done,
                             MPI_Fint* indices, MPI_Fint* statuses, MPI_Fint* ierror) noexcept;
#endif
void start(const char* name, Start& next, MPI_Fint* request, MPI_Fint* ierror) noexcept;
void startall(const char* name, Startall& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* ierror) noexcept;
void request_free(const char* name, RequestFree& next, MPI_Fint* request, MPI_Fint* ierror) noexcept;

}  // namespace stretto::mpi::fortran
