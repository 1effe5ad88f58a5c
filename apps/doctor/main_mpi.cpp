// stretto-doctor under mpirun.
#include <mpi.h>

#include "apps/mpi_main.hpp"
#include "examine.hpp"
#include "modules/mpi/transport.hpp"

namespace {

using namespace stretto::doctor;

std::unique_ptr<stretto::backend::Transport> transport_of(MPI_Comm comm) {
  std::unique_ptr<stretto::backend::Transport> made;
  check(stretto::modules::make_mpi_transport(comm, &made));
  made->created({});
  return made;
}

// Ranks that share memory are on one host, as the MPI sees it.
Job meet() {
  auto all = transport_of(MPI_COMM_WORLD);
  MPI_Comm shared = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, all->rank(), MPI_INFO_NULL, &shared);
  auto here = transport_of(shared);
  MPI_Comm_free(&shared);
  std::string over = all->name();
  stretto::backend::Transport& transport = *all;
  return {std::move(all), std::move(here), std::move(over), [&transport] { return device_messages_of(transport); }};
}

}  // namespace

int main(int argc, char** argv) {
  return stretto::mpi_main(argc, argv, "stretto-doctor",
                           [](int count, char** words, int rank) { return examine(count, words, rank, meet); });
}
