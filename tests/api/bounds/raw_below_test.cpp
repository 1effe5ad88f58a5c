// Short messages that travel raw beside streams, in sums: Rabenseifner's allreduce with its last halves raw.
#include <cstring>
#include <mutex>
#include <string>

#include "bounds.hpp"

using namespace api_test;

namespace {

// Large values: raw additions round by much more than the bound's last digits.
std::vector<float> far_wave(int rank) {
  std::vector<float> x = wave(rank, kN);
  for (float& v : x) v += 900;
  return x;
}

std::vector<double> exact_of(stretto_op op, int ranks) {
  std::vector<double> s(kN, 0.0);
  for (int r = 0; r < ranks; ++r) {
    const auto x = far_wave(r);
    for (std::size_t i = 0; i < kN; ++i) s[i] += op == STRETTO_DIFFERENCE && r > 0 ? -double{x[i]} : double{x[i]};
  }
  for (double& v : s) v = op == STRETTO_MEAN ? v / ranks : v;
  return s;
}

stretto_options halves_raw(double bound, stretto_scope scope, stretto_payload payload) {
  stretto_options o = bounded(bound, STRETTO_BOUND_ABSOLUTE, scope);
  o.schedule = "rabenseifner";
  o.payload = payload;
  o.raw_below = std::size_t{40} << 10;  // of 117 KiB: the first halves are streams
  return o;
}

}  // namespace

TEST(RawBelow, SumsKeepTheirPromiseAndHaveTheSameBitsOnAllRanks) {
  for (const int ranks : {5, 6, 7})  // 3 have halves alone, of 59 KiB
    for (const stretto_op op : {STRETTO_SUM, STRETTO_DIFFERENCE, STRETTO_MEAN}) {
      const auto exact = exact_of(op, ranks);
      for (const stretto_scope scope : {STRETTO_SCOPE_CONTRIBUTION, STRETTO_SCOPE_RESULT})
        for (const stretto_payload payload : {STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_HOMOMORPHIC}) {
          SCOPED_TRACE(testing::Message()
                       << ranks << " ranks, op " << op << ", scope " << scope << ", payload " << payload);
          std::mutex mutex;
          std::vector<float> first;
          on_ranks(ranks, [&](stretto_comm comm, int rank, int p) {
            stretto_report report = STRETTO_REPORT_INIT;
            stretto_options o = halves_raw(2e-2, scope, payload);
            o.report = &report;
            const auto x = far_wave(rank);
            std::vector<float> y(kN);
            ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, op, comm, &o));
            EXPECT_EQ(report.raw_below, o.raw_below);
            EXPECT_STREQ(report.reason, "forced");
            EXPECT_STREQ(report.algorithm, "rabenseifner");
            EXPECT_GT(report.ratio, 1.2);
            for (std::size_t i = 0; i < kN; ++i)
              ASSERT_LE(std::fabs(double{y[i]} - exact[i]), report.error_with_rounding) << i;
            const double divisor = op == STRETTO_MEAN ? p : 1;
            if (scope == STRETTO_SCOPE_RESULT) {
              EXPECT_LE(worst(y, exact), report.promised_error);
              EXPECT_LE(report.promised_error, 2e-2);
              EXPECT_LT(report.eps, 2e-2 / (p + 1) * divisor);  // the rounding has its part
            } else {
              EXPECT_DOUBLE_EQ(report.promised_error, 2e-2 * (p + 1) / divisor);
            }
            const std::lock_guard lock(mutex);
            if (first.empty()) first = y;
            EXPECT_EQ(std::memcmp(first.data(), y.data(), kN * sizeof(float)), 0);
          });
        }
    }
}

TEST(RawBelow, WhereNoMessageIsSoShortNothingIsRawAndNothingRounds) {
  on_ranks(3, [](stretto_comm comm, int rank, int p) {
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = halves_raw(1e-2, STRETTO_SCOPE_CONTRIBUTION, STRETTO_PAYLOAD_FUSED);
    o.raw_below = 1000;
    o.report = &report;
    const auto x = far_wave(rank);
    std::vector<float> y(kN);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(report.raw_below, 0u);
    EXPECT_DOUBLE_EQ(report.promised_error, 1e-2 * p);
  });
}

TEST(RawBelow, RoundingThatExceedsTheBoundIsRefusedOrAddedAsCodes) {
  on_ranks(5, [](stretto_comm comm, int rank, int) {
    stretto_report report = STRETTO_REPORT_INIT;
    const auto x = far_wave(rank);
    std::vector<float> y(kN);
    stretto_options o = halves_raw(1e-4, STRETTO_SCOPE_RESULT, STRETTO_PAYLOAD_FUSED);
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_INVALID_BOUND);
    EXPECT_NE(std::string(stretto_message()).find("may round by"), std::string::npos) << stretto_message();
    o.payload = STRETTO_PAYLOAD_AUTO;
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(report.raw_below, 0u);
    EXPECT_LE(report.promised_error, 1e-4);
  });
}

TEST(RawBelow, IsRefusedWhereItSaysNothing) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    const auto x = far_wave(rank);
    std::vector<float> y(kN);
    const auto refused = [&](stretto_options o) {
      EXPECT_EQ(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_UNSUPPORTED);
      EXPECT_NE(std::string(stretto_message()).find("raw_below"), std::string::npos) << stretto_message();
    };
    const stretto_options usual = halves_raw(1e-2, STRETTO_SCOPE_CONTRIBUTION, STRETTO_PAYLOAD_AUTO);
    for (const stretto_payload p : {STRETTO_PAYLOAD_RECOMPRESS, STRETTO_PAYLOAD_CPRP2P, STRETTO_PAYLOAD_MIXED}) {
      stretto_options o = usual;
      o.payload = p;
      refused(o);
    }
    for (const char* schedule : {"native", "node", "hierarchical_ring"}) {
      stretto_options o = usual;
      o.schedule = schedule;
      refused(o);
    }
    stretto_options o = usual;
    o.reproducible = 1;
    refused(o);
    const void* mine[] = {x.data()};
    EXPECT_EQ(stretto_allreduce_multi(mine, 1, y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &usual),
              STRETTO_UNSUPPORTED);
    o = usual;
    o.raw_below = rank == 1 ? 2000 : 1000;
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_INCOMPATIBLE);
    EXPECT_NE(std::string(stretto_message()).find("raw_below differs: 1000 on rank 0, 2000 on rank 1"),
              std::string::npos)
        << stretto_message();
  });
}
