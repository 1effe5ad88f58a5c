// The collectives of a host's shared memory under our names, on the ranks that the program was launched with, all on this host: each
// gives what the MPI's gives, at lengths of every protocol; the MPI progresses while ranks wait; ranks that differ or stay away are named.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "../launched.hpp"
#include "ranks.hpp"
#include "stretto/stretto_mpi.h"

using namespace api_test;

namespace {

class Close : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &comm));
    rank = stretto_comm_rank(comm);
    ranks = stretto_comm_size(comm);
    node.schedule = "node";
    node.report = &report;
  }
  void TearDown() override { ASSERT_STRETTO_OK(stretto_comm_free(comm)); }

  template <class T>
  std::vector<T> sums(std::size_t n) const {
    std::vector<T> all(n);
    for (std::size_t i = 0; i < n; ++i)
      for (int r = 0; r < ranks; ++r) all[i] += static_cast<T>(sample(r, i));
    return all;
  }

  stretto_comm comm = nullptr;
  stretto_report report = STRETTO_REPORT_INIT;
  stretto_options node = STRETTO_OPTIONS_INIT;
  int rank = 0, ranks = 1;
};

// left times 10^(digits of right), then right, on numbers with their factor: associative, and does not commute.
struct Digits {
  std::int32_t value, factor;
};
void append(const void* left, void* right, size_t count, stretto_type, void*) {
  const auto* l = static_cast<const Digits*>(left);
  auto* r = static_cast<Digits*>(right);
  for (size_t i = 0; i < count; ++i) r[i] = {l[i].value * r[i].factor + r[i].value, l[i].factor * r[i].factor};
}

}  // namespace

// Where each rank gives, and takes another for the root, it need not find out in that call. The next agreement tells all of them.
TEST_F(Close, CallsThatDifferedWithoutAgreementAreToldAtTheNextOne) {
  if (ranks == 1) GTEST_SKIP() << "one rank does not differ";
  std::int32_t x = 1, sum = 0;
  const auto meet = [&] { return stretto_allreduce(&x, &sum, 1, STRETTO_I32, STRETTO_SUM, comm, nullptr); };
  for (int k = 0; k < 3; ++k) ASSERT_STRETTO_OK(meet());
  node.check = 0;
  stretto_status s = stretto_bcast(&x, 1, STRETTO_I32, rank, comm, &node);  // another rank may have found it by then
  if (s == STRETTO_OK) s = meet();
  EXPECT_EQ(s, STRETTO_INCOMPATIBLE);
  EXPECT_NE(std::string(stretto_message()).find("(root)"), std::string::npos) << stretto_message();
  EXPECT_NE(meet(), STRETTO_OK) << "nobody knows what the calls before gave";
}

