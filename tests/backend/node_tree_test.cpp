// Trees of started collectives in a host's memory: the bits of the same schedule's messages for any split, driven by
// the caller or with a communication core.
#include <sched.h>

#include <cstring>
#include <string>

#include "one_backend.hpp"
#include "stretto/stretto_mpi.h"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

using Floats = std::vector<float>;

class NodeTrees : public LaunchedRanks, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    LaunchedRanks::SetUp();
    if (ranks == 1) GTEST_SKIP() << "one rank has no tree";
    if (!GetParam()) return;
    const int core = sched_getcpu();
    ASSERT_STRETTO_OK(stretto_comm_cores(&core, 1));
  }
  void TearDown() override {
    EXPECT_EQ(stretto_comm_cores(nullptr, 0), STRETTO_OK);
    LaunchedRanks::TearDown();
  }

  stretto_comm comm_of(int split) {
    stretto_comm made = nullptr;
    setenv("STRETTO_SPLIT", std::to_string(split).c_str(), 1);
    EXPECT_EQ(stretto_comm_create(MPI_COMM_WORLD, &made), STRETTO_OK) << stretto_message();
    unsetenv("STRETTO_SPLIT");
    return made;
  }

  void end(stretto_request* r) {
    ASSERT_STRETTO_OK(stretto_wait(*r));
    ASSERT_STRETTO_OK(stretto_request_free(r));
  }

  struct Buffers {
    Floats x, y;
  };
  Buffers buffers(int kind, std::size_t n, int root) const {
    const bool is_root = rank == root;
    const std::size_t all = n * static_cast<std::size_t>(ranks);
    Buffers b{wave(rank, kind == 3 ? all : n), Floats(kind == 0   ? (is_root ? n : 0)
                                                      : kind == 2 ? (is_root ? all : 0)
                                                                  : n)};
    if (kind == 1 && is_root) b.y = b.x;
    return b;
  }
  stretto_status start(int kind, Buffers* b, std::size_t n, int root, stretto_comm c, const stretto_options* o,
                       stretto_request* r) const {
    const auto f = STRETTO_F32;
    switch (kind) {
      case 0: return stretto_ireduce(b->x.data(), b->y.data(), n, f, STRETTO_SUM, root, c, o, r);
      case 1: return stretto_ibcast(b->y.data(), n, f, root, c, o, r);
      case 2: return stretto_igather(b->x.data(), b->y.data(), n, f, root, c, o, r);
      default: return stretto_iscatter(b->x.data(), b->y.data(), n, f, root, c, o, r);
    }
  }
  stretto_status block(int kind, Buffers* b, std::size_t n, int root, stretto_comm c, const stretto_options* o) const {
    const auto f = STRETTO_F32;
    switch (kind) {
      case 0: return stretto_reduce(b->x.data(), b->y.data(), n, f, STRETTO_SUM, root, c, o);
      case 1: return stretto_bcast(b->y.data(), n, f, root, c, o);
      case 2: return stretto_gather(b->x.data(), b->y.data(), n, f, root, c, o);
      default: return stretto_scatter(b->x.data(), b->y.data(), n, f, root, c, o);
    }
  }
};

constexpr const char* kKindNames[] = {"reduce", "bcast", "gather", "scatter"};

}  // namespace

