// Between hosts: a message that is said to need no asking ends although nobody receives it yet. Where that is not so, this hangs.
// Exit status 1 if something else is wrong.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "carrier/mpi_unasked.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, length = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  MPI_Get_library_version(version, &length);

  const std::size_t unasked = stretto::carrier::mpi_unasked();
  int failures = unasked != stretto::carrier::mpi_unasked();
  // The hosts of the tests are joined by TCP: 64 KiB and a header, unless the environment says otherwise.
  if (std::string_view(version).find("Open MPI") == std::string_view::npos)
    failures += unasked != 0;
  else if (!std::getenv("OMPI_MCA_btl_tcp_eager_limit"))
    failures += unasked < 32768 || unasked >= 65536;

  const auto bytes = static_cast<int>(unasked);
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  std::vector<char> out(unasked + 1, static_cast<char>(rank)), in(unasked + 1);
  MPI_Send(out.data(), bytes, MPI_BYTE, next, 0, MPI_COMM_WORLD);
  MPI_Recv(in.data(), bytes, MPI_BYTE, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  failures += unasked > 0 && in[unasked - 1] != static_cast<char>(previous);

  int any = 0;
  MPI_Allreduce(&failures, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0 && any > 0) std::fprintf(stderr, "%d failures; %zu bytes unasked, %s\n", any, unasked, version);
  MPI_Finalize();
  return any > 0;
}