TEST_F(Close, EveryCollectiveGivesWhatOursGives) {
  const auto p = static_cast<std::size_t>(ranks), me = static_cast<std::size_t>(rank);
  for (const int check : {1, 0}) {
    node.check = check;
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{300}, std::size_t{20011}}) {
      SCOPED_TRACE(testing::Message() << n << " elements, check " << check);
      const auto x = samples<double>(rank, n * p), sum = sums<double>(n * p);
      std::vector<double> y(n * p), mine(n);
      const auto block = [&](const std::vector<double>& v, std::size_t r) {
        return std::vector<double>(v.begin() + static_cast<std::ptrdiff_t>(r * n),
                                   v.begin() + static_cast<std::ptrdiff_t>((r + 1) * n));
      };
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n * p, STRETTO_F64, STRETTO_SUM, comm, &node));
      EXPECT_EQ(y, sum);
      EXPECT_STREQ(report.algorithm, "node");
      EXPECT_STREQ(report.payload, "raw");
      EXPECT_EQ(report.promised_error, 0);
      EXPECT_EQ(report.contributions, p);
      y = x;
      ASSERT_STRETTO_OK(stretto_allreduce(STRETTO_IN_PLACE, y.data(), n * p, STRETTO_F64, STRETTO_SUM, comm, &node));
      EXPECT_EQ(y, sum);
      ASSERT_STRETTO_OK(stretto_reduce_scatter_block(x.data(), mine.data(), n, STRETTO_F64, STRETTO_SUM, comm, &node));
      EXPECT_EQ(mine, block(sum, me));
      const std::vector<std::size_t> counts(p, n);
      ASSERT_STRETTO_OK(
          stretto_reduce_scatter(x.data(), mine.data(), counts.data(), STRETTO_F64, STRETTO_SUM, comm, &node));
      EXPECT_EQ(mine, block(sum, me));
      y = x;
      ASSERT_STRETTO_OK(
          stretto_reduce_scatter_block(STRETTO_IN_PLACE, y.data(), n, STRETTO_F64, STRETTO_SUM, comm, &node));
      EXPECT_EQ(block(y, 0), block(sum, me));
      mine = samples<double>(rank, n);
      std::vector<double> all;
      for (int r = 0; r < ranks; ++r) {
        const auto v = samples<double>(r, n);
        all.insert(all.end(), v.begin(), v.end());
      }
      ASSERT_STRETTO_OK(stretto_allgather(mine.data(), y.data(), n, STRETTO_F64, comm, &node));
      EXPECT_EQ(y, all);
      std::fill(y.begin(), y.end(), -1.0);
      std::copy(mine.begin(), mine.end(), y.begin() + static_cast<std::ptrdiff_t>(me * n));
      ASSERT_STRETTO_OK(stretto_allgather(STRETTO_IN_PLACE, y.data(), n, STRETTO_F64, comm, &node));
      EXPECT_EQ(y, all);
      ASSERT_STRETTO_OK(stretto_alltoall(all.data(), y.data(), n, STRETTO_F64, comm, &node));
      for (std::size_t s = 0; s < p; ++s) EXPECT_EQ(block(y, s), mine);
      y = all;
      ASSERT_STRETTO_OK(stretto_alltoall(STRETTO_IN_PLACE, y.data(), n, STRETTO_F64, comm, &node));
      for (std::size_t s = 0; s < p; ++s) EXPECT_EQ(block(y, s), mine);
      for (int root = 0; root < ranks; ++root) {
        auto b = rank == root ? x : std::vector<double>(n * p);
        ASSERT_STRETTO_OK(stretto_bcast(b.data(), n * p, STRETTO_F64, root, comm, &node));
        EXPECT_EQ(b, samples<double>(root, n * p));
        y = x;
        const void* send = rank == root ? STRETTO_IN_PLACE : x.data();
        ASSERT_STRETTO_OK(stretto_reduce(send, y.data(), n * p, STRETTO_F64, STRETTO_SUM, root, comm, &node));
        EXPECT_EQ(y, rank == root ? sum : x);
        std::fill(y.begin(), y.end(), -1.0);
        std::copy(mine.begin(), mine.end(), y.begin() + static_cast<std::ptrdiff_t>(me * n));
        send = rank == root ? STRETTO_IN_PLACE : mine.data();
        ASSERT_STRETTO_OK(stretto_gather(send, y.data(), n, STRETTO_F64, root, comm, &node));
        if (rank == root) {
          EXPECT_EQ(y, all);
        }
        std::vector<double> back(n, -1.0);
        void* recv = rank == root ? STRETTO_IN_PLACE : back.data();
        ASSERT_STRETTO_OK(stretto_scatter(all.data(), recv, n, STRETTO_F64, root, comm, &node));
        if (rank != root) {
          EXPECT_EQ(back, mine);
        }
      }
      ASSERT_STRETTO_OK(stretto_barrier(comm, &node));
      EXPECT_STREQ(report.algorithm, "node");
    }
  }
}

TEST_F(Close, EveryOperationIsServedButDifference) {
  constexpr std::size_t n = 700;
  stretto_options ours = STRETTO_OPTIONS_INIT;
  ours.schedule = "recursive_doubling";
  for (int op = STRETTO_SUM; op <= STRETTO_BXOR; ++op)
    for (const stretto_type t : {STRETTO_I8, STRETTO_U16, STRETTO_I32, STRETTO_U64}) {
      const auto bits = samples<std::uint64_t>(rank, n);
      std::vector<std::uint64_t> a(n), b(n);
      ASSERT_STRETTO_OK(stretto_allreduce(bits.data(), a.data(), n, t, static_cast<stretto_op>(op), comm, &node));
      ASSERT_STRETTO_OK(stretto_allreduce(bits.data(), b.data(), n, t, static_cast<stretto_op>(op), comm, &ours));
      EXPECT_EQ(a, b) << "operation " << op << " on type " << t;
    }
  std::vector<std::uint16_t> h(n, 0x3c00), k(n);  // 1 as float16
  ASSERT_STRETTO_OK(stretto_allreduce(h.data(), k.data(), n, STRETTO_F16, STRETTO_MEAN, comm, &node));
  EXPECT_EQ(k, h);
  const auto x = samples<float>(rank, n);
  std::vector<float> y(n);
  EXPECT_EQ(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_DIFFERENCE, comm, &node),
            STRETTO_UNSUPPORTED);
  EXPECT_NE(std::string(stretto_message()).find("allreduce of 700 elements of f32 by difference"), std::string::npos)
      << stretto_message();
}

