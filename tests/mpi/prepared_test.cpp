// Lifetime and choice of cached calls, on the launched ranks, using parts of the library directly, since in a program
// both paths give equal results.
#include "mpi/calls/prepared.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "../launched.hpp"
#include "api/communicator.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/process/communicators.hpp"

using namespace stretto::mpi;

namespace {

constexpr double kLimit = 120;  // seconds that ranks wait for each other
constexpr int kFew = 6;         // calls after which one is kept, if it is at all
constexpr int kLongCount = 32768;

class PreparedCalls : public testing::Test {
 protected:
  void SetUp() override {
    PMPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &c.size);
    ASSERT_TRUE(make(MPI_COMM_WORLD, &c, kLimit)) << c.refused;
    if (c.size == 1) GTEST_SKIP() << "one rank is served by the MPI";
    in.assign(static_cast<std::size_t>(kLongCount * c.size), c.rank + 1);
    out.assign(in.size(), -1);
  }
  void TearDown() override { EXPECT_EQ(stretto_comm_free(c.comm), STRETTO_OK); }

  WrappedCall call(Function operation, int count, MPI_Datatype type = MPI_INT, MPI_Op op = MPI_SUM, int root = 0) {
    WrappedCall made(operation, Form::blocking, nullptr);
    made.comm = MPI_COMM_WORLD;
    if (operation == Function::barrier) return made;
    made.sendbuf = operation == Function::bcast ? nullptr : in.data();
    made.recvbuf = out.data();
    made.sendcount = made.recvcount = count;
    made.sendtype = made.recvtype = type;
    made.op = op;
    made.root = root;
    return made;
  }

  void serve_it(const WrappedCall& call) {
    Shape shape;
    EXPECT_EQ(shape_of(call, c, &shape), nullptr);
    stretto_options o = STRETTO_OPTIONS_INIT;
    o.check = 0;
    o.timeout = kLimit;
    EXPECT_EQ(serve(call, c, shape, o, true), STRETTO_OK) << stretto_message();
  }

  // Runs a call like the library. True if it was kept.
  bool perform(const WrappedCall& call) {
    stretto_status s = STRETTO_OK;
    const bool kept = again(call, c, kLimit, &s);
    EXPECT_EQ(s, STRETTO_OK) << stretto_message();
    if (!kept) serve_it(call);
    return kept;
  }

  Communicator c{MPI_COMM_WORLD};
  std::vector<int> in, out;
};

}  // namespace

TEST_F(PreparedCalls, AreThoseThatRepeat) {
  for (const Function o :
       {Function::allreduce, Function::reduce, Function::reduce_scatter_block, Function::bcast, Function::allgather,
        Function::alltoall, Function::gather, Function::scatter, Function::barrier})
    for (const int root : {0, c.size - 1}) {
      const WrappedCall repeated = call(o, 8, MPI_INT, MPI_SUM, root);
      for (int k = 0; k < kFew; ++k) perform(repeated);
      for (int k = 0; k < kFew; ++k)
        EXPECT_TRUE(perform(repeated)) << "operation " << static_cast<int>(o) << ", root " << root;
    }
}

TEST_F(PreparedCalls, AreToldFromOthersByAllThatDecides) {
  const WrappedCall repeated = call(Function::allreduce, 8);
  for (int k = 0; k < kFew; ++k) perform(repeated);
  std::vector<WrappedCall> others(6, repeated);
  others[0].recvcount = others[0].sendcount = 7;
  others[1].recvtype = others[1].sendtype = MPI_UNSIGNED;
  others[2].op = MPI_MAX;
  others[3].form = Form::nonblocking;
  others[4].sendbuf = MPI_IN_PLACE;
  others[5].operation = Function::reduce_scatter_block;
  stretto_status s = STRETTO_OK;
  for (const WrappedCall& other : others) EXPECT_FALSE(again(other, c, kLimit, &s));
  EXPECT_TRUE(perform(repeated));
}

