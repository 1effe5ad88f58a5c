// How streams store their codes: no result depends on it, and what is asked for is what travels.
#include <cstring>
#include <string>

#include "bounds.hpp"

using namespace api_test;

namespace {

// One call on this rank with this coding; its report.
template <class T, class Call>
stretto_report run(stretto_coding coding, std::vector<T>& y, const Call& call) {
  stretto_report report = STRETTO_REPORT_INIT;
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.bound_kind = STRETTO_BOUND_ABSOLUTE;
  o.bound = 1e-3;
  o.payload = STRETTO_PAYLOAD_FUSED;
  o.coding = coding;
  o.report = &report;
  EXPECT_EQ(call(y.data(), &o), STRETTO_OK) << stretto_message();
  return report;
}

// Smooth, so that dense streams are much shorter.
std::vector<float> smooth(int rank) {
  std::vector<float> x(kN);
  for (std::size_t i = 0; i < kN; ++i) {
    const double noise = i % 7 == 0 ? 0.02 * static_cast<double>(i % 11) : 0;
    x[i] = static_cast<float>(std::sin(static_cast<double>(i) * 1e-3 * (rank + 1)) + noise);
  }
  return x;
}

template <class Call>
void expect_same_bits(std::size_t elements, const Call& call) {
  std::vector<float> fixed(elements), dense(elements);
  const stretto_report f = run(STRETTO_CODING_FIXED, fixed, call), d = run(STRETTO_CODING_DENSE, dense, call);
  EXPECT_EQ(std::memcmp(fixed.data(), dense.data(), elements * sizeof(float)), 0);
  EXPECT_EQ(f.coding, STRETTO_CODING_FIXED);
  EXPECT_EQ(d.coding, STRETTO_CODING_DENSE);
  EXPECT_LT(d.bytes_sent, f.bytes_sent);
  EXPECT_EQ(f.promised_error, d.promised_error);
}

}  // namespace

TEST(Coding, NoResultDependsOnIt) {
  for (const int ranks : {3, 5}) {
    SCOPED_TRACE(ranks);
    on_ranks(ranks, [](stretto_comm comm, int rank, int p) {
      const auto x = smooth(rank);
      for (const stretto_op op : {STRETTO_SUM, STRETTO_MEAN, STRETTO_MAX})
        expect_same_bits(kN, [&](float* y, const stretto_options* o) {
          return stretto_allreduce(x.data(), y, kN, STRETTO_F32, op, comm, o);
        });
      expect_same_bits(kN * static_cast<std::size_t>(p), [&](float* y, const stretto_options* o) {
        return stretto_allgather(x.data(), y, kN, STRETTO_F32, comm, o);
      });
    });
  }
}

TEST(Coding, IntegersStayLossless) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    std::vector<std::int32_t> x(kN), sum(kN), own(kN);
    for (std::size_t i = 0; i < kN; ++i) x[i] = static_cast<std::int32_t>(i % 97 * i % 31) * (rank + 1);
    const auto call = [&](std::int32_t* y, const stretto_options* o) {
      return stretto_allreduce(x.data(), y, kN, STRETTO_I32, STRETTO_SUM, comm, o);
    };
    EXPECT_EQ(run(STRETTO_CODING_DENSE, sum, call).coding, STRETTO_CODING_DENSE);
    EXPECT_EQ(run(STRETTO_CODING_FIXED, own, call).coding, STRETTO_CODING_FIXED);
    EXPECT_EQ(sum, own);
    for (std::size_t i = 0; i < kN; ++i) ASSERT_EQ(sum[i], x[i] / (rank + 1) * 6) << i;
  });
}

TEST(Coding, ValuesThatTravelRawHaveNone) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = STRETTO_OPTIONS_INIT;
    o.coding = STRETTO_CODING_DENSE;
    o.report = &report;
    const auto x = smooth(rank);
    std::vector<float> y(kN);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(report.coding, STRETTO_CODING_AUTO);
  });
}

TEST(Coding, InOneHostTheModelTakesFixedStreams) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    const auto x = smooth(rank);
    std::vector<float> y(kN);
    const stretto_report report = run(STRETTO_CODING_AUTO, y, [&](float* to, const stretto_options* o) {
      return stretto_allreduce(x.data(), to, kN, STRETTO_F32, STRETTO_SUM, comm, o);
    });
    EXPECT_EQ(report.coding, STRETTO_CODING_FIXED);
  });
}

TEST(Coding, OfAnUnknownNumberIsNamed) {
  on_ranks(2, [](stretto_comm comm, int, int) {
    stretto_options o = STRETTO_OPTIONS_INIT;
    o.coding = static_cast<stretto_coding>(7);
    float x = 1, y = 0;
    EXPECT_EQ(stretto_allreduce(&x, &y, 1, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_INVALID_ARGUMENT);
    EXPECT_NE(std::string(stretto_message()).find("coding 7 is no stretto_coding"), std::string::npos)
        << stretto_message();
  });
}