TEST_F(Close, AFunctionOfTheUsersKeepsTheOrderOfTheRanks) {
  node.user_function = append;
  node.user_commutes = 0;
  for (const std::size_t n : {std::size_t{3}, std::size_t{20000}}) {
    const std::vector<Digits> x(n, Digits{rank + 1, 10});
    std::vector<Digits> y(n);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_I64, STRETTO_USER, comm, &node));
    EXPECT_STREQ(report.algorithm, "node");
    std::int32_t expected = 0;
    for (int r = 1; r <= ranks; ++r) expected = 10 * expected + r;
    for (const Digits& d : y) ASSERT_EQ(d.value, expected);
  }
}

TEST_F(Close, IsChosenForFewRanksWhereNothingWasMeasured) {
  setenv("STRETTO_PROFILE", "built-in", 1);
  stretto_comm own = nullptr;
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &own));
  unsetenv("STRETTO_PROFILE");
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.report = &report;
  o.trials = 0;
  for (const int check : {1, 0}) {
    o.check = check;
    for (const std::size_t n : {std::size_t{300}, std::size_t{50000}}) {
      const auto x = samples<double>(rank, n);
      std::vector<double> y(n);
      for (int again = 0; again < 3; ++again) {
        ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, own, &o));
        EXPECT_EQ(y, sums<double>(n));
        EXPECT_STREQ(report.algorithm, "node");
      }
    }
    // What it does not serve goes on as before.
    std::vector<std::size_t> counts(static_cast<std::size_t>(ranks), 3);
    counts[0] = 4;
    std::size_t total = 0;
    for (const std::size_t c : counts) total += c;
    const auto x = samples<double>(rank, total);
    std::vector<double> y(4);
    ASSERT_STRETTO_OK(stretto_reduce_scatter(x.data(), y.data(), counts.data(), STRETTO_F64, STRETTO_SUM, own, &o));
    if (ranks > 1) {
      EXPECT_STRNE(report.algorithm, "node");
    }
  }
  ASSERT_STRETTO_OK(stretto_comm_free(own));
}

TEST_F(Close, IsOffWhereAnyRankSaysSo) {
  if (rank == ranks - 1) setenv("STRETTO_NODE", "0", 1);
  stretto_comm own = nullptr;
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &own));
  unsetenv("STRETTO_NODE");
  std::vector<float> x(4, 1.0F), y(4);
  EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, own, &node), STRETTO_UNSUPPORTED);
  const std::string why = "STRETTO_NODE=0 on rank " + std::to_string(ranks - 1);
  EXPECT_NE(std::string(stretto_message()).find(why), std::string::npos) << stretto_message();
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.report = &report;
  ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, own, &o));
  EXPECT_STRNE(report.algorithm, "node");
  ASSERT_STRETTO_OK(stretto_comm_free(own));
}

TEST_F(Close, StartedFormsAreNotItsOwn) {
  std::vector<float> x(4, 1.0F), y(4);
  stretto_request r = nullptr;
  node.report = nullptr;
  ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, comm, &node, &r));
  EXPECT_EQ(stretto_wait(r), STRETTO_UNSUPPORTED);
  ASSERT_STRETTO_OK(stretto_request_free(&r));
}

TEST_F(Close, LetsWhatWasStartedBeforeItEnd) {
  constexpr std::size_t n = 30000;
  const auto x = samples<double>(rank, n);
  const auto expected = sums<double>(n);
  for (const int check : {1, 0}) {
    stretto_options ours = STRETTO_OPTIONS_INIT;
    ours.schedule = "ring";
    ours.check = node.check = check;
    std::vector<std::vector<double>> y(4, std::vector<double>(n));
    std::vector<stretto_request> requests(3, nullptr);
    for (std::size_t k = 0; k < 3; ++k)
      ASSERT_STRETTO_OK(
          stretto_iallreduce(x.data(), y[k].data(), n, STRETTO_F64, STRETTO_SUM, comm, &ours, &requests[k]));
    // Odd ranks wait for one of them first, even ranks for none.
    if (rank % 2) {
      ASSERT_STRETTO_OK(stretto_wait(requests[1]));
    }
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y[3].data(), n, STRETTO_F64, STRETTO_SUM, comm, &node));
    EXPECT_STREQ(report.algorithm, "node");
    for (auto& r : requests) {
      ASSERT_STRETTO_OK(stretto_wait(r));
      ASSERT_STRETTO_OK(stretto_request_free(&r));
    }
    for (const auto& v : y) EXPECT_EQ(v, expected);
  }
}

