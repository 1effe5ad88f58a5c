// Calls of several hosts that differ, over the MPI (differing_hosts.hpp).
//
// usage: differing_hosts_mpi_test LAYOUT [gtest options]     LAYOUT as in placed.hpp: a process has one
#include <cstdlib>

#include "../../launched.hpp"
#include "../differing_hosts.hpp"
#include "../placed.hpp"
#include "stretto/stretto_mpi.h"

using namespace api_test;

namespace {

DifferingHosts over_the_mpi() {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return {rank, ranks,
          [] {
            stretto_comm comm = nullptr;
            EXPECT_EQ(stretto_comm_create(MPI_COMM_WORLD, &comm), STRETTO_OK) << stretto_message();
            return comm;
          },
          [ranks] { MPI_Send(nullptr, 0, MPI_INT, ranks - 1, 0, MPI_COMM_WORLD); },
          [] { MPI_Recv(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }};
}

}  // namespace

TEST(DifferingHosts, AllRanksGetTheMessageOfTheExchange) { over_the_mpi().run(); }
TEST(DifferingHosts, AMissingRankIsATimeout) { over_the_mpi().run_missing(); }
TEST(DifferingHosts, NoCallGetsAnothersValuesIfCheckDiffers) {
#ifdef MPICH_VERSION
  over_the_mpi().run_unchecked(false);  // ranks that share memory wait for one another in its bcast
#else
  over_the_mpi().run_unchecked(true);
#endif
}
TEST(DifferingHosts, TestsReturnWhereARankIsLate) { over_the_mpi().run_tests_that_return(); }
TEST(DifferingHosts, DrawnCallsAgreeInAnyOrderOfWaits) { over_the_mpi().run_drawn(); }

int main(int argc, char** argv) {
  const std::string layout = argc > 1 ? argv[1] : "cyclic:2";
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int host = placed(layout, ranks)[static_cast<std::size_t>(rank)];
  setenv("STRETTO_HOST", ("host" + std::to_string(host)).c_str(), 1);
  testing::InitGoogleTest(&argc, argv);
  const int any = failed_anywhere(RUN_ALL_TESTS());
  MPI_Finalize();
  return any;
}
