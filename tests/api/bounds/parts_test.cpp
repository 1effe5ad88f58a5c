// Parts of a vector with bounds of their own, in one call.
#include <cstring>
#include <mutex>
#include <string>

#include "bounds.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

// Ends inside blocks of ranks and inside groups of the codec; one part is empty.
const std::vector<stretto_part> three = {{7001, 2e-2}, {0, 1e-3}, {12345, 1e-4}, {n - 7001 - 12345, 3e-3}};

stretto_options with(const std::vector<stretto_part>& parts, stretto_scope scope, stretto_payload payload) {
  stretto_options o = bounded(0, STRETTO_BOUND_ABSOLUTE, scope);
  for (const stretto_part& p : parts) o.bound = std::max(o.bound, p.bound);
  o.payload = payload;
  o.parts = parts.data();
  o.part_count = parts.size();
  return o;
}

}  // namespace

TEST(Parts, EachKeepsItsBoundAndAllRanksAndSchedulesHaveTheSameBits) {
  for (const int ranks : {1, 2, 3, 4}) {
    const auto sums = exact_sums(ranks);
    for (const stretto_op op : {STRETTO_SUM, STRETTO_MEAN}) {
      std::mutex mutex;
      std::vector<float> first;
      for (const char* schedule : {"ring", "recursive_doubling", "rabenseifner"})
        for (const stretto_payload payload : {STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_HOMOMORPHIC})
          for (const std::size_t segment : {std::size_t{0}, std::size_t{8192}})
            on_ranks(ranks, [&](stretto_comm comm, int rank, int p) {
              stretto_report report = STRETTO_REPORT_INIT;
              stretto_options o = with(three, STRETTO_SCOPE_RESULT, payload);
              o.schedule = schedule;
              o.segment = segment;
              o.report = &report;
              std::vector<float> y = wave(rank, n);
              ASSERT_STRETTO_OK(stretto_allreduce(STRETTO_IN_PLACE, y.data(), n, STRETTO_F32, op, comm, &o));
              const double divisor = op == STRETTO_MEAN ? p : 1;
              EXPECT_LE(report.promised_error, 2e-2);
              EXPECT_DOUBLE_EQ(report.eps, 2e-2 / p * divisor);
              std::size_t at = 0;
              for (const stretto_part& part : three) {
                double worst_here = 0;
                for (const std::size_t end = at + part.count; at < end; ++at)
                  worst_here = std::max(worst_here, std::fabs(double{y[at]} - sums[at] / divisor) - half_ulp(y[at]));
                EXPECT_LE(worst_here, part.bound);
                EXPECT_TRUE(part.count == 0 || worst_here > part.bound / 100) << worst_here;
              }
              const std::lock_guard lock(mutex);
              if (first.empty()) first = y;
              EXPECT_EQ(std::memcmp(first.data(), y.data(), n * sizeof(float)), 0) << schedule << " " << segment;
            });
    }
  }
}

TEST(Parts, AreThoseOfCallsWithOneBoundEach) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    const auto x = wave(rank, n);
    std::vector<float> together(n), alone(n);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = with(three, STRETTO_SCOPE_CONTRIBUTION, STRETTO_PAYLOAD_FUSED);
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), together.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
    std::size_t at = 0;
    for (const stretto_part& part : three) {
      const double smaller = report.eps * (part.bound / o.bound) * (1 - 0x1p-50);
      stretto_options one =
          bounded(part.bound < o.bound ? smaller : report.eps, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_CONTRIBUTION);
      one.payload = STRETTO_PAYLOAD_FUSED;
      ASSERT_STRETTO_OK(
          stretto_allreduce(x.data() + at, alone.data() + at, part.count, STRETTO_F32, STRETTO_SUM, comm, &one));
      at += part.count;
    }
    EXPECT_EQ(std::memcmp(together.data(), alone.data(), n * sizeof(float)), 0);
  });
}

TEST(Parts, OfStartedCallsAreThoseOfBlockingOnes) {
  on_ranks(2, [](stretto_comm comm, int rank, int) {
    const auto x = wave(rank, n);
    std::vector<float> blocking(n), started(n);
    stretto_request request = nullptr;
    {
      std::vector<stretto_part> own = three;
      const stretto_options o = with(own, STRETTO_SCOPE_RESULT, STRETTO_PAYLOAD_FUSED);
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), blocking.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
      ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), started.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, &request));
    }  // the call has copied the parts
    ASSERT_STRETTO_OK(stretto_wait(request));
    ASSERT_STRETTO_OK(stretto_request_free(&request));
    EXPECT_EQ(std::memcmp(blocking.data(), started.data(), n * sizeof(float)), 0);
  });
}

TEST(Parts, ThatSayNothingAreRefused) {
  on_ranks(2, [](stretto_comm comm, int rank, int) {
    const auto x = wave(rank, n);
    std::vector<float> y(n);
    const auto refused = [&](const stretto_options& o, stretto_status status, const char* words) {
      EXPECT_EQ(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o), status);
      EXPECT_NE(std::string(stretto_message()).find(words), std::string::npos) << stretto_message();
    };
    const stretto_options usual = with(three, STRETTO_SCOPE_RESULT, STRETTO_PAYLOAD_FUSED);
    stretto_options o = usual;
    for (const stretto_payload p : {STRETTO_PAYLOAD_AUTO, STRETTO_PAYLOAD_RAW, STRETTO_PAYLOAD_RECOMPRESS,
                                    STRETTO_PAYLOAD_CPRP2P, STRETTO_PAYLOAD_MIXED}) {
      o.payload = p;
      refused(o, STRETTO_UNSUPPORTED, "options.parts with payload");
    }
    for (const char* schedule : {"native", "node"}) {
      o = usual;
      o.schedule = schedule;
      refused(o, STRETTO_UNSUPPORTED, schedule);
    }
    o = usual;
    o.raw_below = 1000;
    refused(o, STRETTO_UNSUPPORTED, "raw_below");
    o = usual;
    o.bound_kind = STRETTO_BOUND_RELATIVE;
    refused(o, STRETTO_INVALID_BOUND, "relative");
    o = usual;
    o.bound = 1;
    refused(o, STRETTO_INVALID_BOUND, "the largest of the parts 0.02");
    o = usual;
    o.part_count = 2;
    refused(o, STRETTO_INVALID_ARGUMENT, "parts have 7001 elements, the vector 30000");
    o = usual;
    o.parts = nullptr;
    refused(o, STRETTO_INVALID_ARGUMENT, "options.parts is NULL with part_count 4");
    std::vector<stretto_part> wrong = three;
    wrong[2].count += 1;
    refused(with(wrong, STRETTO_SCOPE_RESULT, STRETTO_PAYLOAD_FUSED), STRETTO_INVALID_ARGUMENT, "more than the 30000");
    wrong = three;
    wrong[1].bound = 0;
    refused(with(wrong, STRETTO_SCOPE_RESULT, STRETTO_PAYLOAD_FUSED), STRETTO_INVALID_BOUND, "bound 0 of part 1");
    EXPECT_EQ(stretto_reduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, 0, comm, &usual), STRETTO_UNSUPPORTED);
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), n, STRETTO_I32, STRETTO_SUM, comm, &usual), STRETTO_UNSUPPORTED);
    std::vector<stretto_part> other = three;
    if (rank == 1) other[2].bound /= 2;
    refused(with(other, STRETTO_SCOPE_RESULT, STRETTO_PAYLOAD_FUSED), STRETTO_INCOMPATIBLE, "counts (by checksum)");
  });
}