TEST_F(Close, BarriersMeetWhetherOrNotSomethingIsInFlight) {
  constexpr std::size_t n = 30000;
  const auto x = samples<double>(rank, n);
  std::vector<double> y(n);
  for (int again = 0; again < 3; ++again) {
    stretto_options ours = STRETTO_OPTIONS_INIT;
    ours.schedule = "ring";
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, comm, &ours, &r));
    if (rank % 2) {
      ASSERT_STRETTO_OK(stretto_wait(r));
    }
    ASSERT_STRETTO_OK(stretto_barrier(comm, nullptr));
    ASSERT_STRETTO_OK(stretto_barrier(comm, nullptr));
    double one = 1, all = 0;
    ASSERT_STRETTO_OK(stretto_allreduce(&one, &all, 1, STRETTO_F64, STRETTO_SUM, comm, &node));
    EXPECT_EQ(all, ranks);
    ASSERT_STRETTO_OK(stretto_wait(r));
    ASSERT_STRETTO_OK(stretto_request_free(&r));
    EXPECT_EQ(y, sums<double>(n));
  }
}

// Rank 0 posts a receive and broadcasts; rank 1, the root, sends something long before it comes. Its send ends only while rank 0 lets
// the MPI progress inside its wait.
TEST_F(Close, TheMpiProgressesWhileARankWaits) {
  if (ranks == 1) GTEST_SKIP() << "nobody sends";
  constexpr int n = 1 << 22;
  std::vector<int> message(n, rank);
  node.check = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) MPI_Irecv(message.data(), n, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Send(message.data(), n, MPI_INT, 0, 5, MPI_COMM_WORLD);
  std::int32_t x = rank == 1 ? 17 : 0;
  ASSERT_STRETTO_OK(stretto_bcast(&x, 1, STRETTO_I32, 1, comm, &node));
  EXPECT_EQ(x, 17);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 0) {
    EXPECT_EQ(message.back(), 1);
  }
}

TEST_F(Close, RanksThatDifferAreToldWithoutAnExchange) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  node.check = 0;
  node.timeout = 60;
  std::vector<float> x(9, 1.0F), y(9);
  const std::size_t n = rank == 0 ? 9 : 5;
  EXPECT_EQ(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &node), STRETTO_INCOMPATIBLE);
  const std::string why = stretto_message();
  EXPECT_NE(why.find("bytes 36"), std::string::npos) << why;
  EXPECT_NE(why.find("bytes 20"), std::string::npos) << why;
  EXPECT_NE(stretto_barrier(comm, &node), STRETTO_OK);  // what the others have done is uncertain
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(Close, WithAgreementRanksThatDifferOrErrAreToldWhatAndGoOn) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  std::vector<float> x(9, 1.0F), y(9);
  const auto works = [&] {
    for (int again = 0; again < 3; ++again) {
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 9, STRETTO_F32, STRETTO_SUM, comm, &node));
      EXPECT_EQ(y, std::vector<float>(9, static_cast<float>(ranks)));
      EXPECT_STREQ(report.algorithm, "node");
    }
  };
  works();
  for (int again = 0; again < 3; ++again) {
    const std::size_t n = rank == 0 ? 9 : 5;
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &node), STRETTO_INCOMPATIBLE);
    EXPECT_NE(std::string(stretto_message()).find("count differs: 5 on rank 1, 9 on rank 0"), std::string::npos)
        << stretto_message();
    works();
  }
  float* out = rank == 0 ? nullptr : y.data();
  EXPECT_EQ(stretto_allreduce(x.data(), out, 9, STRETTO_F32, STRETTO_SUM, comm, &node), STRETTO_INVALID_ARGUMENT);
  EXPECT_NE(std::string(stretto_message()).find("recvbuf is NULL"), std::string::npos) << stretto_message();
  works();
  if (rank == 0) {
    EXPECT_EQ(stretto_barrier(comm, nullptr), STRETTO_INCOMPATIBLE);
  } else {
    EXPECT_EQ(stretto_bcast(x.data(), 9, STRETTO_F32, 0, comm, nullptr), STRETTO_INCOMPATIBLE);
  }
  works();
}

