// What the host asks of the driver for a segment, by kind: of rings whose messages cross by peer access.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "bench/device/calls.hpp"
#include "peer_cases.hpp"

namespace stretto::tests {
namespace {

using bench::DriverCall;
using bench::DriverCalls;

constexpr std::size_t segment = 1024;  // values (cases.hpp)

// Calls of all ranks for one segment of the vector, beyond what a call of the collective takes whatever its length.
using Counts = std::map<DriverCall, double>;

DriverCalls calls_so_far() {
  static_cast<void>(plugin());  // is loaded now
  DriverCalls calls;
  bench::find_driver_calls()(&calls);
  return calls;
}

DriverCalls calls_of(Case c, int ranks, std::size_t segments_of_block) {
  c.count = segments_of_block * segment;
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

// One more rank adds one meeting to each segment of a reduce-scatter by a ring: its message, its kernel, and what follows from them. In an
// allreduce it adds one forwarded message and one result as well.
Counts of_one_more_rank(const Case& c) {
  Counts more = of_a_segment(c, 4);
  for (const auto& [call, n] : of_a_segment(c, 3)) more[call] -= n;
  std::string text;
  for (const auto& [call, n] : more)
    text += fmt::format(" {} {:.1f}", bench::driver_call_names[static_cast<std::size_t>(call)], n);
  fmt::print("{}:{}\n", name_of(c, 4), text);
  return more;
}

TEST(DriverCalls, PrintedForRings) {
  for (const Collective collective : {Collective::reduce_scatter, Collective::allreduce}) {
    for (const Kind kind : {Kind::fused, Kind::raw}) of_one_more_rank({.collective = collective, .kind = kind});
  }
}

}  // namespace
}  // namespace stretto::tests
