// alone_test.cpp over an MPI, on the launched ranks: also in a node's memory, and during the MPI's own collective.
// Every failure ends a communicator, and further ones are made and freed.
#include <string>
#include <utility>

#include "../../launched.hpp"
#include "../ranks.hpp"
#include "scarce.hpp"
#include "stretto/stretto_mpi.h"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;
using stretto::tests::Plenty;
using stretto::tests::Scarce;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool anywhere(bool here) {
  int mine = here ? 1 : 0, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return all != 0;
}

// Index of the communicator's call that lacks memory. In a node's memory a second equal call allocates nothing.
enum class Which { first, second };

// The last rank has no memory for its n-th allocation inside call(comm, rank). False: it made fewer.
template <class Call>
bool lacks_memory(long n, Which which, const Call& call) {
  SCOPED_TRACE(testing::Message() << "allocation " << n);
  stretto_comm comm = nullptr;
  EXPECT_EQ(stretto_comm_create(MPI_COMM_WORLD, &comm), STRETTO_OK) << stretto_message();
  const int rank = stretto_comm_rank(comm), last = stretto_comm_size(comm) - 1;
  if (which == Which::second) {
    EXPECT_EQ(call(comm, rank), STRETTO_OK) << stretto_message();
  }
  stretto_status s = STRETTO_OK;
  bool struck = false;
  if (rank == last) {
    const Scarce scarce(n);
    s = call(comm, rank);
    const Plenty plenty;
    struck = scarce.struck();
  } else {
    s = call(comm, rank);
  }
  const std::string text = stretto_message();
  EXPECT_TRUE(s == STRETTO_OK || s == STRETTO_OUT_OF_MEMORY) << text;
  EXPECT_TRUE(s == STRETTO_OK || rank == last || contains(text, "rank ") || contains(text, "memory")) << text;
  struck = anywhere(struck);
  EXPECT_TRUE(struck || s == STRETTO_OK) << text;
  s = call(comm, rank);
  const std::string later = stretto_message();
  EXPECT_FALSE(contains(later, "nothing came") || contains(later, "is not complete")) << later;
  EXPECT_TRUE(struck || s == STRETTO_OK) << later;
  EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
  return struck;
}

template <class Call>
void lacks_any_memory(Which which, const Call& call) {
  constexpr long most = 100000;
  long n = 0;  // the first ones all, then in longer and longer steps
  while (n < most && !anywhere(testing::Test::HasFailure()) && lacks_memory(n, which, call)) n += 1 + n / 16;
  EXPECT_GT(n, 2);
  EXPECT_LT(n, most);
}

// Made of what does not run out.
std::pair<std::vector<float>, std::vector<float>> vectors(int rank, std::size_t n) {
  const Plenty plenty;
  return {wave(rank, n), std::vector<float>(n)};
}

// Reached only where a rank was told nothing.
stretto_options patient(const char* schedule) {
  stretto_options o = defaults();
  o.timeout = 20;
  o.schedule = schedule;
  return o;
}

}  // namespace

TEST(Alone, AnAllreduceByMessages) {
  lacks_any_memory(Which::second, [](stretto_comm comm, int rank) {
    auto [x, y] = vectors(rank, 100000);
    const stretto_options o = patient("ring");
    return stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &o);
  });
}

TEST(Alone, AnAllreduceInANodesMemory) {
  lacks_any_memory(Which::first, [](stretto_comm comm, int rank) {
    auto [x, y] = vectors(rank, 100000);
    stretto_options o = patient(nullptr);
    o.bound_kind = STRETTO_BOUND_RELATIVE;
    o.scope = STRETTO_SCOPE_CONTRIBUTION;
    o.bound = 1e-4;
    return stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &o);
  });
}

TEST(Alone, AStartedAllreduceOfTheMpi) {
  lacks_any_memory(Which::second, [](stretto_comm comm, int rank) {
    auto [x, y] = vectors(rank, 1000);
    const stretto_options o = patient("native");
    stretto_request request = nullptr;
    stretto_status s = stretto_iallreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &o, &request);
    if (s == STRETTO_OK) s = stretto_wait(request);
    EXPECT_EQ(stretto_request_free(&request), STRETTO_OK);
    const Plenty plenty;  // the MPI may still access it after the call
    static std::vector<std::vector<float>> kept;
    kept.push_back(std::move(x));
    kept.push_back(std::move(y));
    return s;
  });
}

TEST(Alone, AStartedAllreduceInANodesMemory) {
  lacks_any_memory(Which::first, [](stretto_comm comm, int rank) {
    auto [x, y] = vectors(rank, 100000);
    const stretto_options o = patient("node");
    stretto_request request = nullptr;
    stretto_status s = stretto_iallreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &o, &request);
    if (s == STRETTO_OK) s = stretto_wait(request);
    EXPECT_EQ(stretto_request_free(&request), STRETTO_OK);
    return s;
  });
}

// All ranks get a communicator, or none does; and none is left in what another has gone from.
TEST(Alone, ACreationIsOneOfAllRanks) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bool more = true;
  std::size_t failed = 0;
  for (long n = 0; more && n < 100000; n += 1 + n / 8) {
    SCOPED_TRACE(testing::Message() << "allocation " << n);
    stretto_comm comm = nullptr;
    stretto_status s = STRETTO_OK;
    bool struck = false;
    if (rank == ranks - 1) {
      const Scarce scarce(n);
      s = stretto_comm_create(MPI_COMM_WORLD, &comm);
      const Plenty plenty;
      struck = scarce.struck();
    } else {
      s = stretto_comm_create(MPI_COMM_WORLD, &comm);
    }
    EXPECT_EQ(s == STRETTO_OK, !anywhere(s != STRETTO_OK)) << stretto_message();
    EXPECT_TRUE(s == STRETTO_OK || s == STRETTO_OUT_OF_MEMORY) << stretto_message();
    EXPECT_EQ(comm != nullptr, s == STRETTO_OK);
    failed += s != STRETTO_OK;
    EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
    more = anywhere(struck);
  }
  EXPECT_FALSE(more);
  EXPECT_GT(failed, 10u);
}

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
