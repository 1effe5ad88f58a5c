// Calls of several hosts that differ, over the MPI (differing_hosts.hpp).
#include "../../launched.hpp"
#include "../differing_hosts.hpp"
#include "stretto/stretto_mpi.h"

using namespace api_test;

namespace {

DifferingHosts over_the_mpi() {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return {rank, ranks, [] {
            stretto_comm comm = nullptr;
            EXPECT_EQ(stretto_comm_create(MPI_COMM_WORLD, &comm), STRETTO_OK) << stretto_message();
            return comm;
          }};
}

}  // namespace

TEST(DifferingHosts, AllRanksGetTheMessageOfTheExchange) { over_the_mpi().run(); }
TEST(DifferingHosts, AMissingRankIsATimeout) { over_the_mpi().run_missing(); }

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
