// The MPI's own collectives as a backend, on the launched ranks: results equal stretto's, blocking and started, in
// place and not. An unsupported call is an error if forced, else stretto serves it.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>

#include "../launched.hpp"
#include "one_backend.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

class MpiBackend : public OneBackend {
 protected:
  void expect_native() const {
    EXPECT_STREQ(report.algorithm, "native");
    EXPECT_STREQ(report.payload, "raw");
    EXPECT_TRUE(report.reason == std::string("forced") || report.reason == std::string("predicted")) << report.reason;
    EXPECT_EQ(report.promised_error, 0);
  }

  stretto_options native = by("native");
};

}  // namespace

TEST_F(MpiBackend, RepeatedCallsRunAlikeOnAllRanksWithinTheBound) {
  stretto_comm own = nullptr;
  create_unmeasured(&own);
  for (const int check : {1, 0}) {
    const std::size_t n = check ? 300000 : 200000;
    const auto x = samples<float>(rank, n);
    std::vector<float> y(n);
    std::vector<std::string> ran;
    stretto_options o = STRETTO_OPTIONS_INIT;
    o.bound_kind = STRETTO_BOUND_ABSOLUTE;
    o.scope = STRETTO_SCOPE_CONTRIBUTION;
    o.bound = 1e-3;
    o.check = check;
    o.report = &report;
    for (int call = 0; call < 20; ++call) {
      std::fill(y.begin(), y.end(), 0.0F);
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, own, &o));
      ran.push_back(std::string(report.algorithm) + " " + report.payload);
      for (std::size_t i = 0; i < n; i += 997)
        ASSERT_NEAR(y[i], sum_at<double>(i), report.promised_error + 1e-6 * ranks * 1000) << report.algorithm;
    }
    EXPECT_EQ(std::count(ran.begin(), ran.end(), ran.front()), 20);
    std::vector<char> names(STRETTO_NAME_MAX * static_cast<std::size_t>(ranks));
    MPI_Allgather(report.algorithm, STRETTO_NAME_MAX, MPI_CHAR, names.data(), STRETTO_NAME_MAX, MPI_CHAR,
                  MPI_COMM_WORLD);
    for (int r = 0; r < ranks; ++r)
      EXPECT_STREQ(&names[STRETTO_NAME_MAX * static_cast<std::size_t>(r)], report.algorithm);
  }
  ASSERT_STRETTO_OK(stretto_comm_free(own));
}

TEST_F(MpiBackend, EveryCollectiveGivesWhatOursGives) {
  for (const int check : {1, 0}) {
    native.check = check;
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{777}}) {
      SCOPED_TRACE(testing::Message() << n << " elements, check " << check);
      every_collective(n, native, [&] { expect_native(); });
      const std::vector<std::size_t> counts(static_cast<std::size_t>(ranks), n);
      const auto mine = samples<double>(rank, n);
      std::vector<double> all, y(counts.size() * n, -1.0);
      for (int r = 0; r < ranks; ++r) {
        const auto v = samples<double>(r, n);
        all.insert(all.end(), v.begin(), v.end());
      }
      ASSERT_STRETTO_OK(stretto_allgatherv(mine.data(), y.data(), counts.data(), nullptr, STRETTO_F64, comm, &native));
      EXPECT_EQ(y, all);
      ASSERT_STRETTO_OK(stretto_alltoallv(STRETTO_IN_PLACE, nullptr, nullptr, y.data(), counts.data(), nullptr,
                                          STRETTO_F64, comm, &native));
      for (std::size_t s = 0; s < counts.size(); ++s)
        EXPECT_TRUE(std::equal(mine.begin(), mine.end(), y.begin() + static_cast<std::ptrdiff_t>(s * n)));
      expect_native();
      ASSERT_STRETTO_OK(stretto_barrier(comm, &native));
      expect_native();
    }
  }
}

