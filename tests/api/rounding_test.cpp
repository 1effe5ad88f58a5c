// A bound for the result is kept against exact arithmetic, rounded additions included, whatever runs: values are arbitrary ones of their type, and
// bounds come near its rounding.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "ranks.hpp"

using namespace api_test;

namespace {

// Numbers of a type by their bits: value(), the bits of what a double is cut to, and half the way to the next larger magnitude, beside what
// results of 16 bits are rounded to first.
struct F16 {
  using Bits = std::uint16_t;
  static constexpr stretto_type type = STRETTO_F16;
  static constexpr const char* name = "f16";
  static constexpr double unit = 0x1p-11, largest = 65504;
  static double value(Bits b) {
    const int e = b >> 10 & 31, m = b & 1023;
    const double a = e == 31 ? (m ? NAN : INFINITY) : e == 0 ? std::ldexp(m, -24) : std::ldexp(1024 + m, e - 25);
    return b >> 15 ? -a : a;
  }
  static Bits cut(double v) {
    int e = 0;
    const double m = std::frexp(std::fabs(v), &e);
    if (v == 0 || e < -13) return 0;
    const int bits = (e + 14) << 10 | (static_cast<int>(std::ldexp(m, 11)) & 1023);
    return static_cast<Bits>(bits | (std::signbit(v) ? 0x8000 : 0));
  }
  static constexpr double first = 0x1p-25;
};
struct BF16 {
  using Bits = std::uint16_t;
  static constexpr stretto_type type = STRETTO_BF16;
  static constexpr const char* name = "bf16";
  static constexpr double unit = 0x1p-8, largest = 0x1.fep127;
  static double value(Bits b) { return std::bit_cast<float>(std::uint32_t{b} << 16); }
  static Bits cut(double v) { return static_cast<Bits>(std::bit_cast<std::uint32_t>(static_cast<float>(v)) >> 16); }
  static constexpr double first = 0x1p-25;
};
struct F32 {
  using Bits = float;
  static constexpr stretto_type type = STRETTO_F32;
  static constexpr const char* name = "f32";
  static constexpr double unit = 0x1p-24, largest = std::numeric_limits<float>::max();
  static double value(Bits b) { return b; }
  static Bits cut(double v) { return static_cast<float>(v); }
  static constexpr double first = 0;
};
struct F64 {
  using Bits = double;
  static constexpr stretto_type type = STRETTO_F64;
  static constexpr const char* name = "f64";
  static constexpr double unit = 0x1p-53, largest = std::numeric_limits<double>::max();
  static double value(Bits b) { return b; }
  static Bits cut(double v) { return v; }
  static constexpr double first = 0;
};

double half_ulp_of(const F16::Bits& b) { return (F16::value((b & 0x7fff) + 1) - F16::value(b & 0x7fff)) / 2; }
template <class T>
double half_ulp_in(typename T::Bits b) {
  if constexpr (std::is_same_v<T, F16>)
    return half_ulp_of(b);
  else if constexpr (std::is_same_v<T, BF16>)
    return (BF16::value((b & 0x7fff) + 1) - BF16::value(b & 0x7fff)) / 2;
  else
    return static_cast<double>(std::nextafter(std::fabs(b), std::numeric_limits<typename T::Bits>::infinity()) -
                               std::fabs(b)) /
           2;
}

// A sum of doubles without error, as an expansion of numbers that do not overlap; its sign is that of the largest.
class Exact {
 public:
  void add(double x) {
    std::size_t kept = 0;
    for (double y : parts_) {
      if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
      const double high = x + y, low = y - (high - x);
      if (low != 0) parts_[kept++] = low;
      x = high;
    }
    parts_.resize(kept);
    parts_.push_back(x);
  }
  void add(double x, double times) {
    const double high = x * times;
    add(high);
    add(std::fma(x, times, -high));
  }
  double sign() const {
    for (auto p = parts_.rbegin(); p != parts_.rend(); ++p)
      if (*p != 0) return *p < 0 ? -1 : 1;
    return 0;
  }

