// What a process learnt while it made a communicator between hosts is not exchanged again for its next. There a rank
// may fail alone, and none waits for it.
#include <cstdlib>
#include <string>

#include "../../launched.hpp"
#include "../ranks.hpp"
#include "scarce.hpp"
#include "stretto/stretto_mpi.h"

namespace {

int broadcasts = 0, gatherings = 0;

}  // namespace

// Stand-ins that count the collectives of communicators' making: the module calls the MPI by these names.
extern "C" int PMPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  ++broadcasts;
  return MPI_Bcast(data, count, type, root, comm);
}

extern "C" int PMPI_Allgather(const void* mine, int count, MPI_Datatype type, void* all, int counts, MPI_Datatype types,
                              MPI_Comm comm) {
  ++gatherings;
  return MPI_Allgather(mine, count, type, all, counts, types, comm);
}

namespace {

stretto_status create(MPI_Comm of, std::string* message = nullptr) {
  broadcasts = gatherings = 0;
  stretto_comm comm = nullptr;
  const stretto_status s = stretto_comm_create(of, &comm);
  if (message) *message = stretto_message();
  EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
  return s;
}

TEST(LaterCommunicator, AgreesTwice) {
  ASSERT_STRETTO_OK(create(MPI_COMM_WORLD));
  EXPECT_GT(broadcasts, 0);
  EXPECT_GT(gatherings, 2);
  ASSERT_STRETTO_OK(create(MPI_COMM_WORLD));
  EXPECT_EQ(broadcasts, 0);
  EXPECT_EQ(gatherings, 2);  // on what each rank knows, and on that each has made its communicator
}

TEST(LaterCommunicator, OfFewerRanksInAnotherOrderAgreesTwice) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks - 1 ? 0 : MPI_UNDEFINED, -rank, &part);
  if (part == MPI_COMM_NULL) return;
  ASSERT_STRETTO_OK(create(part));
  EXPECT_EQ(broadcasts, 0);
  EXPECT_EQ(gatherings, 2);
  MPI_Comm_free(&part);
}

TEST(LaterCommunicator, TakesAProfileThatTheUserNamesMeanwhile) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::string message;
  if (rank == 0) setenv("STRETTO_PROFILE", "/there/is/none.json", 1);
  EXPECT_EQ(create(MPI_COMM_WORLD, &message), STRETTO_INVALID_ARGUMENT);
  EXPECT_NE(message.find("/there/is/none.json"), std::string::npos) << message;
  if (rank == 0) unsetenv("STRETTO_PROFILE");
  ASSERT_STRETTO_OK(create(MPI_COMM_WORLD));
  EXPECT_EQ(broadcasts, 0);
}

TEST(LaterCommunicator, FailsOnAllRanksWhereOneIsSetWrong) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int wrong = 0; wrong < ranks; ++wrong) {
    std::string message;
    if (rank == wrong) setenv("STRETTO_WAIT", "wrong", 1);
    EXPECT_EQ(create(MPI_COMM_WORLD, &message), STRETTO_INVALID_ARGUMENT);
    EXPECT_NE(message.find(rank == wrong ? "wrong" : "rank " + std::to_string(wrong)), std::string::npos) << message;
    if (rank == wrong) unsetenv("STRETTO_WAIT");
  }
  ASSERT_STRETTO_OK(create(MPI_COMM_WORLD));
}

bool anywhere(bool here) { return failed_anywhere(here ? 1 : 0) != 0; }

// The n-th allocation of one rank fails. False: it made fewer.
bool fails_together(int lacking, long n) {
  SCOPED_TRACE(testing::Message() << "allocation " << n << " of rank " << lacking);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  stretto_comm comm = nullptr;
  stretto_status s = STRETTO_OK;
  bool struck = false;
  if (rank == lacking) {
    const stretto::tests::Scarce scarce(n);
    s = stretto_comm_create(MPI_COMM_WORLD, &comm);
    const stretto::tests::Plenty plenty;
    struck = scarce.struck();
  } else {
    s = stretto_comm_create(MPI_COMM_WORLD, &comm);
  }
  EXPECT_EQ(s != STRETTO_OK, anywhere(s != STRETTO_OK)) << stretto_message();
  EXPECT_TRUE(s == STRETTO_OK || s == STRETTO_OUT_OF_MEMORY) << stretto_message();
  EXPECT_EQ(comm != nullptr, s == STRETTO_OK);
  EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
  return anywhere(struck);
}

void fails_together_anywhere(int lacking, bool another_profile) {
  constexpr long most = 100000;
  long n = 0;
  bool more = true;
  for (int turn = 0; more && n < most && !anywhere(testing::Test::HasFailure()); n += 1 + n / 8) {
    // Profiles by turns: the process's latest is another one.
    if (another_profile) setenv("STRETTO_PROFILE", ++turn % 2 != 0 ? "zen4-2core" : "a100-100g", 1);
    more = fails_together(lacking, n);
  }
  if (another_profile) unsetenv("STRETTO_PROFILE");
  EXPECT_FALSE(more);
  EXPECT_GT(n, 10);
}

TEST(LaterCommunicator, FailsOnAllRanksWhereOneLacksMemory) {
  for (const int lacking : {0, 1}) fails_together_anywhere(lacking, false);
}

TEST(CommunicatorBetweenHosts, FailsOnAllRanksIfOneLacksMemory) {
  for (const int lacking : {0, 1}) fails_together_anywhere(lacking, true);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  setenv("STRETTO_HOST", ("host" + std::to_string(rank % 2)).c_str(), 1);
  testing::InitGoogleTest(&argc, argv);
  const int any = failed_anywhere(RUN_ALL_TESTS());
  MPI_Finalize();
  return any;
}
