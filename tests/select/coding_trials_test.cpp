// Dense streams stay where they prove faster than fixed ones, and all ranks choose alike.
#include "select/learned.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "call/agreement.hpp"
#include "call/inputs.hpp"
#include "select/decide.hpp"

using namespace stretto;
using namespace stretto::call;
using namespace stretto::select;

namespace {

constexpr std::size_t kCount = 4 << 20, kBytes = 4 * kCount;
constexpr std::uint32_t kDecidedAfter = CodingTrials::kWarmUp + CodingTrials::kTrials;
constexpr std::uint32_t kLostAfter = CodingTrials::kWarmUp + 2;  // a fixed trial, and a dense one that is not faster

Call allreduce() {
  static float somewhere[2];
  Call c;
  c.collective = Collective::allreduce;
  c.send = &somewhere[0];
  c.recv = &somewhere[1];
  c.count = kCount;
  c.type = STRETTO_F32;
  c.settings.options.bound_kind = STRETTO_BOUND_ABSOLUTE;
  c.settings.options.bound = 1e-3;
  c.settings.options.check = 1;
  return c;
}

struct Seconds {
  double fixed, dense;
  bool gains() const { return dense < CodingTrials::kClearGain * fixed; }
  double of(codec::Coding c) const { return c == codec::Coding::dense ? dense : fixed; }
};

// The codings of `calls` calls that take these times; the first one's is much longer.
std::string codings(CodingTrials& all, Seconds seconds, std::uint32_t calls) {
  const Call call = allreduce();
  std::string taken;
  for (std::uint32_t i = 0; i < calls; ++i) {
    all.learn(call, kBytes, all.took(call, kBytes));
    bool measured = false, warms_up = false;
    const codec::Coding coding = all.next(call, kBytes, &measured, &warms_up);
    EXPECT_EQ(measured, i >= (seconds.gains() ? kDecidedAfter : kLostAfter)) << i;
    taken += coding == codec::Coding::dense ? 'd' : 'f';
    all.ran(call, kBytes, i == 0 ? 10 : seconds.of(coding));
  }
  return taken;
}

// A selector between hosts on a link where the model takes dense streams.
Selector on_slow_link() {
  model::Profile profile = model::built_in();
  for (model::Span& s : profile.links[static_cast<std::size_t>(topology::Distance::network)]) s.beta = 8e-8;
  return Selector(std::make_shared<SharedChooser>(profile, topology::Topology::regular(2, 1)), 2, 1 << 20);
}

Decision decided(Selector& selector, const Call& call, std::uint64_t took, Shrinks ratios = {8, 16}) {
  Decision d = selector.decide(call, {});
  EXPECT_TRUE(d.needs.sample);
  selector.learn(call, took);
  AgreedValues agreed;
  agreed.ratios = ratios;
  EXPECT_EQ(selector.complete(call, agreed, {}, &d), Status::ok) << message();
  return d;
}

}  // namespace

TEST(CodingTrials, KeepTheFasterCoding) {
  for (const auto& [seconds, wanted] :
       {std::pair<Seconds, const char*>{{1, 0.5}, "dfdfdddd"}, {{0.5, 1}, "dfdfffff"}, {{1, 0.99}, "dfdfffff"}}) {
    CodingTrials all;
    EXPECT_EQ(codings(all, seconds, 8), wanted) << seconds.dense;
  }
}

TEST(CodingTrials, ComeAgain) {
  CodingTrials all;
  const std::string taken = codings(all, {0.5, 1}, kDecidedAfter + CodingTrials::kCallsUntilAgain);
  EXPECT_EQ(taken.find_last_of('d'), 2u);
  const Call call = allreduce();
  for (const codec::Coding wanted : {codec::Coding::fixed, codec::Coding::dense}) {
    all.learn(call, kBytes, all.took(call, kBytes));
    bool measured = true, warms_up = false;
    EXPECT_EQ(all.next(call, kBytes, &measured, &warms_up), wanted);
    EXPECT_FALSE(measured);
    all.ran(call, kBytes, 1);
  }
}

