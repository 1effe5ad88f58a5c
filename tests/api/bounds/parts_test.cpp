// Parts of a vector with bounds of their own, in one call.
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <string>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "bounds.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

// Ends inside blocks of ranks and inside groups of the codec; one part is empty.
const std::vector<stretto_part> kParts = {{7001, 2e-2}, {0, 1e-3}, {12345, 1e-4}, {kN - 7001 - 12345, 3e-3}};

stretto_options with(const std::vector<stretto_part>& parts, stretto_scope scope, stretto_payload payload) {
  stretto_options o = bounded(0, STRETTO_BOUND_ABSOLUTE, scope);
  for (const stretto_part& p : parts) o.bound = std::max(o.bound, p.bound);
  o.payload = payload;
  o.parts = parts.data();
  o.part_count = parts.size();
  return o;
}

// Values whose last group differs in width from others, so that its form shows where groups begin.
template <class T>
std::vector<T> rough(int rank, std::size_t count) {
  std::vector<T> x(count);
  std::uint64_t state = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(rank + 1);
  for (T& v : x) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<T>(static_cast<double>(state >> 11) * 0x1p-53 - 0.5);
  }
  return x;
}

template <class T>
void all_schedules_have_the_same_bits(const std::vector<stretto_part>& parts) {
  std::size_t count = 0;
  for (const stretto_part& p : parts) count += p.count;
  for (const int ranks : {2, 3, 5}) {
    std::mutex mutex;
    std::vector<T> first;
    std::map<std::string, int> ran;
    for (const char* schedule : {"ring", "rabenseifner", "recursive_doubling", "swing_bandwidth", "swing_latency",
                                 "binomial", "knomial", "chain", "two_tree", "hierarchical_ring",
                                 "hierarchical_rabenseifner", "hierarchical_recursive_doubling", "leader"})
      for (const stretto_payload payload : {STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_HOMOMORPHIC})
        for (const std::size_t segment : {std::size_t{0}, std::size_t{8192}})
          on_ranks(ranks, [&](stretto_comm comm, int rank, int) {
            stretto_options o = with(parts, STRETTO_SCOPE_RESULT, payload);
            o.schedule = schedule;
            o.segment = segment;
            std::vector<T> y = rough<T>(rank, count);
            const stretto_type type = sizeof(T) == 4 ? STRETTO_F32 : STRETTO_F64;
            const stretto_status s = stretto_allreduce(STRETTO_IN_PLACE, y.data(), count, type, STRETTO_SUM, comm, &o);
            const std::lock_guard lock(mutex);
            if (s == STRETTO_UNSUPPORTED) return;
            ASSERT_EQ(s, STRETTO_OK) << schedule << ": " << stretto_message();
            ++ran[schedule];
            if (first.empty()) first = y;
            std::size_t differ = 0;
            for (std::size_t i = 0; i < count; ++i) differ += std::memcmp(&first[i], &y[i], sizeof(T)) != 0;
            EXPECT_EQ(differ, 0u) << schedule << " " << segment << " on " << ranks << " ranks";
          });
    EXPECT_GE(ran.size(), 8u);
    for (const auto& [schedule, calls] : ran) EXPECT_EQ(calls, 4 * ranks) << schedule;
  }
}

}  // namespace

TEST(Parts, OfOddLengthsHaveTheSameBitsByAllSchedules) {
  const std::vector<stretto_part> given[] = {
      {{1020, 0.1}, {7172, 0.01}},
      {{1, 1e-2}, {3, 1e-3}, {1020, 0.1}, {1025, 1e-4}, {7172, 1e-2}, {0, 1}, {3079, 1e-3}, {2, 0.1}},
      {{4100, 1e-2}, {3, 0.1}, {6147, 1e-3}, {1, 0.1}, {5125, 0.02}}};
  for (const auto& parts : given) {
    all_schedules_have_the_same_bits<float>(parts);
    all_schedules_have_the_same_bits<double>(parts);
  }
}

#if defined(__x86_64__)
TEST(Parts, AreWhatTheyAreInAnyFloatingPointEnvironment) {
  const std::vector<stretto_part> parts = {{1020, 0.3}, {7172, 0.007}, {100, 1e-310}};
  std::vector<double> expected;
  for (const bool differ : {false, true}) {
    std::mutex mutex;
    on_ranks(3, [&](stretto_comm comm, int rank, int) {
      const stretto_options o = with(parts, STRETTO_SCOPE_RESULT, STRETTO_PAYLOAD_FUSED);
      std::vector<double> y = rough<double>(rank, 8292);
      for (std::size_t i = 8192; i < y.size(); ++i) y[i] *= 1e-308;
      const unsigned before = _mm_getcsr();
      // Rank 0 rounds upwards, rank 1 has no subnormal numbers.
      if (differ) _mm_setcsr(rank == 0 ? before | 0x4000 : rank == 1 ? before | 0x8040 : before);
      const stretto_status s =
          stretto_allreduce(STRETTO_IN_PLACE, y.data(), y.size(), STRETTO_F64, STRETTO_SUM, comm, &o);
      _mm_setcsr(before);
      ASSERT_STRETTO_OK(s);
      const std::lock_guard lock(mutex);
      if (expected.empty()) expected = y;
      EXPECT_EQ(std::memcmp(expected.data(), y.data(), y.size() * sizeof(double)), 0) << "rank " << rank;
    });
  }
}
#endif

