#include "modules/mpi/limit.hpp"

#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

namespace stretto::modules {

carrier::LateHandler abort_program(MPI_Comm comm, PeerDiagnosis ended) {
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  return [comm, rank, size, ended = std::move(ended)](const char* call, double limit) {
    std::string who = ended ? ended() : std::string();
    if (who.empty()) who = "a rank is late, has ended, or calls another collective";
    std::fprintf(stderr,
                 "stretto: rank %d of %d has been inside the MPI, in %s, for more than %g s: %s; "
                 "MPI_Abort ends the program\n",
                 rank, size, call, limit, who.c_str());
    std::fflush(stderr);
    // When a rank aborts, MPICH's launcher drops output of ranks that is still in its pipes.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    MPI_Abort(comm, 1);
  };
}

}  // namespace stretto::modules