// Other work delays a fixed call in the first pair of trials, and none in the second.
TEST(CodingTrials, OneDelayedFixedCallDoesNotDecide) {
  CodingTrials all;
  const Call call = allreduce();
  std::string taken;
  for (const double seconds : {10.0, 3.0, 1.0, 0.5, 1.0, 0.5, 0.5}) {
    all.learn(call, kBytes, all.took(call, kBytes));
    bool measured = false, warms_up = false;
    taken += all.next(call, kBytes, &measured, &warms_up) == codec::Coding::dense ? 'd' : 'f';
    all.ran(call, kBytes, seconds);
  }
  EXPECT_EQ(taken, "dfdfdff");
}

TEST(CodingTrials, WithoutATimeOnSomeRankTheModelsChoiceStays) {
  CodingTrials all;
  const Call call = allreduce();
  for (std::uint32_t i = 0; i < 2 * kDecidedAfter; ++i) {
    bool measured = true, warms_up = false;
    const codec::Coding coding = all.next(call, kBytes, &measured, &warms_up);
    EXPECT_FALSE(measured);
    EXPECT_TRUE(i < kDecidedAfter || coding == codec::Coding::dense) << i;
    all.ran(call, kBytes, 1);
    all.learn(call, kBytes, 0);
  }
}

TEST(CodingTrials, OfOtherBoundsAndLengthsAreTheirOwn) {
  CodingTrials all;
  codings(all, {0.5, 1}, 8);
  Call other = allreduce();
  other.settings.options.bound = 1e-4;
  bool measured = true, warms_up = false;
  EXPECT_EQ(all.next(other, kBytes, &measured, &warms_up), codec::Coding::dense);
  EXPECT_FALSE(measured);
  EXPECT_EQ(all.next(allreduce(), kBytes / 2, &measured, &warms_up), codec::Coding::dense);
  EXPECT_FALSE(measured);
  EXPECT_EQ(all.took(other, kBytes), 0u);
}

// Rank 1 is done early, in fixed calls later than in dense ones: both go by rank 0's times.
TEST(CodingTrials, RanksOfUnequalTimesChooseAlike) {
  Selector first = on_slow_link(), second = on_slow_link();
  const Call call = allreduce();
  for (std::uint32_t i = 0; i < 2 * kDecidedAfter; ++i) {
    Signature of_first, of_second;
    of_first.took = first.took(call);
    of_second.took = second.took(call);
    merge(of_first, of_second);
    const Decision a = decided(first, call, of_second.took), b = decided(second, call, of_second.took);
    ASSERT_EQ(a.choice.coding, b.choice.coding) << i;
    ASSERT_EQ(a.choice.schedule, b.choice.schedule) << i;
    EXPECT_TRUE(a.trial && b.trial);
    const bool dense = a.choice.coding == codec::Coding::dense;
    EXPECT_TRUE(i != 0 || dense);
    EXPECT_FALSE(i >= kLostAfter && dense) << i;
    EXPECT_EQ(a.choice.why.reason, i >= kLostAfter ? Reason::measured : Reason::alone) << i;
    first.ran(call, 5 + i);
    second.ran(call, dense ? 0.5 : 1);
  }
}

TEST(CodingTrials, TheFirstCallTakesDenseStreamsForALargeGainAlone) {
  for (const auto& [dense, first] : {std::pair(10.0, codec::Coding::fixed), {16.0, codec::Coding::dense}}) {
    Selector selector = on_slow_link();
    std::vector<codec::Coding> taken;
    for (int i = 0; i < 3; ++i) taken.push_back(decided(selector, allreduce(), 0, {8, dense}).choice.coding);
    EXPECT_EQ(taken, (std::vector{first, codec::Coding::fixed, codec::Coding::dense})) << dense;
  }
}

TEST(CodingTrials, AreNotOfForcedStartedOrReproducibleCalls) {
  Call forced = allreduce(), started = allreduce(), reproducible = allreduce();
  forced.settings.options.coding = STRETTO_CODING_DENSE;
  started.nonblocking = true;
  reproducible.settings.options.reproducible = 1;
  for (const Call& call : {forced, started, reproducible}) {
    Selector selector = on_slow_link();
    EXPECT_FALSE(decided(selector, call, 0).trial);
  }
}
