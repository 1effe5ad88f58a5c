// The formulas of the literature, against the walk: uniform links, no overlap, powers of two and others.
#include <bit>
#include <cmath>

#include "apps/model/systems.hpp"
#include "world.hpp"

namespace stretto::model {
namespace {

using app::find_system;
using app::PublishedSystem;
using schedule::Collective;

constexpr double kAlpha = 1.7e-6;
constexpr double kBeta = 3.1e-10;
constexpr double kGamma = 4.3e-11;
constexpr double kBytes = 7'207'200;  // divides by every p below
constexpr double kRatio = 4.5;        // decoding a block takes no longer than its transfer

// Costs as rates, so that a block of half the length costs half; primes, so that nothing cancels by chance.
Machine machine() {
  Machine m = uniform(kAlpha, kBeta);
  m.ratio = kRatio;
  m.combine = {0, kGamma};
  m.compress = {0, 5.9e-11};
  m.decompress = {0, 6.1e-11};
  m.add = {0, 6.7e-11};
  m.fused = {0, 7.1e-11};
  m.quantise = {0, 7.3e-11};
  m.add_codes = {0, 7.9e-11};
  return m;
}

class ClosedForm : public testing::TestWithParam<int> {
 protected:
  // Predicted time of the walk, and costs of a rank's block, or of the whole vector.
  double walk(Collective collective, std::string_view algorithm, const System& system) const {
    const auto where = topology::Topology::regular(GetParam(), 1);
    return predict(programs_of(collective, algorithm, where), system, machine(), {kBytes, 0, 0, false}).seconds;
  }
  double known(Collective collective, std::string_view name) const {
    const PublishedSystem* k = find_system(name);
    const std::string_view schedule = collective == Collective::allreduce        ? k->allreduce
                                      : collective == Collective::reduce_scatter ? k->reduce_scatter
                                                                                 : k->allgather;
    return walk(collective, schedule, k->system);
  }
  void same(double walked, double formula) const { EXPECT_NEAR(walked, formula, 1e-11 * formula); }

