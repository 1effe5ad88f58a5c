#include "mpi/fortran.hpp"

#include <vector>

#include "base/guarded.hpp"
#include "mpi/process/lifecycle.hpp"
#include "mpi/process/runtime.hpp"
#include "mpi/requests/completion.hpp"
#include "mpi/requests/persistent.hpp"

namespace stretto::mpi::fortran {
void* buffer(void* given) noexcept {
  static const Constant in_place("mpi_fortran_in_place_", "mpi_fortran_in_place", "mpi_fortran_in_place__",
                                 "MPI_FORTRAN_IN_PLACE");
  static const Constant bottom("mpi_fortran_bottom_", "mpi_fortran_bottom", "mpi_fortran_bottom__",
                               "MPI_FORTRAN_BOTTOM");
  if (in_place.is(given)) return MPI_IN_PLACE;
  return bottom.is(given) ? MPI_BOTTOM : given;
}

void* find_next(const char* name) noexcept { return dlsym(RTLD_NEXT, name); }

void init(const char* name, Init& next, MPI_Fint* ierror) noexcept {
  deliver(may_begin() ? initialised(go_on(name, next)) : MPI_ERR_OTHER, ierror);
}

void init_thread(const char* name, InitThread& next, MPI_Fint* required, MPI_Fint* provided,
                 MPI_Fint* ierror) noexcept {
  deliver(may_begin() ? initialised(go_on(name, next, required, provided)) : MPI_ERR_OTHER, ierror);
}

void finalize(const char* name, Finalize& next, MPI_Fint* ierror) noexcept {
  close_down();
  deliver(go_on(name, next), ierror);
}

void comm_set_info(const char* name, SetInfo& next, MPI_Fint* comm, MPI_Fint* info, MPI_Fint* ierror) noexcept {
  const int code = go_on(name, next, comm, info);
  deliver(informed(code, PMPI_Comm_f2c(*comm), PMPI_Info_f2c(*info)), ierror);
}

void alloc_mem(const char* name, AllocMem& next, MPI_Aint* size, MPI_Fint* info, void* base,
               MPI_Fint* ierror) noexcept {
  const bool lent = lend(*size, PMPI_Info_f2c(*info), base);
  deliver(lent ? MPI_SUCCESS : go_on(name, next, size, info, base), ierror);
}

void alloc_mem_cptr(const char* name, AllocMem& next, MPI_Aint* size, MPI_Fint* info, void* base,
                    MPI_Fint* ierror) noexcept {
  alloc_mem(name, next, size, info, base, ierror);
}

void free_mem(const char* name, FreeMem& next, void* base, MPI_Fint* ierror) noexcept {
  deliver(take_back(base) ? MPI_SUCCESS : go_on(name, next, base), ierror);
}

void start(const char* name, Start& next, MPI_Fint* request, MPI_Fint* ierror) noexcept {
  const MPI_Request started = PMPI_Request_f2c(*request);
  deliver(mpi::start({&started, 1}, [&] { return go_on(name, next, request); }), ierror);
}

void startall(const char* name, Startall& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* ierror) noexcept {
  std::vector<MPI_Request> started;
  const bool listed = attempt([&] {
    for (MPI_Fint i = 0; i < *count && follows_starts(); ++i) started.push_back(PMPI_Request_f2c(requests[i]));
  });
  if (!listed) return deliver(MPI_ERR_NO_MEM, ierror);
  deliver(mpi::start(started, [&] { return go_on(name, next, count, requests); }), ierror);
}

void request_free(const char* name, RequestFree& next, MPI_Fint* request, MPI_Fint* ierror) noexcept {
  const MPI_Request freed = PMPI_Request_f2c(*request);
  if (has_own_requests()) before_freed(freed);
  released(freed);
  deliver(go_on(name, next, request), ierror);
}

}  // namespace stretto::mpi::fortran