TEST_F(MpiBackend, BlocksMayLieWhereNoIntReaches) {
  // Address space alone: pages that nobody touches take no memory.
  constexpr std::size_t far = (std::size_t{1} << 31) + 100, bytes = far + 1000;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no address space";
  auto* y = static_cast<unsigned char*>(memory);
  const auto p = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> counts(p, 10), displs(p);
  for (std::size_t r = 0; r < p; ++r) displs[r] = r % 2 == 0 ? far + 10 * r : 10 * r;
  const auto x = samples<unsigned char>(rank, 10);
  ASSERT_STRETTO_OK(stretto_allgatherv(x.data(), y, counts.data(), displs.data(), STRETTO_U8, comm, &native));
  expect_native();
  for (int r = 0; r < ranks; ++r)
    for (std::size_t i = 0; i < 10; ++i) ASSERT_EQ(y[displs[static_cast<std::size_t>(r)] + i], sample(r, i));
  std::vector<unsigned char> back(10);
  ASSERT_STRETTO_OK(stretto_scatterv(rank == 0 ? y : nullptr, rank == 0 ? counts.data() : nullptr,
                                     rank == 0 ? displs.data() : nullptr, back.data(), 10, STRETTO_U8, 0, comm,
                                     &native));
  EXPECT_EQ(back, x);
  // All of it back and forth: rank r's elements come from y there, and go to y here.
  std::fill_n(y, 1000, static_cast<unsigned char>(0));
  std::vector<unsigned char> packed(10 * p);
  ASSERT_STRETTO_OK(stretto_alltoallv(y, counts.data(), displs.data(), packed.data(), counts.data(), nullptr,
                                      STRETTO_U8, comm, &native));
  expect_native();
  ASSERT_STRETTO_OK(stretto_alltoallv(packed.data(), counts.data(), nullptr, y, counts.data(), displs.data(),
                                      STRETTO_U8, comm, &native));
  const auto me = static_cast<std::size_t>(rank);
  for (std::size_t r = 0; r < p; ++r)
    for (std::size_t i = 0; i < 10; ++i) ASSERT_EQ(y[displs[r] + i], r % 2 == 0 ? sample(static_cast<int>(r), i) : 0);
  for (std::size_t i = 0; i < packed.size(); ++i) ASSERT_EQ(packed[i], me % 2 == 0 ? sample(rank, i % 10) : 0);
  munmap(memory, bytes);
}

// Open MPI saturates sums of 8 and 16 bits.
TEST_F(MpiBackend, SumsOfShortIntegersWrapInEveryCall) {
  const std::size_t n = 20'003;
  const std::vector<std::uint16_t> x(n, 40'000);
  std::vector<std::uint16_t> y(n);
  for (int call = 0; call < 10; ++call) {
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_U16, STRETTO_SUM, comm, nullptr));
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], static_cast<std::uint16_t>(40'000u * unsigned(ranks)));
  }
}

TEST_F(MpiBackend, DividesMeansOnceAndServesAllIntegerOperations) {
  const std::size_t n = 100;
  const auto x = samples<float>(rank, n);
  std::vector<float> y(n);
  ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_MEAN, comm, &native));
  expect_native();
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(y[i], sum_at<float>(i) / static_cast<float>(ranks));
  stretto_options ours = STRETTO_OPTIONS_INIT;
  ours.schedule = "recursive_doubling";
  for (int op = STRETTO_SUM; op <= STRETTO_BXOR; ++op)
    for (const stretto_type t : {STRETTO_I8, STRETTO_U16, STRETTO_I32, STRETTO_U64}) {
      const auto bits = samples<std::uint64_t>(rank, n);
      std::vector<std::uint64_t> a(n), b(n);
      const bool narrow = t == STRETTO_I8 || t == STRETTO_U16;
      const stretto_status s =
          stretto_allreduce(bits.data(), a.data(), n, t, static_cast<stretto_op>(op), comm, &native);
      if (narrow && (op == STRETTO_SUM || op == STRETTO_MEAN)) {
        EXPECT_EQ(s, STRETTO_UNSUPPORTED) << "operation " << op << " on type " << t;
        continue;
      }
      ASSERT_EQ(s, STRETTO_OK) << stretto_message();
      ASSERT_STRETTO_OK(stretto_allreduce(bits.data(), b.data(), n, t, static_cast<stretto_op>(op), comm, &ours));
      EXPECT_EQ(a, b) << "operation " << op << " on type " << t;
    }
}

TEST_F(MpiBackend, ABlockingCallLetsStartedNativeAndOwnCallsEnd) {
  constexpr std::size_t n = 30000;
  const auto x = samples<double>(rank, n);
  std::vector<double> expected(n);
  for (std::size_t i = 0; i < n; ++i) expected[i] = sum_at<double>(i);
  for (const int check : {1, 0}) {
    stretto_options ours = STRETTO_OPTIONS_INIT;
    ours.schedule = "ring";
    ours.check = native.check = check;
    std::vector<std::vector<double>> y(5, std::vector<double>(n));
    std::vector<stretto_request> requests(4, nullptr);
    for (std::size_t k = 0; k < 4; ++k) {
      // Each request has its own options: the report is told at its end.
      stretto_options o = k % 2 ? native : ours;
      o.report = nullptr;
      ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y[k].data(), n, STRETTO_F64, STRETTO_SUM, comm, &o, &requests[k]));
    }
    // Odd ranks wait for two of them first, even ranks for none.
    if (rank % 2) {
      ASSERT_STRETTO_OK(stretto_wait(requests[3]));
      ASSERT_STRETTO_OK(stretto_wait(requests[0]));
    }
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y[4].data(), n, STRETTO_F64, STRETTO_SUM, comm, &native));
    expect_native();
    for (auto& r : requests) {
      ASSERT_STRETTO_OK(stretto_wait(r));
      ASSERT_STRETTO_OK(stretto_request_free(&r));
    }
    for (const auto& v : y) EXPECT_EQ(v, expected);
  }
}

