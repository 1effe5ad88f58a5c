// Counts a host's driver calls per segment, by kind, in rings whose messages use peer access.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "bench/device/calls.hpp"
#include "peer_cases.hpp"

namespace stretto::tests {
namespace {

using bench::DriverCall;
using bench::DriverCalls;

constexpr std::size_t kSegment = 1024;  // values (cases.hpp)

// Driver calls of all ranks for one segment, without those that a collective makes at any length.
using Counts = std::map<DriverCall, double>;

DriverCalls calls_so_far() {
  static_cast<void>(plugin());  // loads the plugin
  DriverCalls calls;
  bench::find_driver_calls()(&calls);
  return calls;
}

DriverCalls calls_of(Case c, int ranks, std::size_t segments_of_block) {
  c.count = segments_of_block * kSegment;
  if (c.collective == Collective::allreduce) c.count *= static_cast<std::size_t>(ranks);
  const DriverCalls before = calls_so_far();
  EXPECT_TRUE(all_ok(run(over(c, ranks), ranks, Where::device)));
  DriverCalls after = calls_so_far();
  for (std::size_t i = 0; i < after.number.size(); ++i) after.number[i] -= before.number[i];
  return after;
}

Counts of_a_segment(const Case& c, int ranks) {
  constexpr std::size_t few = 2, many = 8;
  const DriverCalls less = calls_of(c, ranks, few), more = calls_of(c, ranks, many);
  Counts counts;
  for (std::size_t i = 0; i < more.number.size(); ++i)
    counts[static_cast<DriverCall>(i)] =
        (static_cast<double>(more.number[i]) - static_cast<double>(less.number[i])) / (ranks * double(many - few));
  return counts;
}

// One more rank adds a step to each segment of a ring reduce-scatter: a message, a kernel, and their calls. An
// allreduce adds one forwarded message and one result as well.
Counts of_one_more_rank(const Case& c) {
  Counts more = of_a_segment(c, 4);
  for (const auto& [call, n] : of_a_segment(c, 3)) more[call] -= n;
  std::string text;
  for (const auto& [call, n] : more)
    text += fmt::format(" {} {:.1f}", bench::kDriverCallNames[static_cast<std::size_t>(call)], n);
  fmt::print("{}:{}\n", name_of(c, 4), text);
  return more;
}

double asked(const Counts& counts) {
  double all = 0;
  for (const auto& [call, n] : counts) all += call == DriverCall::vain || call == DriverCall::allocate ? 0 : n;
  return all;
}

// Excludes unsuccessful queries, which depend on time, and allocations, which end when the pools have grown. One query
// may find several events over, so the numbers of successful queries differ from run to run by a tenth or two a
// segment: the least of a few runs counts.
void expect_at_most(const Case& c, double kernels, double copies, double records, double all) {
  SCOPED_TRACE(name_of(c, 4));
  constexpr int most_runs = 8;
  Counts counts = of_one_more_rank(c);
  for (int runs = 1; runs < most_runs && asked(counts) > all; ++runs) counts = of_one_more_rank(c);
  EXPECT_EQ(counts.at(DriverCall::kernel), kernels);
  EXPECT_EQ(counts.at(DriverCall::copy), copies);
  EXPECT_LE(counts.at(DriverCall::record), records);
  EXPECT_EQ(counts.at(DriverCall::wait), 0);
  EXPECT_LE(asked(counts), all);
}

// A kernel, the clearing before it, an event, and a successful query.
TEST(DriverCalls, AFusedSegmentTakesAKernelAnEventAndNoCopy) {
  for (const bool one_device : {false, true})
    expect_at_most({.collective = Collective::reduce_scatter, .one_device = one_device}, 1, 0, 1.1, 4.2);
}

TEST(DriverCalls, ARawSegmentIsCombinedWhereItLiesOnOneDevice) {
  const Case c{.collective = Collective::reduce_scatter, .kind = Kind::raw};
  expect_at_most(c, 1, 1, 2.1, 6.2);  // another device may not reach the program's memory
  Case on_one = c;
  on_one.one_device = true;
  expect_at_most(on_one, 1, 0, 1.1, 3.2);
}

// A forwarded message is copied once. Each rank's result is decoded, or copied.
TEST(DriverCalls, AnAllreduceAddsACopyAndAResult) {
  expect_at_most({.one_device = true}, 2, 1, 3.2, 11.2);
  expect_at_most({.kind = Kind::raw, .one_device = true}, 1, 2, 3.2, 9.2);
}

}  // namespace
}  // namespace stretto::tests
