// The C API over MPI, on the launched ranks: exact and bounded collectives, disagreement, requests, several
// communicators. Each rank runs the same tests; the program fails on all ranks when a test fails on one.
#include <dlfcn.h>

#include "stretto/stretto_mpi.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../../launched.hpp"
#include "../ranks.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

class Mpi : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &comm));
    rank = stretto_comm_rank(comm);
    ranks = stretto_comm_size(comm);
  }
  void TearDown() override { ASSERT_STRETTO_OK(stretto_comm_free(comm)); }

  stretto_comm comm = nullptr;
  int rank = 0, ranks = 1;
};

int broadcasts_until_failure = 0;  // of MPI_Bcast on this rank; 0: none fails
int probes = 0;                    // by this rank
int tool_inits = 0;                // of the MPI's interface for tools, on this rank

}  // namespace

// Called by the module: a broadcast that takes part and yet reports failure.
extern "C" int PMPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  static const auto real = reinterpret_cast<decltype(&PMPI_Bcast)>(dlsym(RTLD_NEXT, "PMPI_Bcast"));
  const int result = real(buffer, count, type, root, comm);
  return broadcasts_until_failure > 0 && --broadcasts_until_failure == 0 ? MPI_ERR_OTHER : result;
}

extern "C" int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int* found, MPI_Status* status) {
  static const auto real = reinterpret_cast<decltype(&PMPI_Iprobe)>(dlsym(RTLD_NEXT, "PMPI_Iprobe"));
  ++probes;
  return real(source, tag, comm, found, status);
}

extern "C" int PMPI_T_init_thread(int required, int* provided) {
  static const auto real = reinterpret_cast<decltype(&PMPI_T_init_thread)>(dlsym(RTLD_NEXT, "PMPI_T_init_thread"));
  ++tool_inits;
  return real(required, provided);
}

TEST_F(Mpi, CollectivesAgreeWithThoseOfTheMpi) {
  for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{300001}}) {
    const auto x = samples<double>(rank, n);
    std::vector<double> y(n), expected(n);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, comm, nullptr));
    MPI_Allreduce(x.data(), expected.data(), static_cast<int>(n), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(y, expected);
    const auto p = static_cast<std::size_t>(ranks);
    std::vector<double> all(n * p), expected_all(n * p);
    ASSERT_STRETTO_OK(stretto_allgather(x.data(), all.data(), n, STRETTO_F64, comm, nullptr));
    MPI_Allgather(x.data(), static_cast<int>(n), MPI_DOUBLE, expected_all.data(), static_cast<int>(n), MPI_DOUBLE,
                  MPI_COMM_WORLD);
    EXPECT_EQ(all, expected_all);
    ASSERT_STRETTO_OK(stretto_alltoall(expected_all.data(), all.data(), n, STRETTO_F64, comm, nullptr));
    for (std::size_t s = 0; s < p; ++s)
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(all[s * n + i], sample(rank, i));
    for (int root = 0; root < ranks; ++root) {
      auto b = rank == root ? x : std::vector<double>(n);
      ASSERT_STRETTO_OK(stretto_bcast(b.data(), n, STRETTO_F64, root, comm, nullptr));
      EXPECT_EQ(b, samples<double>(root, n));
      ASSERT_STRETTO_OK(stretto_reduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, root, comm, nullptr));
      if (rank == root) {
        EXPECT_EQ(y, expected);
      }
      ASSERT_STRETTO_OK(stretto_gather(x.data(), all.data(), n, STRETTO_F64, root, comm, nullptr));
      if (rank == root) {
        EXPECT_EQ(all, expected_all);
      }
      ASSERT_STRETTO_OK(stretto_scatter(expected_all.data(), y.data(), n, STRETTO_F64, root, comm, nullptr));
      EXPECT_EQ(y, x);
    }
  }
  ASSERT_STRETTO_OK(stretto_barrier(comm, nullptr));
}

