// Repeated calls take a fast path to the MPI's own collective, with equal results, errors and reports. On the launched
// ranks.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "../../launched.hpp"
#include "../ranks.hpp"
#include "stretto/stretto_mpi.h"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

constexpr int kTimes = 3;  // the first one takes the long way

class PreparedCalls : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &comm));
    rank = stretto_comm_rank(comm);
    ranks = stretto_comm_size(comm);
    o.check = 0;
  }
  void TearDown() override { ASSERT_STRETTO_OK(stretto_comm_free(comm)); }

  std::vector<float> sums(std::size_t n) const {
    std::vector<float> s(n);
    for (int r = 0; r < ranks; ++r)
      for (std::size_t i = 0; i < n; ++i) s[i] += static_cast<float>(sample(r, i));
    return s;
  }

  stretto_comm comm = nullptr;
  stretto_options o = STRETTO_OPTIONS_INIT;
  int rank = 0, ranks = 1;
};

}  // namespace

TEST_F(PreparedCalls, EveryRepetitionGivesWhatTheFirstCallGave) {
  const std::size_t n = 5, p = static_cast<std::size_t>(ranks);
  const auto x = samples<float>(rank, n * p);
  for (int k = 0; k < kTimes; ++k) {
    std::vector<float> y(n * p), z(n);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n * p, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(y, sums(n * p));
    y = x;
    ASSERT_STRETTO_OK(stretto_allreduce(STRETTO_IN_PLACE, y.data(), n * p, STRETTO_F32, STRETTO_MEAN, comm, &o));
    for (std::size_t i = 0; i < n * p; ++i) EXPECT_EQ(y[i], sums(n * p)[i] / static_cast<float>(ranks));
    ASSERT_STRETTO_OK(stretto_reduce_scatter_block(x.data(), z.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(z[i], sums(n * p)[static_cast<std::size_t>(rank) * n + i]);
    ASSERT_STRETTO_OK(stretto_allgather(x.data(), y.data(), n, STRETTO_F32, comm, &o));
    std::vector<float> back(n * p);
    ASSERT_STRETTO_OK(stretto_alltoall(y.data(), back.data(), n, STRETTO_F32, comm, &o));
    for (std::size_t i = 0; i < n * p; ++i) {
      EXPECT_EQ(y[i], sample(static_cast<int>(i / n), i % n));
      EXPECT_EQ(back[i], sample(rank, i % n));
    }
    for (int root = 0; root < ranks; ++root) {
      auto b = rank == root ? x : std::vector<float>(n * p);
      ASSERT_STRETTO_OK(stretto_bcast(b.data(), n * p, STRETTO_F32, root, comm, &o));
      EXPECT_EQ(b, samples<float>(root, n * p));
      ASSERT_STRETTO_OK(
          stretto_reduce(x.data(), rank == root ? z.data() : nullptr, n, STRETTO_F32, STRETTO_MEAN, root, comm, &o));
      if (rank == root) {
        for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(z[i], sums(n)[i] / static_cast<float>(ranks));
      }
      ASSERT_STRETTO_OK(stretto_gather(x.data(), rank == root ? y.data() : nullptr, n, STRETTO_F32, root, comm, &o));
      ASSERT_STRETTO_OK(stretto_scatter(rank == root ? y.data() : nullptr, z.data(), n, STRETTO_F32, root, comm, &o));
      EXPECT_EQ(z, samples<float>(rank, n));
    }
    ASSERT_STRETTO_OK(stretto_barrier(comm, &o));
  }
}

TEST_F(PreparedCalls, AReportThatOneRankAsksForLaterHasItsPrediction) {
  if (ranks == 1) GTEST_SKIP() << "one rank predicts nothing";
  std::array<float, 4> x{1, 2, 3, 4}, y{};
  stretto_report report = STRETTO_REPORT_INIT;
  for (int k = 0; k < 4 * kTimes; ++k) {
    const bool tells = rank == 0 && k % kTimes == kTimes - 1;
    report = STRETTO_REPORT_INIT;
    o.report = tells ? &report : nullptr;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(y[3], 4 * static_cast<float>(ranks));
    EXPECT_TRUE(!tells || report.predicted_seconds > 0) << report.algorithm << ", call " << k;
  }
}

TEST_F(PreparedCalls, RepetitionsCheckBuffersAndOptionsAsTheFirstDid) {
  std::array<float, 4> x{1, 2, 3, 4}, y{};
  const auto sum = [&](const void* send, void* recv, const stretto_options& with) {
    return stretto_allreduce(send, recv, x.size(), STRETTO_F32, STRETTO_SUM, comm, &with);
  };
  for (int k = 0; k < kTimes; ++k) ASSERT_STRETTO_OK(sum(x.data(), y.data(), o));
  // Each is wrong on all ranks alike, and nothing moves.
  EXPECT_EQ(sum(nullptr, y.data(), o), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(sum(x.data(), nullptr, o), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(sum(x.data(), x.data(), o), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(sum(x.data(), STRETTO_IN_PLACE, o), STRETTO_INVALID_ARGUMENT);
  stretto_options wrong = o;
  wrong.timeout = std::nan("");
  EXPECT_EQ(sum(x.data(), y.data(), wrong), STRETTO_INVALID_ARGUMENT);
  for (const double threshold : {-1.0, std::nan("")}) {
    wrong = o;
    wrong.ignore_above = threshold;
    EXPECT_EQ(sum(x.data(), y.data(), wrong), STRETTO_INVALID_ARGUMENT);
  }
  wrong = o;
  wrong.size = 1;
  EXPECT_EQ(sum(x.data(), y.data(), wrong), STRETTO_INVALID_ARGUMENT);
  // A struct of an earlier version has no memory behind its end.
  constexpr std::size_t shorter = offsetof(stretto_options, reproducible);
  const std::unique_ptr<std::byte[]> old(new std::byte[shorter]);
  stretto_options known = o;
  known.size = shorter;
  std::memcpy(old.get(), &known, shorter);
  for (int k = 0; k < kTimes; ++k) {
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm,
                                        reinterpret_cast<const stretto_options*>(old.get())));
  }
  wrong = o;
  wrong.bound_kind = STRETTO_BOUND_ABSOLUTE;
  wrong.scope = STRETTO_SCOPE_CONTRIBUTION;
  wrong.bound = -1;
  EXPECT_EQ(sum(x.data(), y.data(), wrong), STRETTO_INVALID_BOUND);
  wrong = o;
  wrong.schedule = "no such schedule";
  EXPECT_EQ(sum(x.data(), y.data(), wrong), STRETTO_UNSUPPORTED);
  ASSERT_STRETTO_OK(sum(x.data(), y.data(), o));
  EXPECT_EQ(y[1], 2 * static_cast<float>(ranks));
}

TEST_F(PreparedCalls, ADifferingThresholdOfARelativeBoundIsNamed) {
  const auto x = samples<float>(rank, 6);
  std::vector<float> y(6);
  o = bounded(1e-3, STRETTO_BOUND_RELATIVE);
  const auto largest = [&] { return stretto_allreduce(x.data(), y.data(), 6, STRETTO_F32, STRETTO_MAX, comm, &o); };
  for (int k = 0; k < kTimes; ++k) ASSERT_STRETTO_OK(largest());
  if (rank == ranks - 1) o.ignore_above = 1e10;
  if (ranks > 1) {
    EXPECT_EQ(largest(), STRETTO_INCOMPATIBLE);
    EXPECT_NE(std::string(stretto_message()).find("ignore_above differs"), std::string::npos) << stretto_message();
  }
  o.ignore_above = 1e10;
  for (int k = 0; k < kTimes; ++k) ASSERT_STRETTO_OK(largest());
}

TEST_F(PreparedCalls, OptionsThatAskForSomethingElseGetIt) {
  const auto x = samples<float>(rank, 6);
  std::vector<float> y(6);
  stretto_report report = STRETTO_REPORT_INIT;
  o.report = &report;
  std::string name = "native";
  const auto ran = [&](const char* schedule, int check) {
    o.schedule = schedule;
    o.check = check;
    report = STRETTO_REPORT_INIT;
    std::fill(y.begin(), y.end(), 0.0F);
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 6, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_OK);
    EXPECT_EQ(y, sums(6));
    EXPECT_EQ(report.contributions, static_cast<std::uint64_t>(ranks));
    return std::string(report.algorithm);
  };
  const std::string chosen = ran(nullptr, 0);
  EXPECT_TRUE(chosen == "native" || chosen == "node") << chosen;
  for (int k = 0; k < kTimes; ++k) {
    EXPECT_EQ(ran(nullptr, 0), chosen);
    name = "native";
    EXPECT_EQ(ran(name.c_str(), 0), "native");
    name = "ring";  // at the same address
    EXPECT_EQ(ran(name.c_str(), 0), "ring");
    EXPECT_EQ(ran("ring", 1), "ring");
    EXPECT_EQ(ran(nullptr, 1), chosen);
  }
}

TEST_F(PreparedCalls, AnAgreementIsTimedAndABarrierThatIsOneSaysSo) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  stretto_report report = STRETTO_REPORT_INIT;
  o.report = &report;
  o.check = 1;
  const auto x = samples<float>(rank, 6);
  std::vector<float> y(6);
  for (int k = 0; k < kTimes; ++k) {
    ASSERT_STRETTO_OK(stretto_barrier(comm, &o));
    EXPECT_STREQ(report.algorithm, "agreement");
    EXPECT_STREQ(report.reason, "agreement");
    EXPECT_GT(report.agree_seconds, 0);
    EXPECT_LE(report.agree_seconds, report.seconds);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 6, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_STRNE(report.algorithm, "agreement");
    EXPECT_GT(report.agree_seconds, 0);
    EXPECT_LT(report.agree_seconds, report.seconds);
  }
  o.check = 0;
  for (int k = 0; k < kTimes; ++k) {
    ASSERT_STRETTO_OK(stretto_barrier(comm, &o));
    EXPECT_STRNE(report.algorithm, "agreement");
    EXPECT_EQ(report.agree_seconds, 0);
  }
}

TEST_F(PreparedCalls, ARepetitionWaitsForWhatWasStartedBeforeIt) {
  constexpr std::size_t n = 20000;
  const auto x = samples<float>(rank, n);
  std::vector<float> y(n);
  float one = 1, all = 0;
  for (int k = 0; k < kTimes; ++k) {
    stretto_options ours = o;
    ours.schedule = "ring";
    stretto_request request = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &ours, &request));
    // Odd ranks have nothing in flight any more.
    if (rank % 2) {
      ASSERT_STRETTO_OK(stretto_wait(request));
    }
    ASSERT_STRETTO_OK(stretto_allreduce(&one, &all, 1, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(all, static_cast<float>(ranks));
    ASSERT_STRETTO_OK(stretto_wait(request));
    ASSERT_STRETTO_OK(stretto_request_free(&request));
    EXPECT_EQ(y, sums(n));
    ASSERT_STRETTO_OK(stretto_allreduce(&one, &all, 1, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(all, static_cast<float>(ranks));
  }
}

TEST_F(PreparedCalls, MoreShapesThanAreKeptAreServedAllTheSame) {
  const auto x = samples<float>(rank, 300);
  std::vector<float> y(300);
  const auto expected = sums(300);
  for (int k = 0; k < 2; ++k)
    for (std::size_t n = 0; n <= 300; ++n) {
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
      ASSERT_TRUE(std::equal(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(n), expected.begin())) << n;
    }
}

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
