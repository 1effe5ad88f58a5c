// Verdicts of bench_choose on samples of known distributions, whose right answers are known.
#include "bench/choose/verdict.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace stretto::bench {
namespace {

std::vector<double> noisy(double middle, double spread, std::size_t rounds, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> u(1 - spread, 1 + spread);
  std::vector<double> ms(rounds);
  for (double& m : ms) m = middle * u(random);
  return ms;
}

TEST(Ratio, IntervalOfFewSamplesIsAllOfThem) {
  const Interval r = ratio({1, 2, 4}, {1, 1, 1});
  EXPECT_EQ(r.low, 1);
  EXPECT_EQ(r.middle, 2);
  EXPECT_EQ(r.high, 4);
  EXPECT_TRUE(r.straddles(3));
  EXPECT_FALSE(r.straddles(4));
  EXPECT_FALSE(r.straddles(0.5));
}

TEST(Ratio, IntervalHoldsTheMedianAndNarrows) {
  int held = 0;
  double width = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Interval r = ratio(noisy(1.2, 0.1, 41, seed), std::vector<double>(41, 1.0));
    held += r.low <= 1.2 && 1.2 <= r.high;
    width += (r.high - r.low) / 200;
  }
  EXPECT_GE(held, 180);
  EXPECT_LT(width, 0.1);  // of samples that spread over 0.24
}

TEST(Verdict, TheSameFunctionTwiceIsNoRegret) {
  const Verdict v = judge(noisy(1, 0.3, 20, 1), noisy(1, 0.3, 20, 2),
                          {{"MPI", noisy(1, 0.3, 20, 2)}, {"ring raw", noisy(3, 0.1, 20, 3)}}, "MPI");
  EXPECT_EQ(v.best, "ring raw");
  EXPECT_EQ(v.regret, 0);
}

TEST(Verdict, RegretIsOfTheBestRival) {
  const Verdict v = judge(noisy(1.5, 0.01, 20, 1), noisy(2, 0.01, 20, 2),
                          {{"MPI", noisy(2, 0.01, 20, 2)}, {"ring raw", noisy(1, 0.01, 20, 3)}}, "two_tree raw");
  EXPECT_EQ(v.best, "ring raw");
  EXPECT_NEAR(v.best_ms, 1, 0.01);
  EXPECT_NEAR(v.regret, 0.5, 0.03);
  EXPECT_NEAR(v.over.middle, 0.75, 0.02);
  EXPECT_FALSE(v.open);
}

// Ten rivals that take as long as the choice: the least of their medians is smaller by luck, and must not count as
// regret.
TEST(Verdict, TheLuckOfManyRivalsIsNoRegret) {
  double regret = 0, naive = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::vector<Rounds> others;
    for (unsigned i = 0; i < 10; ++i)
      others.push_back({"rival " + std::to_string(i), noisy(1, 0.5, 8, 100 * seed + i)});
    const std::vector<double> chosen = noisy(1, 0.5, 8, 100 * seed + 99);
    const Verdict v = judge(chosen, others[0].ms, others, "ring raw");
    regret += v.regret / 100;
    naive += (1 / v.best_ms - 1) / 100;
  }
  EXPECT_GT(naive, 0.15);
  EXPECT_LT(regret, naive / 1.5);  // the rest comes from the floor at 0
}

TEST(Verdict, StaysOpenWhileATolerenceLiesInTheInterval) {
  const std::vector<double> mpi(20, 1.0), near(20, 1.01), far(20, 1.3);
  EXPECT_FALSE(judge(near, mpi, {{"MPI", mpi}}, "MPI").open);
  EXPECT_FALSE(judge(far, mpi, {{"MPI", mpi}}, "MPI").open);
  EXPECT_TRUE(judge(noisy(1.05, 0.2, 20, 5), mpi, {{"MPI", mpi}}, "MPI").open);
  EXPECT_TRUE(judge(near, mpi, {{"MPI", mpi}, {"ring raw", noisy(0.92, 0.2, 20, 6)}}, "MPI").open);
}

TEST(Verdict, OneRound) {
  const Verdict v = judge({2}, {1}, {{"MPI", {1}}}, "ring raw");
  EXPECT_EQ(v.regret, 1);
  EXPECT_EQ(v.over.low, 2);
}

}  // namespace
}  // namespace stretto::bench