// Messages without a receive would be found by a hundred probes, which oversubscribed cores feel.
TEST_F(Mpi, FreeingProbesOnlyIfAMessageWasSent) {
  if (ranks == 1) GTEST_SKIP() << "one rank sends nothing";
  for (const bool sends : {false, true}) {
    stretto_comm made = nullptr;
    ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &made));
    stretto_options o = STRETTO_OPTIONS_INIT;
    o.schedule = sends ? "ring" : "node";
    std::vector<double> x(100, 1.0), y(100);
    const stretto_status done = stretto_allreduce(x.data(), y.data(), 100, STRETTO_F64, STRETTO_SUM, made, &o);
    if (!sends && done == STRETTO_UNSUPPORTED) {
      const std::string why = stretto_message();
      ASSERT_STRETTO_OK(stretto_comm_free(made));
      GTEST_SKIP() << why;
    }
    ASSERT_STRETTO_OK(done);
    EXPECT_EQ(y[99], ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    probes = 0;
    ASSERT_STRETTO_OK(stretto_comm_free(made));
    EXPECT_EQ(probes > 0, sends) << probes;
  }
}

TEST_F(Mpi, CountsOfTheRootAreEnough) {
  std::vector<std::size_t> counts;
  std::size_t sum = 0;
  for (int r = 0; r < ranks; ++r) sum += counts.emplace_back(static_cast<std::size_t>(r) * 1000);
  const std::size_t n = counts[static_cast<std::size_t>(rank)];
  const auto x = samples<float>(rank, n);
  std::vector<float> all(sum), back(n);
  ASSERT_STRETTO_OK(stretto_gatherv(x.data(), n, rank == 0 ? all.data() : nullptr, rank == 0 ? counts.data() : nullptr,
                                    nullptr, STRETTO_F32, 0, comm, nullptr));
  ASSERT_STRETTO_OK(stretto_scatterv(rank == 0 ? all.data() : nullptr, rank == 0 ? counts.data() : nullptr, nullptr,
                                     back.data(), n, STRETTO_F32, 0, comm, nullptr));
  EXPECT_EQ(back, x);
}

TEST_F(Mpi, BoundedSumsKeepTheirPromiseAndAreTheSameBitsEverywhere) {
  constexpr std::size_t n = 200000;
  std::vector<double> exact(n, 0.0);
  for (int r = 0; r < ranks; ++r) {
    const auto x = wave(r, n);
    for (std::size_t i = 0; i < n; ++i) exact[i] += x[i];
  }
  for (const char* schedule : {"ring", "recursive_doubling", "rabenseifner"})
    for (stretto_payload payload : {STRETTO_PAYLOAD_RECOMPRESS, STRETTO_PAYLOAD_HOMOMORPHIC, STRETTO_PAYLOAD_FUSED}) {
      stretto_report report = STRETTO_REPORT_INIT;
      stretto_options o = bounded(1e-4, STRETTO_BOUND_RELATIVE, STRETTO_SCOPE_RESULT);
      o.schedule = schedule;
      o.payload = payload;
      o.report = &report;
      const auto x = wave(rank, n);
      std::vector<float> y(n), other(n);
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
      double w = 0;
      for (std::size_t i = 0; i < n; ++i) w = std::max(w, std::fabs(double{y[i]} - exact[i]) - half_ulp(y[i]));
      EXPECT_LE(w, report.promised_error);
      if (ranks > 1) {
        EXPECT_GT(report.ratio, 1.5);
      }
      other = y;
      MPI_Bcast(other.data(), static_cast<int>(n), MPI_FLOAT, 0, MPI_COMM_WORLD);
      EXPECT_EQ(std::memcmp(other.data(), y.data(), n * sizeof(float)), 0);
    }
}

TEST_F(Mpi, DisagreementIsToldToEveryRank) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  std::vector<float> x(100, 1.0f), y(100);
  EXPECT_EQ(stretto_allreduce(x.data(), y.data(), rank == 1 ? 99 : 100, STRETTO_F32, STRETTO_SUM, comm, nullptr),
            STRETTO_INCOMPATIBLE);
  EXPECT_NE(std::string(stretto_message()).find("99 on rank 1"), std::string::npos) << stretto_message();
  EXPECT_EQ(stretto_allreduce(rank == 0 ? nullptr : x.data(), y.data(), 100, STRETTO_F32, STRETTO_SUM, comm, nullptr),
            STRETTO_INVALID_ARGUMENT);
  ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 100, STRETTO_F32, STRETTO_SUM, comm, nullptr));
  EXPECT_EQ(y[99], static_cast<float>(ranks));
}