 private:
  std::vector<double> parts_;
};

// Whether |y - exact| <= bound + half an ulp of y. Sums of f16 and bf16 are rounded to f32 before that, and sums of f64 before they are divided.
template <class T>
bool within(typename T::Bits y, const std::vector<double>& terms, stretto_op op, double bound) {
  const double p = op == STRETTO_MEAN ? static_cast<double>(terms.size()) : 1, v = T::value(y);
  if (!std::isfinite(v)) return false;
  Exact error;
  for (double x : terms) error.add(x);
  error.add(-v, p);
  const double sign = error.sign();
  Exact excess;
  for (double x : terms) excess.add(sign * x);
  excess.add(-sign * v, p);
  excess.add(-bound, p);
  excess.add(-half_ulp_in<T>(y), p);
  excess.add(-T::first * std::fabs(v), p);
  if (op == STRETTO_MEAN && T::type == STRETTO_F64) excess.add(-half_ulp_in<T>(y), p);
  return excess.sign() <= 0;
}

// Contributions of all ranks, of either sign and several magnitudes.
template <class T>
std::vector<std::vector<typename T::Bits>> inputs(int ranks, std::size_t count, double scale, bool positive = false) {
  std::vector<std::vector<typename T::Bits>> all;
  for (int r = 0; r < ranks; ++r) {
    std::mt19937_64 random(static_cast<std::uint64_t>(r) * 77 + count);
    std::uniform_real_distribution<double> uniform(positive ? 0.0 : -1.0, 1.0);
    auto& x = all.emplace_back(count);
    for (auto& v : x) v = T::cut(uniform(random) * scale);
  }
  return all;
}

template <class T>
std::vector<double> terms_of(const std::vector<std::vector<typename T::Bits>>& all, std::size_t i, stretto_op op) {
  std::vector<double> terms;
  for (const auto& x : all)
    terms.push_back(op == STRETTO_DIFFERENCE && !terms.empty() ? -T::value(x[i]) : T::value(x[i]));
  return terms;
}

constexpr stretto_payload payloads[] = {STRETTO_PAYLOAD_AUTO,  STRETTO_PAYLOAD_RAW,    STRETTO_PAYLOAD_RECOMPRESS,
                                        STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_CPRP2P, STRETTO_PAYLOAD_HOMOMORPHIC};
bool may_be_refused(stretto_payload p) {
  return p == STRETTO_PAYLOAD_RAW || p == STRETTO_PAYLOAD_RECOMPRESS || p == STRETTO_PAYLOAD_CPRP2P;
}

struct Names {
  template <class T>
  static std::string GetName(int) {
    return T::name;
  }
};
template <class T>
class Rounding : public testing::Test {};
using All = testing::Types<F16, BF16, F32, F64>;
TYPED_TEST_SUITE(Rounding, All, Names);
template <class T>
class Overflow : public testing::Test {};
using Narrow = testing::Types<F16, BF16, F32>;  // f64 has no wider type
TYPED_TEST_SUITE(Overflow, Narrow, Names);

}  // namespace