// A blocking call of that schedule sends messages.
TEST_P(NodeTrees, HaveTheBitsOfTheirMessages) {
  for (const int split : {0, 1, 3}) {
    stretto_comm memory = comm_of(split);
    for (const char* schedule : {"binomial", "knomial", "leader"})
      for (int kind = 0; kind < 4; ++kind)
        for (const int root : {0, ranks - 1})
          for (const int check : {1, 0})
            for (const std::size_t n : {std::size_t{3}, std::size_t{30'000}}) {
              if (check == 1 && n > 3 && root > 0) continue;
              SCOPED_TRACE(testing::Message() << kKindNames[kind] << " by " << schedule << " of " << n << ", root "
                                              << root << ", split " << split << ", check " << check);
              stretto_report told = STRETTO_REPORT_INIT;
              stretto_options o = STRETTO_OPTIONS_INIT;
              o.schedule = schedule;
              o.check = check;
              Buffers expected = buffers(kind, n, root), b = buffers(kind, n, root);
              o.report = &told;
              ASSERT_STRETTO_OK(block(kind, &expected, n, root, memory, &o));
              EXPECT_EQ(told.bytes_known, 1);  // of messages
              stretto_request r = nullptr;
              ASSERT_STRETTO_OK(start(kind, &b, n, root, memory, &o, &r));
              end(&r);
              ASSERT_TRUE(b.y.empty() || std::memcmp(b.y.data(), expected.y.data(), 4 * b.y.size()) == 0);
              EXPECT_STREQ(told.algorithm, schedule);
              EXPECT_STREQ(told.reason, "forced");
              EXPECT_EQ(told.bytes_known, 0);  // none were sent
              EXPECT_EQ(told.split, GetParam() ? split : 0);
            }
    ASSERT_STRETTO_OK(stretto_comm_free(memory));
  }
}

TEST_P(NodeTrees, TakeTheRootsDataWhereTheyLie) {
  stretto_comm memory = comm_of(1);
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.schedule = "binomial";
  for (const std::size_t n : {std::size_t{3}, std::size_t{30'000}})
    for (const int root : {0, ranks - 1})
      for (const int kind : {0, 2, 3}) {
        SCOPED_TRACE(testing::Message() << kKindNames[kind] << " of " << n << ", root " << root);
        Buffers expected = buffers(kind, n, root), b = expected;
        ASSERT_STRETTO_OK(block(kind, &expected, n, root, memory, &o));
        const auto mine = static_cast<std::ptrdiff_t>(n) * root;
        const void* send = b.x.data();
        void* recv = b.y.data();
        if (rank == root && kind == 3) {
          recv = const_cast<void*>(STRETTO_IN_PLACE);
        } else if (rank == root) {
          std::copy(b.x.begin(), b.x.end(), b.y.begin() + (kind == 2 ? mine : 0));
          send = STRETTO_IN_PLACE;
        }
        stretto_request r = nullptr;
        const auto f = STRETTO_F32;
        ASSERT_STRETTO_OK(kind == 0   ? stretto_ireduce(send, recv, n, f, STRETTO_SUM, root, memory, &o, &r)
                          : kind == 2 ? stretto_igather(send, recv, n, f, root, memory, &o, &r)
                                      : stretto_iscatter(send, recv, n, f, root, memory, &o, &r));
        end(&r);
        if (kind == 3 && rank == root) continue;
        ASSERT_TRUE(b.y.empty() || std::memcmp(b.y.data(), expected.y.data(), 4 * b.y.size()) == 0);
      }
  ASSERT_STRETTO_OK(stretto_comm_free(memory));
}

// Their steps would not fit: without the comparison of words, too, no rank may take another tree's sums for its own.
TEST_P(NodeTrees, RanksThatNameDifferentTreesGetNoSum) {
  stretto_comm memory = comm_of(0);
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.schedule = rank % 2 == 0 ? "binomial" : "leader";
  o.check = 0;
  o.timeout = 0.3;
  Buffers b = buffers(0, 5000, 0);
  stretto_request r = nullptr;
  ASSERT_STRETTO_OK(start(0, &b, 5000, 0, memory, &o, &r));
  const stretto_status ended = stretto_wait(r);
  EXPECT_TRUE(rank != 0 || ended == STRETTO_INCOMPATIBLE || ended == STRETTO_TIMEOUT) << ended;
  ASSERT_STRETTO_OK(stretto_request_free(&r));
  MPI_Barrier(MPI_COMM_WORLD);
  ASSERT_STRETTO_OK(stretto_comm_free(memory));
}

TEST_P(NodeTrees, ASplitThatRanksDoNotShareIsNone) {
  stretto_comm memory = comm_of(rank);
  stretto_report told = STRETTO_REPORT_INIT;
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.schedule = "binomial";
  o.report = &told;
  for (int kind = 0; kind < 4; ++kind) {
    Buffers expected = buffers(kind, 9000, 0), b = expected;
    ASSERT_STRETTO_OK(block(kind, &expected, 9000, 0, memory, nullptr));
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(start(kind, &b, 9000, 0, memory, &o, &r));
    end(&r);
    for (std::size_t i = 0; i < b.y.size(); ++i) ASSERT_NEAR(b.y[i], expected.y[i], 1e-5);
    EXPECT_EQ(told.split, 0);
  }
  ASSERT_STRETTO_OK(stretto_comm_free(memory));
}

// Rank 0 returns from its starting call before the others start theirs.
TEST_P(NodeTrees, ACallThatStartsReturnsThoughAnotherRankHasNotCome) {
  stretto_comm memory = comm_of(3);
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.schedule = "binomial";
  for (const int check : {1, 0})
    for (int kind = 0; kind < 4; ++kind) {
      o.check = check;
      Buffers b = buffers(kind, 5000, 0);
      stretto_request r = nullptr;
      if (rank != 0) MPI_Barrier(MPI_COMM_WORLD);
      ASSERT_STRETTO_OK(start(kind, &b, 5000, 0, memory, &o, &r));
      if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
      end(&r);
    }
  ASSERT_STRETTO_OK(stretto_comm_free(memory));
}

// The root does not test or wait before the others have everything.
TEST_P(NodeTrees, StepsAfterTheWorkRunThoughTheCallerNeverPolls) {
  if (!GetParam()) GTEST_SKIP() << "the caller drives";
  stretto_comm memory = comm_of(3);
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.schedule = "binomial";
  for (const int kind : {1, 3}) {
    Buffers b = buffers(kind, 5000, 1);
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(start(kind, &b, 5000, 1, memory, &o, &r));
    if (rank != 1) end(&r);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) end(&r);
  }
  ASSERT_STRETTO_OK(stretto_comm_free(memory));
}

TEST_P(NodeTrees, ManyInFlightAmongOtherCalls) {
  stretto_comm memory = comm_of(1);
  stretto_options tree = STRETTO_OPTIONS_INIT;
  for (int turn = 0; turn < 5; ++turn) {
    constexpr std::size_t flights = 12;
    std::vector<Buffers> all;
    std::vector<std::size_t> lengths;
    std::vector<stretto_request> r(flights, nullptr);
    all.reserve(flights);
    for (std::size_t k = 0; k < flights; ++k) {
      tree.schedule = k % 3 == 2 ? nullptr : "binomial";
      tree.check = k % 2 == 0;
      const int kind = static_cast<int>(k % 4);
      lengths.push_back(1 + 700 * k);
      all.push_back(buffers(kind, lengths[k], 0));
      ASSERT_STRETTO_OK(start(kind, &all[k], lengths[k], 0, memory, &tree, &r[k]));
      double one = 1, came = 0;
      if (k % 5 == 4) {
        ASSERT_STRETTO_OK(stretto_allreduce(&one, &came, 1, STRETTO_F64, STRETTO_SUM, memory, nullptr));
        EXPECT_EQ(came, ranks);
      }
    }
    for (std::size_t k = 0; k < flights; ++k) end(&r[rank % 2 ? flights - 1 - k : k]);
    for (std::size_t k = 0; k < flights; ++k) {
      Buffers expected = buffers(static_cast<int>(k % 4), lengths[k], 0);
      ASSERT_STRETTO_OK(block(static_cast<int>(k % 4), &expected, lengths[k], 0, memory, nullptr));
      for (std::size_t i = 0; i < expected.y.size(); ++i) ASSERT_NEAR(all[k].y[i], expected.y[i], 1e-5) << k;
    }
  }
  ASSERT_STRETTO_OK(stretto_comm_free(memory));
}

TEST_P(NodeTrees, CallsThatDifferAreToldOnAllRanksAndTheRanksGoOn) {
  stretto_comm memory = comm_of(1);
  stretto_options o = STRETTO_OPTIONS_INIT;
  Buffers b = buffers(0, 5000, 0);
  stretto_request r = nullptr;
  o.schedule = rank == 0 ? "binomial" : "knomial";
  ASSERT_STRETTO_OK(start(0, &b, 5000, 0, memory, &o, &r));
  EXPECT_EQ(stretto_wait(r), STRETTO_INCOMPATIBLE);
  EXPECT_NE(std::string(stretto_message()).find("knomial"), std::string::npos) << stretto_message();
  ASSERT_STRETTO_OK(stretto_request_free(&r));
  o.schedule = "binomial";
  ASSERT_STRETTO_OK(start(0, &b, 5000, 0, memory, &o, &r));
  end(&r);
  ASSERT_STRETTO_OK(stretto_comm_free(memory));
}

TEST_P(NodeTrees, ARankThatStaysAwayIsNamed) {
  stretto_comm memory = comm_of(1);
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.schedule = "binomial";
  o.timeout = 0.3;
  o.check = 0;
  Buffers b = buffers(0, 5000, 0);
  stretto_request r = nullptr;
  if (rank != 0) {
    ASSERT_STRETTO_OK(start(0, &b, 5000, 0, memory, &o, &r));
    EXPECT_EQ(stretto_wait(r), STRETTO_TIMEOUT);
    EXPECT_NE(std::string(stretto_message()).find("rank 0"), std::string::npos) << stretto_message();
    ASSERT_STRETTO_OK(stretto_request_free(&r));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  ASSERT_STRETTO_OK(stretto_comm_free(memory));
}

INSTANTIATE_TEST_SUITE_P(Drivers, NodeTrees, testing::Bool(),
                         [](const auto& info) { return info.param ? "communication_core" : "caller"; });