TEST_F(Mpi, RequestsAreWaitedForInAnyOrder) {
  std::vector<std::vector<double>> x, y;
  std::vector<stretto_request> requests(4, nullptr);
  for (std::size_t f = 0; f < 4; ++f) {
    x.push_back(samples<double>(rank, 20000 * f + 3));
    y.emplace_back(x[f].size());
    ASSERT_STRETTO_OK(stretto_iallreduce(x[f].data(), y[f].data(), y[f].size(), STRETTO_F64, STRETTO_SUM, comm, nullptr,
                                         &requests[f]));
  }
  for (std::size_t k = 0; k < 4; ++k) {
    const std::size_t f = rank % 2 ? 3 - k : k;
    ASSERT_STRETTO_OK(stretto_wait(requests[f]));
    ASSERT_STRETTO_OK(stretto_request_free(&requests[f]));
    for (std::size_t i = 0; i < y[f].size(); ++i) {
      double s = 0;
      for (int r = 0; r < ranks; ++r) s += sample(r, i);
      ASSERT_EQ(y[f][i], s);
    }
  }
}

TEST_F(Mpi, CommunicatorsOfPartsOfTheWorldAreIndependent) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  stretto_comm part = nullptr;
  ASSERT_STRETTO_OK(stretto_comm_create(half, &part));
  MPI_Comm_free(&half);  // a duplicate is used
  const int one = 1;
  int of_part = 0, of_all = 0;
  ASSERT_STRETTO_OK(stretto_allreduce(&one, &of_part, 1, STRETTO_I32, STRETTO_SUM, part, nullptr));
  ASSERT_STRETTO_OK(stretto_allreduce(&one, &of_all, 1, STRETTO_I32, STRETTO_SUM, comm, nullptr));
  EXPECT_EQ(of_part, (ranks + 1 - rank % 2) / 2);
  EXPECT_EQ(of_all, ranks);
  ASSERT_STRETTO_OK(stretto_comm_free(part));
}

TEST_F(Mpi, RankZeroSetsLevelsAndAllRanksNameAnUnknownLevel) {
  setenv("STRETTO_LEVELS", rank == 0 ? "l3,die" : "l3", 1);
  stretto_comm none = nullptr;
  EXPECT_EQ(stretto_comm_create(MPI_COMM_WORLD, &none), STRETTO_INVALID_ARGUMENT);
  EXPECT_STREQ(stretto_message(), "STRETTO_LEVELS: 'die' is no level of a hierarchy: it takes l3, numa, socket");
  EXPECT_EQ(none, nullptr);
  setenv("STRETTO_LEVELS", rank == 0 ? "" : "die", 1);
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &none));
  ASSERT_STRETTO_OK(stretto_comm_free(none));
  unsetenv("STRETTO_LEVELS");
}

TEST_F(Mpi, ANumberOfCodecThreadsThatIsNoneIsNamed) {
  for (const char* threads : {"0", "two", "257", "2 "}) {
    if (rank == ranks - 1) setenv("STRETTO_CODEC_THREADS", threads, 1);
    stretto_comm none = nullptr;
    EXPECT_EQ(stretto_comm_create(MPI_COMM_WORLD, &none), STRETTO_INVALID_ARGUMENT);
    if (rank == ranks - 1) {
      const std::string text = std::string("STRETTO_CODEC_THREADS=") + threads + ": a number of threads, from 1 to 256";
      EXPECT_EQ(stretto_message(), text);
    }
    EXPECT_EQ(none, nullptr);
  }
  setenv("STRETTO_CODEC_THREADS", "2", 1);
  stretto_comm two = nullptr;
  EXPECT_EQ(stretto_comm_create(MPI_COMM_WORLD, &two), STRETTO_OK) << stretto_message();
  unsetenv("STRETTO_CODEC_THREADS");
  ASSERT_STRETTO_OK(stretto_comm_free(two));
}

TEST_F(Mpi, AHierarchyIsRankZerosAndOneThatIsNoneIsNamedOnAllRanks) {
  setenv("STRETTO_HIERARCHY", rank == 0 ? "0-1|one" : "flat", 1);
  stretto_comm none = nullptr;
  EXPECT_EQ(stretto_comm_create(MPI_COMM_WORLD, &none), STRETTO_INVALID_ARGUMENT);
  EXPECT_STREQ(stretto_message(), "STRETTO_HIERARCHY: 'one' is neither a rank nor a range of ranks");
  EXPECT_EQ(none, nullptr);
  unsetenv("STRETTO_HIERARCHY");
}