TYPED_TEST(Rounding, ABoundForTheResultIsKeptExactlyOrRefusedByWhatWasForced) {
  using T = TypeParam;
  for (int ranks : {2, 3, 8, 13})
    for (std::size_t count : {std::size_t{64}, std::size_t{1000}}) {
      const auto all = inputs<T>(ranks, count, 3.0);
      on_ranks(ranks, [&](stretto_comm comm, int rank, int) {
        for (double units : {0.1, 3.0, 40.0, 4000.0})
          for (stretto_op op : {STRETTO_SUM, STRETTO_MEAN, STRETTO_DIFFERENCE})
            for (stretto_payload payload : payloads) {
              const double bound = units * T::unit;
              SCOPED_TRACE(testing::Message() << ranks << " ranks, " << count << " values, bound " << bound
                                              << ", operation " << op << ", payload " << payload);
              stretto_report report = STRETTO_REPORT_INIT;
              stretto_options o = bounded(bound, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT);
              o.payload = payload;
              o.report = &report;
              std::vector<typename T::Bits> y(count);
              const stretto_status s =
                  stretto_allreduce(all[static_cast<std::size_t>(rank)].data(), y.data(), count, T::type, op, comm, &o);
              if (s == STRETTO_INVALID_BOUND && may_be_refused(payload)) {
                EXPECT_LT(units, 4000);
                EXPECT_NE(std::string(stretto_message()).find(std::to_string(ranks) + " contributions"),
                          std::string::npos)
                    << stretto_message();
                continue;
              }
              ASSERT_EQ(s, STRETTO_OK) << stretto_message();
              EXPECT_LE(report.promised_error, bound);
              std::size_t over = 0;
              for (auto i = static_cast<std::size_t>(rank); i < count; i += static_cast<std::size_t>(ranks))
                over += !within<T>(y[i], terms_of<T>(all, i, op), op, report.promised_error);
              EXPECT_EQ(over, 0u) << "more than promised: " << report.promised_error << ", ran " << report.algorithm
                                  << " " << report.payload;
            }
      });
    }
}

TYPED_TEST(Rounding, SoAreRelativeAndStatisticalOnesInEveryReduction) {
  using T = TypeParam;
  constexpr int ranks = 7;
  constexpr std::size_t part = 50, count = part * ranks;
  const auto all = inputs<T>(ranks, count, 100.0, true);
  double lo = INFINITY, hi = -INFINITY;
  for (const auto& x : all)
    for (auto v : x) lo = std::min(lo, T::value(v)), hi = std::max(hi, T::value(v));
  on_ranks(ranks, [&](stretto_comm comm, int rank, int) {
    const auto* x = all[static_cast<std::size_t>(rank)].data();
    for (stretto_scope scope : {STRETTO_SCOPE_RESULT, STRETTO_SCOPE_RESULT_STATISTICAL_95}) {
      const double fraction = 2 * T::unit, bound = fraction * (hi - lo);
      stretto_report report = STRETTO_REPORT_INIT;
      stretto_options o = bounded(fraction, STRETTO_BOUND_RELATIVE, scope);
      o.report = &report;
      o.check = scope == STRETTO_SCOPE_RESULT ? 0 : 1;
      const auto check = [&](const auto& y, std::size_t first) {
        EXPECT_LE(report.promised_error, bound);
        std::size_t over = 0;
        for (std::size_t i = 0; i < y.size(); ++i)
          over += !within<T>(y[i], terms_of<T>(all, first + i, STRETTO_SUM), STRETTO_SUM, bound);
        if (scope == STRETTO_SCOPE_RESULT)
          EXPECT_EQ(over, 0u) << report.algorithm << " " << report.payload;
        else
          EXPECT_LE(over, y.size() / 3);
      };
      std::vector<typename T::Bits> y(count), z(part);
      for (int again = 0; again < 3; ++again) {
        ASSERT_STRETTO_OK(stretto_allreduce(x, y.data(), count, T::type, STRETTO_SUM, comm, &o));
        check(y, 0);
      }
      stretto_request request = nullptr;
      ASSERT_STRETTO_OK(stretto_iallreduce(x, y.data(), count, T::type, STRETTO_SUM, comm, &o, &request));
      ASSERT_STRETTO_OK(stretto_wait(request));
      ASSERT_STRETTO_OK(stretto_request_free(&request));
      check(y, 0);
      ASSERT_STRETTO_OK(stretto_reduce_scatter_block(x, z.data(), part, T::type, STRETTO_SUM, comm, &o));
      check(z, part * static_cast<std::size_t>(rank));
      ASSERT_STRETTO_OK(stretto_reduce(x, y.data(), count, T::type, STRETTO_SUM, 2, comm, &o));
      if (rank == 2) check(y, 0);
    }
  });
}

