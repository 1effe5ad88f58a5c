// Between hosts: a message within the eager limit completes without a receive. Hangs if it does not. Exit status 1 for
// other failures.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "modules/mpi/settings/eager_limit.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, length = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  MPI_Get_library_version(version, &length);

  const std::size_t eager = stretto::modules::mpi_eager_limit();
  int failures = eager != stretto::modules::mpi_eager_limit();
  // The hosts of the tests are joined by TCP: 64 KiB and a header, unless the environment says otherwise.
  if (std::string_view(version).find("Open MPI") == std::string_view::npos)
    failures += eager != 0;
  else if (!std::getenv("OMPI_MCA_btl_tcp_eager_limit"))
    failures += eager < 32768 || eager >= 65536;

  const auto bytes = static_cast<int>(eager);
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  std::vector<char> out(eager + 1, static_cast<char>(rank)), in(eager + 1);
  MPI_Send(out.data(), bytes, MPI_BYTE, next, 0, MPI_COMM_WORLD);
  MPI_Recv(in.data(), bytes, MPI_BYTE, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  failures += eager > 0 && in[eager - 1] != static_cast<char>(previous);

  int any = 0;
  MPI_Allreduce(&failures, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0 && any > 0)
    std::fprintf(stderr, "%d failures; %zu bytes within the eager limit, %s\n", any, eager, version);
  MPI_Finalize();
  return any > 0;
}