TEST_F(Close, BlockingAndStartedFormsThatMeetAreToldOnAllRanks) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  std::vector<float> x(4, 1.0F), y(4);
  stretto_status s = STRETTO_OK;
  if (rank == 0) {
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, comm, nullptr, &r));
    s = stretto_wait(r);
    ASSERT_STRETTO_OK(stretto_request_free(&r));
  } else {
    s = stretto_allreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, comm, nullptr);
  }
  EXPECT_EQ(s, STRETTO_INCOMPATIBLE);
  EXPECT_NE(std::string(stretto_message()).find("collective differs"), std::string::npos) << stretto_message();
  // What follows runs without the shared memory.
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.report = &report;
  for (int again = 0; again < 3; ++again) {
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(y, std::vector<float>(4, static_cast<float>(ranks)));
    EXPECT_STRNE(report.algorithm, "node");
  }
}

TEST_F(Close, CallsThatRepeatGoOnWithoutTheMemoryOnceItsUseHasEnded) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  setenv("STRETTO_PROFILE", "built-in", 1);
  stretto_comm own = nullptr;
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &own));
  unsetenv("STRETTO_PROFILE");
  constexpr std::size_t n = 300;
  const auto x = samples<double>(rank, n);
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.report = &report;
  const auto repeat = [&](int check) {
    o.check = check;
    for (int again = 0; again < 3; ++again) {
      std::vector<double> y(n);
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, own, &o));
      EXPECT_EQ(y, sums<double>(n));
    }
  };
  repeat(1);
  repeat(0);
  EXPECT_STREQ(report.algorithm, "node");
  std::vector<double> y(n);
  stretto_status s = STRETTO_OK;
  if (rank == 0) {
    s = stretto_allreduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, own, nullptr);
  } else {
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, own, nullptr, &r));
    s = stretto_wait(r);
    ASSERT_STRETTO_OK(stretto_request_free(&r));
  }
  EXPECT_EQ(s, STRETTO_INCOMPATIBLE);
  repeat(0);
  EXPECT_STRNE(report.algorithm, "node");
  repeat(1);
  EXPECT_STRNE(report.algorithm, "node");
  ASSERT_STRETTO_OK(stretto_comm_free(own));
}

// The MPI's own started collective keeps no limit, so what waits for it must.
TEST_F(Close, ABlockingCallWaitsForARequestBeforeItNoLongerThanItsLimit) {
  if (ranks == 1) GTEST_SKIP() << "nobody is waited for";
  for (const int check : {1, 0}) {
    stretto_comm own = nullptr;
    ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &own));
    std::vector<float> x(9, 1.0F), y(9);
    stretto_options started = STRETTO_OPTIONS_INIT, o = node;
    started.schedule = "native";
    started.check = 0;
    o.report = nullptr;
    o.check = check;
    o.timeout = 0.2;
    stretto_request r = nullptr;
    if (rank == 0) {
      ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), 9, STRETTO_F32, STRETTO_SUM, own, &started, &r));
      EXPECT_EQ(stretto_barrier(own, &o), STRETTO_TIMEOUT);
      EXPECT_NE(std::string(stretto_message()).find("barrier waits for allreduce of 9 elements"), std::string::npos)
          << stretto_message();
      EXPECT_EQ(stretto_barrier(own, &o), STRETTO_TIMEOUT);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) {
      ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), 9, STRETTO_F32, STRETTO_SUM, own, &started, &r));
    }
    ASSERT_STRETTO_OK(stretto_wait(r));  // it was under way, and ends well
    EXPECT_EQ(y, std::vector<float>(9, static_cast<float>(ranks)));
    ASSERT_STRETTO_OK(stretto_request_free(&r));
    ASSERT_STRETTO_OK(stretto_comm_free(own));
  }
}

TEST_F(Close, WhoStaysAwayIsNamedWithinTheLimit) {
  if (ranks == 1) GTEST_SKIP() << "nobody is waited for";
  node.check = 0;
  node.timeout = 0.2;
  std::vector<float> x(9, 1.0F), y(9);
  if (rank != 0) {
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 9, STRETTO_F32, STRETTO_SUM, comm, &node), STRETTO_TIMEOUT);
    EXPECT_NE(std::string(stretto_message()).find("for rank 0"), std::string::npos) << stretto_message();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