TYPED_TEST(Rounding, SeveralInputsOnARankCountEach) {
  using T = TypeParam;
  constexpr int ranks = 3;
  constexpr std::size_t count = 200;
  const auto all = inputs<T>(2 * ranks, count, 1.0);
  on_ranks(ranks, [&](stretto_comm comm, int rank, int) {
    const auto r = static_cast<std::size_t>(rank);
    const void* mine[] = {all[2 * r].data(), all[2 * r + 1].data()};
    for (stretto_payload payload : payloads) {
      const double bound = 12 * T::unit;
      stretto_options o = bounded(bound, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT);
      o.payload = payload;
      std::vector<typename T::Bits> y(count);
      const stretto_status s = stretto_allreduce_multi(mine, 2, y.data(), count, T::type, STRETTO_SUM, comm, &o);
      if (s == STRETTO_INVALID_BOUND && may_be_refused(payload)) continue;
      ASSERT_EQ(s, STRETTO_OK) << stretto_message();
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_TRUE(within<T>(y[i], terms_of<T>(all, i, STRETTO_SUM), STRETTO_SUM, bound)) << payload;
    }
  });
}

TYPED_TEST(Overflow, AMeanWhoseSumOverflowsIsWithinABoundForTheResult) {
  using T = TypeParam;
  for (int ranks : {2, 3}) {
    constexpr std::size_t count = 500;
    const auto all = inputs<T>(ranks, count, 0.95 * T::largest, true);
    on_ranks(ranks, [&](stretto_comm comm, int rank, int) {
      for (stretto_payload payload : payloads) {
        const double bound = 1e-4 * T::largest;
        stretto_options o = bounded(bound, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT);
        o.payload = payload;
        std::vector<typename T::Bits> y(count);
        const auto* x = all[static_cast<std::size_t>(rank)].data();
        const stretto_status s = stretto_allreduce(x, y.data(), count, T::type, STRETTO_MEAN, comm, &o);
        if (may_be_refused(payload)) {
          EXPECT_EQ(s, STRETTO_INVALID_BOUND);
          EXPECT_NE(std::string(stretto_message()).find("overflow"), std::string::npos) << stretto_message();
          continue;
        }
        ASSERT_EQ(s, STRETTO_OK) << stretto_message();
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_TRUE(within<T>(y[i], terms_of<T>(all, i, STRETTO_MEAN), STRETTO_MEAN, bound)) << payload;
      }
    });
  }
}

TEST(RawSums, ServeWhereTheirRoundingLeavesRoomAndSayHowMuchTheyRound) {
  on_ranks(5, [](stretto_comm comm, int rank, int) {
    const auto x = wave(rank, 100);
    std::vector<float> y(100);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-3, STRETTO_BOUND_ABSOLUTE, STRETTO_SCOPE_RESULT);
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 100, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_STREQ(report.payload, "raw");
    EXPECT_GT(report.promised_error, 0);
    EXPECT_LT(report.promised_error, 9.1 * 0x1p-24 * 1.01);  // sums of 2, 3 and 4 values of at most 1.001
    o.bound = 1e-8;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 100, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_STRNE(report.payload, "raw");
    EXPECT_LE(report.promised_error, 1e-8);
    // For each contribution it stays as it was: the rounding of additions comes on top.
    o.scope = STRETTO_SCOPE_CONTRIBUTION;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 100, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_STREQ(report.payload, "raw");
    EXPECT_EQ(report.promised_error, 0);
  });
}

TEST(RawSums, OfARangeOfZeroSayHowMuchTheyRound) {
  on_ranks(5, [](stretto_comm comm, int, int) {
    const std::vector<float> x(50, 0.1f);
    std::vector<float> y(50);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-3, STRETTO_BOUND_RELATIVE, STRETTO_SCOPE_RESULT);
    o.report = &report;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 50, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_STREQ(report.payload, "raw");
    EXPECT_GT(report.promised_error, 0);
    EXPECT_LE(std::fabs(y[0] - 5 * double{0.1f}), report.promised_error + half_ulp(y[0]));
  });
}