TEST_F(PreparedCalls, OfOneCountDoNotEvictEachOther) {
  std::vector<WrappedCall> by_turns;
  for (const MPI_Datatype type : {MPI_INT, MPI_FLOAT, MPI_UNSIGNED})
    for (const MPI_Op op : {MPI_SUM, MPI_MAX}) {
      by_turns.push_back(call(Function::allreduce, 8, type, op));
      by_turns.push_back(by_turns.back());
      by_turns.back().sendbuf = MPI_IN_PLACE;
    }
  std::fill(in.begin(), in.end(), 0);
  std::fill(out.begin(), out.end(), 0);
  int hits = 0, calls = 0;
  for (int k = 0; k < 2 * kFew; ++k)
    for (const WrappedCall& one : by_turns) {
      const bool hit = perform(one);
      if (k < kFew) continue;
      hits += hit;
      ++calls;
    }
  EXPECT_GT(hits, 0) << calls << " calls";  // not all: some may fall on one line by chance
}

// Types that are made and freed for each call, and lie apart in memory: a line for each root and number of bytes.
TEST_F(PreparedCalls, AreShortBroadcastsOfDerivedTypes) {
  constexpr int parts = 5, stride = 3;
  for (int k = 0; k < 2 * kFew; ++k)
    for (const int root : {0, c.size - 1})
      for (const int length : {1, 2, 60}) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        PMPI_Type_vector(parts, length, stride * length, MPI_INT, &type);
        PMPI_Type_commit(&type);
        const auto at = [&](int part, int i) { return static_cast<std::size_t>(part * stride * length + i); };
        for (std::size_t i = 0; i < 1000; ++i) out[i] = c.rank == root ? k * 1000 + static_cast<int>(i) : -1;
        const bool kept = perform(call(Function::bcast, 1, type, MPI_OP_NULL, root));
        PMPI_Type_free(&type);
        EXPECT_EQ(kept, k > 0 && parts * length * 4 <= kLongestPacked) << "call " << k << ", length " << length;
        for (int part = 0; part < parts; ++part) {
          EXPECT_EQ(out[at(part, 0)], k * 1000 + static_cast<int>(at(part, 0)));
          EXPECT_EQ(out[at(part, length - 1)], k * 1000 + static_cast<int>(at(part, length - 1)));
          if (c.rank != root && part + 1 < parts) {
            EXPECT_EQ(out[at(part, length)], -1);
          }
        }
      }
}

TEST_F(PreparedCalls, HaveNoCountsByRank) {
  const std::vector<int> counts(static_cast<std::size_t>(c.size), 8);
  WrappedCall scattered = call(Function::reduce_scatter, 8);
  scattered.recvcounts = Numbers(counts.data());
  for (int k = 0; k < 2 * kFew; ++k) EXPECT_FALSE(perform(scattered));
}

TEST_F(PreparedCalls, EndWithTheCommunicator) {
  const WrappedCall repeated = call(Function::allreduce, 8);
  for (int k = 0; k < kFew; ++k) perform(repeated);
  c.comm->give_up(stretto::Status::internal, "the test ends it");
  stretto_status s = STRETTO_OK;
  EXPECT_FALSE(again(repeated, c, kLimit, &s));
}

TEST_F(PreparedCalls, EndWhereTheNativeCollectivesAreChosenAnew) {
  const WrappedCall repeated = call(Function::allreduce, 8);
  for (int k = 0; k < kFew; ++k) perform(repeated);
  c.comm->prepared.forget();
  stretto_status s = STRETTO_OK;
  EXPECT_FALSE(again(repeated, c, kLimit, &s));
}

// One rank meets other calls on its lines, and forgets this one every now and then.
TEST_F(PreparedCalls, MayBeKeptBySomeRanksOnly) {
  const WrappedCall repeated = call(Function::allreduce, kLongCount);
  const int expected = c.size * (c.size + 1) / 2;
  for (int k = 0; k < 8000; ++k) {
    out[0] = out[kLongCount - 1] = -1;
    if (c.rank == 0 && k % 2 == 0)
      serve_it(repeated);
    else
      perform(repeated);
    ASSERT_TRUE(out[0] == expected && out[kLongCount - 1] == expected) << "call " << k;
  }
}

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
