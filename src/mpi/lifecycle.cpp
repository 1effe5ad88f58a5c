// The other functions of MPI that concern the library: the end of the program, and info given to communicators.
#include "mpi/lifecycle.hpp"

#include "mpi/call.hpp"
#include "mpi/communicators.hpp"
#include "mpi/runtime.hpp"

namespace stretto::mpi {

int informed(int code, MPI_Comm comm, MPI_Info info) noexcept {
  if (code != MPI_SUCCESS || !runtime()) return code;
  try {
    if (const std::string complaint = take_info(comm, info); !complaint.empty())
      tell_once(complaint + "; the communicator goes on without it");
  } catch (...) {
    tell_once("no memory to read an info key");
  }
  return code;
}

}  // namespace stretto::mpi

using namespace stretto::mpi;

STRETTO_WRAPPER int MPI_Finalize() {
  close_down();
  return PMPI_Finalize();
}

STRETTO_WRAPPER int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info) {
  return informed(PMPI_Comm_set_info(comm, info), comm, info);
}

STRETTO_WRAPPER int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
  const int code = PMPI_Comm_dup_with_info(comm, info, made);
  return informed(code, code == MPI_SUCCESS ? *made : MPI_COMM_NULL, info);
}
