// Prints each rank's place, for the tests of the hosts harness: rank 0 prints one line per rank, `rank host
// ranks-that-share-memory`. The first argument is a number of bytes that rank 0 broadcasts first; the second is the
// exit status.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <mpi.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  std::vector<char> bytes(argc > 1 ? std::stoul(argv[1]) : 0, rank == 0 ? 'x' : ' ');
  MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  for (const char byte : bytes) {
    if (byte != 'x') MPI_Abort(MPI_COMM_WORLD, 9);
  }

  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int neighbours = 0;
  MPI_Comm_size(node, &neighbours);
  MPI_Comm_free(&node);

  constexpr int length = 96;
  char host[64] = {};
  gethostname(host, sizeof host - 1);
  char line[length] = {};
  std::snprintf(line, length, "%d %s %d", rank, host, neighbours);
  std::vector<char> lines(static_cast<std::size_t>(length) * static_cast<std::size_t>(ranks));
  MPI_Gather(line, length, MPI_CHAR, lines.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int r = 0; rank == 0 && r < ranks; ++r) std::puts(lines.data() + static_cast<std::size_t>(r) * length);
  MPI_Finalize();
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