TEST_F(MpiBackend, UnsupportedCallsFailIfForcedAndElseUseSchedules) {
  std::vector<std::uint16_t> h(64, 0), k(64);
  std::vector<float> x(64, 1.0F), y(64);
  EXPECT_EQ(stretto_allreduce(h.data(), k.data(), 64, STRETTO_F16, STRETTO_SUM, comm, &native), STRETTO_UNSUPPORTED);
  EXPECT_NE(std::string(stretto_message()).find("allreduce of 64 elements of f16 by sum"), std::string::npos)
      << stretto_message();
  EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 64, STRETTO_F32, STRETTO_DIFFERENCE, comm, &native),
            STRETTO_UNSUPPORTED);
  stretto_options o = bounded(1e-3);
  o.schedule = "native";
  o.payload = STRETTO_PAYLOAD_FUSED;
  EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 64, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_UNSUPPORTED);
  EXPECT_NE(std::string(stretto_message()).find("not as payload fused"), std::string::npos) << stretto_message();
  o = defaults();
  o.report = &report;
  ASSERT_STRETTO_OK(stretto_allreduce(h.data(), k.data(), 64, STRETTO_F16, STRETTO_SUM, comm, &o));
  EXPECT_STRNE(report.algorithm, "native");
  // As bits they travel all the same.
  std::vector<std::uint16_t> all(64 * static_cast<std::size_t>(ranks));
  ASSERT_STRETTO_OK(stretto_allgather(h.data(), all.data(), 64, STRETTO_F16, comm, &native));
  expect_native();
}

TEST_F(MpiBackend, ASmallVectorWithABoundTakesItAndStaysExact) {
  stretto_options o = bounded(0.1, STRETTO_BOUND_RELATIVE);
  o.report = &report;
  for (const int check : {1, 0}) {
    o.check = check;
    const auto x = samples<float>(rank, 10);
    std::vector<float> y(10);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 10, STRETTO_F32, STRETTO_SUM, comm, &o));
    if (check == 0) expect_native();  // else values travel with the ranks' agreement
    EXPECT_STREQ(report.payload, "raw");
    for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(y[i], sum_at<float>(i));
  }
}

// The values of all ranks decide, call by call, if the MPI serves it.
TEST_F(MpiBackend, ServesResultBoundsThatLeaveRoomForItsRounding) {
  constexpr std::size_t n = 60;
  std::vector<float> x(n), y(n);
  std::vector<double> exact(n, 0);
  const auto fill = [&](double scale) {
    for (std::size_t i = 0; i < n; ++i) {
      exact[i] = 0;
      for (int r = 0; r < ranks; ++r) {
        const auto v = static_cast<float>((1 + std::fmod(0.618034 * static_cast<double>((r + 1) * 61 + i), 1)) * scale);
        exact[i] += v;
        if (r == rank) x[i] = v;
      }
    }
  };
  stretto_options o = bounded(1e-7, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT);
  o.report = &report;
  for (const int check : {1, 0})
    for (const double scale : {1.0, 1e-6, 1.0}) {
      o.check = check;
      fill(scale);
      for (int again = 0; again < 3; ++again) {
        ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
        EXPECT_EQ(std::string(report.payload) == "raw", ranks < 3 || scale < 1);
        EXPECT_LE(report.promised_error, 1e-7);
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_LE(std::fabs(y[i] - exact[i]), report.promised_error + half_ulp(y[i]));
      }
      native.bound_kind = o.bound_kind;
      native.scope = STRETTO_SCOPE_CONTRIBUTION;
      native.bound = o.bound;
      native.scope = o.scope;
      native.check = check;
      const stretto_status s = stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &native);
      ASSERT_EQ(s, ranks < 3 || scale < 1 ? STRETTO_OK : STRETTO_INVALID_BOUND);
      if (s == STRETTO_OK) {
        EXPECT_STREQ(report.algorithm, "native");
        EXPECT_EQ(report.promised_error > 0, ranks > 2);
      }
    }
}

TEST_F(MpiBackend, BlockingAndStartedFormsDoNotMeet) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  std::vector<float> x(4, 1.0F), y(4);
  stretto_status s = STRETTO_OK;
  if (rank == 0) {
    s = stretto_allreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, comm, nullptr);
  } else {
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, comm, nullptr, &r));
    s = stretto_wait(r);
    ASSERT_STRETTO_OK(stretto_request_free(&r));
  }
  EXPECT_EQ(s, STRETTO_INCOMPATIBLE);
}

TEST(ThreadsWithoutMpi, ACommunicatorOfThreadsHasNone) {
  on_ranks(2, [](stretto_comm comm, int, int) {
    float x = 1, y = 0;
    stretto_options o = defaults();
    o.schedule = "native";
    EXPECT_EQ(stretto_allreduce(&x, &y, 1, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_UNSUPPORTED);
    EXPECT_NE(std::string(stretto_message()).find("over an MPI"), std::string::npos) << stretto_message();
  });
}

int main(int argc, char** argv) {
  setenv("STRETTO_NODE", "0", 1);  // or they would stand in for the MPI's own
  return run_on_launched_ranks(argc, argv);
}