  double p = GetParam();
  double n = kBytes;
  double block = kBytes / p;
  double wire = block / kRatio * kBeta;  // of a compressed block
  double c = block * 5.9e-11, d = block * 6.1e-11, h = block * 6.7e-11, f = block * 7.1e-11;
  double q = block * 7.3e-11, hq = block * 7.9e-11, g = block * kGamma;
  double floor_log = std::floor(std::log2(p));
  double full = std::exp2(floor_log);  // largest power of two
  bool power = full == p;
};

TEST_P(ClosedForm, RingOfRawValues) {
  same(walk(Collective::allgather, "ring", {}), (p - 1) * kAlpha + (p - 1) / p * n * kBeta);
  same(walk(Collective::reduce_scatter, "ring", {}), (p - 1) * kAlpha + (p - 1) / p * n * (kBeta + kGamma));
  same(walk(Collective::allreduce, "ring", {}),
       2 * (p - 1) * kAlpha + 2 * (p - 1) / p * n * kBeta + (p - 1) / p * n * kGamma);
}

TEST_P(ClosedForm, RecursiveDoubling) {
  const double fold = power ? 0 : (kAlpha + n * kBeta + n * kGamma) + (kAlpha + n * kBeta);
  same(walk(Collective::allreduce, "recursive_doubling", {}), floor_log * (kAlpha + n * kBeta + n * kGamma) + fold);
}

TEST_P(ClosedForm, Rabenseifner) {
  const double fold = power ? 0 : (kAlpha + n * kBeta + n * kGamma) + (kAlpha + n * kBeta);
  const double part = (full - 1) / full * n;
  same(walk(Collective::allreduce, "rabenseifner", {}),
       2 * floor_log * kAlpha + part * (kBeta + kGamma) + part * kBeta + fold);
}

TEST_P(ClosedForm, Cprp2pAllgather) { same(known(Collective::allgather, "cprp2p"), (p - 1) * (kAlpha + wire + d + c)); }

TEST_P(ClosedForm, CCollAllgather) {
  if (p > 1) same(known(Collective::allgather, "c-coll"), (p - 1) * (kAlpha + wire + d) + c);
}

TEST_P(ClosedForm, DecompressOperateCompressReduceScatter) {
  same(known(Collective::reduce_scatter, "c-coll"), (p - 1) * (c + d + g + kAlpha + wire));
}

// Whatever the codec costs: conversions cost as much as copies, which cost nothing here.
TEST_P(ClosedForm, Bfloat16AllreduceHalvesBytesWhateverTheRatio) {
  same(known(Collective::allreduce, "bfloat16"), (p - 1) * (2 * (kAlpha + block / 2 * kBeta) + g));
}

TEST_P(ClosedForm, HzcclReduceScatter) {
  if (p > 1) same(known(Collective::reduce_scatter, "hzccl"), (p - 1) * (h + kAlpha + wire) + p * c + d);
}

TEST_P(ClosedForm, HomCompFusedReduceScatter) {
  if (p > 1) same(known(Collective::reduce_scatter, "homcomp-f"), (p - 1) * (f + kAlpha + wire) + c + d);
}

TEST_P(ClosedForm, HomCompQuantisedFirstReduceScatter) {
  if (p > 1) same(known(Collective::reduce_scatter, "homcomp"), (p - 1) * (hq + kAlpha + wire) + p * q + c + d);
}

TEST_P(ClosedForm, HomCompQuantisedOneAheadReduceScatter) {
  if (p > 1) same(known(Collective::reduce_scatter, "homcomp-ahead"), (p - 1) * (hq + q + kAlpha + wire) + c + d);
}

TEST_P(ClosedForm, HomCompFusedAllreduce) {
  if (p > 1) same(known(Collective::allreduce, "homcomp-f"), (p - 1) * (f + d + 2 * wire + 2 * kAlpha) + c);
}

// The formula counts p - 1 decodings: a rank's own block is decoded during the first transfer of the allgather, if that
// takes long enough.
TEST_P(ClosedForm, HomCompFusedAllreduceOnAFastNetworkAwaitsOwnBlock) {
  if (p == 1) return;
  Machine fast = machine();
  for (Link& l : fast.links) l = {Span{0, 0, kBeta / 10, 0}};
  const auto where = topology::Topology::regular(GetParam(), 1);
  const double walked = predict(programs_of(Collective::allreduce, "ring", where), find_system("homcomp-f")->system,
                                fast, {kBytes, 0, 0, false})
                            .seconds;
  same(walked, (p - 1) * (f + d + 2 * wire / 10) + c + (d - wire / 10));
}

// The whole vector travels; the formula counts one sum of streams more than the rounds. Powers of two.
TEST_P(ClosedForm, GhzcclAllreduce) {
  if (!power || p == 1) return;
  const double whole = p;  // blocks
  same(known(Collective::allreduce, "ghzccl"),
       whole * c + floor_log * (whole * h + whole * wire + kAlpha) + whole * h + whole * d);
}

TEST_P(ClosedForm, SumsGrowHalfABitAValuePerDoublingOfContributions) {
  if (p == 1) return;
  Machine growing = machine();
  growing.growth = 0.5;
  growing.decompress = {0, 0};
  const auto where = topology::Topology::regular(GetParam(), 1);
  const System system = find_system("homcomp-f")->system;
  const auto walk_it = [&](std::string_view schedule) {
    return predict(programs_of(Collective::allreduce, schedule, where), system, growing, {kBytes, 0, 0, false}).seconds;
  };
  const auto sum = [&](double k) { return (32 / kRatio + 0.5 * std::log2(k)) / 32 * kBeta; };  // a byte of a sum of k
  double formula = c + (p - 1) * (2 * kAlpha + block * sum(p) + f);
  for (double k = 1; k < p; ++k) formula += block * sum(k);
  same(walk_it("ring"), formula);
  if (!power) return;
  formula = p * c + floor_log * (kAlpha + p * h);
  for (double k = 1; k < p; k *= 2) formula += n * sum(k);
  same(walk_it("recursive_doubling"), formula);
}

TEST(Growth, ASumIsNeverLongerThanItsValues) {
  Machine m;
  m.ratio = 2;
  m.growth = 0.5;
  EXPECT_EQ(m.ratio_of(1), 2);
  EXPECT_DOUBLE_EQ(m.ratio_of(16), 32.0 / 18);
  EXPECT_EQ(m.ratio_of(std::exp2(40)), 1);
  m.growth = 0;
  EXPECT_EQ(m.ratio_of(1000), 2);
}

// One call of the sum for each message that is summed.
TEST_P(ClosedForm, EachRawSumIsACall) {
  Machine m = machine();
  const auto where = topology::Topology::regular(GetParam(), 1);
  const auto seconds = [&] {
    return predict(programs_of(Collective::allreduce, "ring", where), {}, m, {kBytes, 0, 0, false}).seconds;
  };
  const double free = seconds();
  m.combine.call = 1e-3;
  same(seconds(), free + (p - 1) * 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ClosedForm, testing::Values(1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 16, 24),
                         [](const auto& i) { return fmt::format("p{}", i.param); });

}  // namespace
}  // namespace stretto::model