TEST(Parts, KeepTheirBoundsWithEqualBitsOnAllRanksAndSchedules) {
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
              stretto_options o = with(kParts, STRETTO_SCOPE_RESULT, payload);
              o.schedule = schedule;
              o.segment = segment;
              o.report = &report;
              std::vector<float> y = wave(rank, kN);
              ASSERT_STRETTO_OK(stretto_allreduce(STRETTO_IN_PLACE, y.data(), kN, STRETTO_F32, op, comm, &o));
              const double divisor = op == STRETTO_MEAN ? p : 1;
              EXPECT_LE(report.promised_error, 2e-2);
              EXPECT_DOUBLE_EQ(report.eps, 2e-2 / p * divisor);
              std::size_t at = 0;
              for (const stretto_part& part : kParts) {
                double worst_here = 0;
                for (const std::size_t end = at + part.count; at < end; ++at)
                  worst_here = std::max(worst_here, std::fabs(double{y[at]} - sums[at] / divisor) - half_ulp(y[at]));
                EXPECT_LE(worst_here, part.bound);
                EXPECT_TRUE(part.count == 0 || worst_here > part.bound / 100) << worst_here;
              }
              const std::lock_guard lock(mutex);
              if (first.empty()) first = y;
              EXPECT_EQ(std::memcmp(first.data(), y.data(), kN * sizeof(float)), 0) << schedule << " " << segment;
            });
    }
  }
}

TEST(Parts, AreThoseOfCallsWithOneBoundEach) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    const auto x = wave(rank, kN);
    std::vector<float> together(kN), alone(kN);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = with(kParts, STRETTO_SCOPE_CONTRIBUTION, STRETTO_PAYLOAD_FUSED);
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), together.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
    std::size_t at = 0;
    for (const stretto_part& part : kParts) {
      const double smaller = report.eps / o.bound * part.bound * (1 - 0x1p-50);
      stretto_options one =
          bounded(part.bound < o.bound ? smaller : report.eps, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_CONTRIBUTION);
      one.payload = STRETTO_PAYLOAD_FUSED;
      ASSERT_STRETTO_OK(
          stretto_allreduce(x.data() + at, alone.data() + at, part.count, STRETTO_F32, STRETTO_SUM, comm, &one));
      at += part.count;
    }
    EXPECT_EQ(std::memcmp(together.data(), alone.data(), kN * sizeof(float)), 0);
  });
}

TEST(Parts, OfStartedCallsAreThoseOfBlockingOnes) {
  on_ranks(2, [](stretto_comm comm, int rank, int) {
    const auto x = wave(rank, kN);
    std::vector<float> blocking(kN), started(kN);
    stretto_request request = nullptr;
    {
      std::vector<stretto_part> own = kParts;
      const stretto_options o = with(own, STRETTO_SCOPE_RESULT, STRETTO_PAYLOAD_FUSED);
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), blocking.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
      ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), started.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o, &request));
    }  // the call has copied the parts
    ASSERT_STRETTO_OK(stretto_wait(request));
    ASSERT_STRETTO_OK(stretto_request_free(&request));
    EXPECT_EQ(std::memcmp(blocking.data(), started.data(), kN * sizeof(float)), 0);
  });
}

TEST(Parts, ThatSayNothingAreRefused) {
  on_ranks(2, [](stretto_comm comm, int rank, int) {
    const auto x = wave(rank, kN);
    std::vector<float> y(kN);
    const auto refused = [&](const stretto_options& o, stretto_status status, const char* words) {
      EXPECT_EQ(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o), status);
      EXPECT_NE(std::string(stretto_message()).find(words), std::string::npos) << stretto_message();
    };
    const stretto_options usual = with(kParts, STRETTO_SCOPE_RESULT, STRETTO_PAYLOAD_FUSED);
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
    std::vector<stretto_part> wrong = kParts;
    wrong[2].count += 1;
    refused(with(wrong, STRETTO_SCOPE_RESULT, STRETTO_PAYLOAD_FUSED), STRETTO_INVALID_ARGUMENT, "more than the 30000");
    wrong = kParts;
    wrong[1].bound = 0;
    refused(with(wrong, STRETTO_SCOPE_RESULT, STRETTO_PAYLOAD_FUSED), STRETTO_INVALID_BOUND, "bound 0 of part 1");
    EXPECT_EQ(stretto_reduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, 0, comm, &usual), STRETTO_UNSUPPORTED);
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), kN, STRETTO_I32, STRETTO_SUM, comm, &usual), STRETTO_UNSUPPORTED);
    wrong = kParts;
    wrong[2].bound = std::numeric_limits<double>::denorm_min();
    refused(with(wrong, STRETTO_SCOPE_RESULT, STRETTO_PAYLOAD_FUSED), STRETTO_INVALID_BOUND,
            "of part 2 leaves nothing");
    o = usual;
    o.part_count = std::numeric_limits<std::size_t>::max() / 2;
    refused(o, STRETTO_INVALID_ARGUMENT, "options.part_count is 9223372036854775807");
    EXPECT_EQ(stretto_barrier(comm, &usual), STRETTO_UNSUPPORTED);
    std::vector<stretto_part> other = kParts;
    if (rank == 1) other[2].bound /= 2;
    refused(with(other, STRETTO_SCOPE_RESULT, STRETTO_PAYLOAD_FUSED), STRETTO_INCOMPATIBLE, "counts (by checksum)");
  });
}