TEST_F(Mpi, SumsInSharedMemoryFollowTheGivenHierarchy) {
  if (ranks != 3) return;
  setenv("STRETTO_HIERARCHY", "0,2|1;reduce=flat", 1);
  stretto_comm grouped = nullptr;
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &grouped));
  unsetenv("STRETTO_HIERARCHY");
  const float of[3] = {1, 16777216, -16777216};  // (x0 + x2) + x1 = 1, (x0 + x1) + x2 = 0
  const std::vector<float> mine(9000, of[rank]);
  std::vector<float> sum(mine.size());
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.schedule = "node";
  const auto summed = [&](float x) { return sum == std::vector<float>(sum.size(), x); };
  ASSERT_STRETTO_OK(stretto_allreduce(mine.data(), sum.data(), sum.size(), STRETTO_F32, STRETTO_SUM, grouped, &o));
  EXPECT_FALSE(summed(0));
  ASSERT_STRETTO_OK(stretto_reduce(mine.data(), sum.data(), sum.size(), STRETTO_F32, STRETTO_SUM, 0, grouped, &o));
  EXPECT_TRUE(rank != 0 || summed(0));
  o.reproducible = 1;
  ASSERT_STRETTO_OK(stretto_allreduce(mine.data(), sum.data(), sum.size(), STRETTO_F32, STRETTO_SUM, grouped, &o));
  EXPECT_TRUE(summed(0));
  ASSERT_STRETTO_OK(stretto_comm_free(grouped));
}

TEST_F(Mpi, AnExscanNeedsNoResultOnRank0) {
  const std::vector<int> mine(40, rank + 1);
  std::vector<int> sum(rank == 0 ? 0 : 40);
  int* const result = rank == 0 ? nullptr : sum.data();
  for (const char* const schedule : {static_cast<const char*>(nullptr), "native", "chain"}) {
    stretto_options o = STRETTO_OPTIONS_INIT;
    o.schedule = schedule;
    for (const bool starts : {false, true}) {
      std::fill(sum.begin(), sum.end(), 0);
      if (starts) {
        stretto_request request = nullptr;
        ASSERT_STRETTO_OK(
            stretto_iexscan(mine.data(), result, mine.size(), STRETTO_I32, STRETTO_SUM, comm, &o, &request));
        ASSERT_STRETTO_OK(stretto_wait(request));
        ASSERT_STRETTO_OK(stretto_request_free(&request));
      } else {
        ASSERT_STRETTO_OK(stretto_exscan(mine.data(), result, mine.size(), STRETTO_I32, STRETTO_SUM, comm, &o));
      }
      EXPECT_EQ(sum, std::vector<int>(sum.size(), rank * (rank + 1) / 2));
    }
  }
}

TEST_F(Mpi, ARankThatFailsAloneFailsTheCreationOnAll) {
  int until = 0;  // of what rank 0 knows: its status, its text's length, its text
  for (const char* profile : {"zen4-2core", "a100-100g", "h200-1gpu"}) {  // no rank knows it of an earlier communicator
    ++until;
    if (rank == 0) setenv("STRETTO_PROFILE", profile, 1);
    stretto_comm none = nullptr;
    broadcasts_until_failure = rank == ranks - 1 ? until : 0;
    EXPECT_EQ(stretto_comm_create(MPI_COMM_WORLD, &none), STRETTO_MPI_ERROR);
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(broadcasts_until_failure, 0);
  }
  if (rank == 0) unsetenv("STRETTO_PROFILE");
}

// There an MPI opens all of its components, which takes Open MPI 4.1 a tenth of a second.
TEST_F(Mpi, ACommunicatorOfOneHostOpensNoInterfaceForTools) { EXPECT_EQ(tool_inits, 0); }

TEST_F(Mpi, WhatIsNoCommunicatorIsAnError) {
  stretto_comm none = nullptr;
  EXPECT_EQ(stretto_comm_create(MPI_COMM_NULL, &none), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_comm_create(MPI_COMM_WORLD, rank == ranks - 1 ? nullptr : &none), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
}

int main(int argc, char** argv) {
  stretto_comm early = nullptr;
  const bool refused = stretto_comm_create(MPI_COMM_WORLD, &early) == STRETTO_INVALID_ARGUMENT;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  testing::InitGoogleTest(&argc, argv);
  const int any = failed_anywhere(RUN_ALL_TESTS() | !refused);
  MPI_Finalize();
  return any;
}
