// Calls of several hosts that differ, over UCX (differing_hosts.hpp).
#include "differing_hosts.hpp"
#include "stretto/stretto_store.h"

using namespace api_test;

namespace {

stretto_comm over_ucx() {
  stretto_comm comm = nullptr;
  EXPECT_EQ(stretto_comm_create_environment(nullptr, &comm), STRETTO_OK) << stretto_message();
  return comm;
}

DifferingHosts of_started_ranks() {
  stretto_comm comm = over_ucx();
  const int rank = stretto_comm_rank(comm), ranks = stretto_comm_size(comm);
  EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
  return {rank, ranks, over_ucx};
}

}  // namespace

TEST(DifferingHostsOverUcx, AllRanksGetTheMessageOfTheExchange) { of_started_ranks().run(2); }
TEST(DifferingHostsOverUcx, AMissingRankIsATimeout) { of_started_ranks().run_missing(); }
