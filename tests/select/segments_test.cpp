// Which segments a carrier can number: no schedule asks for more messages between two ranks than that is reckoned with.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "model/walk/programs.hpp"
#include "schedule/registry.hpp"
#include "select/choice/segments.hpp"

using namespace stretto;
using namespace stretto::call;
using namespace stretto::select;

namespace {

// Blocks that a rank sends another one, most of all pairs.
std::int64_t busiest(const schedule::Schedule& s) {
  std::map<int, std::int64_t> to;
  for (const schedule::Step& step : s.steps)
    if (step.kind == schedule::Kind::send) to[step.peer] += step.src.count;
  std::int64_t most = 0;
  for (const auto& [peer, blocks] : to) most = std::max(most, blocks);
  return most;
}

Call with_segment(std::size_t bytes) {
  Call c;
  c.settings.options.segment = bytes;
  return c;
}

}  // namespace

TEST(Segments, NoScheduleExceedsTheAssumedPassesOverARanksData) {
  for (const schedule::Algorithm& a : schedule::algorithms()) {
    for (const int ranks : {2, 3, 5, 7, 8, 12, 13, 17}) {
      for (const int per_host : {1, 3, 4}) {
        const auto groups = model::groups_of(topology::Topology::regular(ranks, per_host));
        for (const int blocks : {0, 1, 7, 40}) {
          schedule::Request r;
          r.collective = a.collective;
          r.ranks = ranks;
          r.root = ranks / 2;
          r.blocks = blocks;
          r.groups = &groups;
          for (const schedule::Schedule& s : schedule::build_all(a, r)) {
            // An alltoall's vector is one rank's data for all.
            const std::int64_t vector = a.collective == schedule::Collective::alltoall ? ranks : s.blocks;
            EXPECT_LE(busiest(s), static_cast<std::int64_t>(kMostPasses) * vector)
                << a.name << " on " << ranks << " ranks, " << per_host << " a host, " << blocks << " blocks";
          }
        }
      }
    }
  }
}

TEST(Segments, TooShortOnesOfCallersAreRefusedAndChosenOnesGrow) {
  std::size_t segment = 1000;
  EXPECT_EQ(fit_segment(with_segment(1000), 24999 * 1000, 4, 100000, &segment), Status::ok);
  EXPECT_EQ(fit_segment(with_segment(1000), 25000 * 1000, 4, 100000, &segment), Status::invalid_argument);
  EXPECT_STREQ(message(), "segments of 1000 bytes of 25000000: too many to be numbered; at least 1004 bytes each");
  EXPECT_EQ(segment, 1000u);
  EXPECT_EQ(fit_segment(with_segment(0), 25000 * 1000, 4, 100000, &segment), Status::ok);
  EXPECT_EQ(segment, 1004u);
  EXPECT_EQ(fit_segment(with_segment(1004), 25000 * 1000, 4, 100000, &segment), Status::ok);
  // A segment is a whole number of grains, and one at least.
  segment = 1;
  EXPECT_EQ(fit_segment(with_segment(1), 24999 * 1000, 1000, 100000, &segment), Status::ok);
  segment = 0;  // not cut
  EXPECT_EQ(fit_segment(with_segment(0), std::size_t{1} << 60, 4, 100000, &segment), Status::ok);
  EXPECT_EQ(segment, 0u);
}

TEST(Segments, PartsThatBeginMessagesCount) {
  std::size_t segment = 1000;
  Call few = with_segment(1000), many = with_segment(1000);
  few.settings.parts.assign(10, {1, 1});
  many.settings.parts.assign(1000000, {1, 1});
  EXPECT_EQ(fit_segment(few, 24989 * 1000, 4, 100000, &segment), Status::ok);
  EXPECT_EQ(fit_segment(few, 24990 * 1000, 4, 100000, &segment), Status::invalid_argument);
  EXPECT_EQ(fit_segment(many, 12499 * 1000, 4, 100000, &segment), Status::ok);
  EXPECT_EQ(fit_segment(many, 12500 * 1000, 4, 100000, &segment), Status::invalid_argument);
  many.settings.options.segment = 0;
  EXPECT_EQ(fit_segment(many, 12500 * 1000, 4, 100000, &segment), Status::ok);
  EXPECT_EQ(segment, 1004u);
}

TEST(Segments, RawValuesBetweenHostsTravelInEagerMessages) {
  constexpr std::size_t kib = 1024;
  const std::size_t eager = 63 * kib, bytes = 1024 * kib;
  Call c;
  c.collective = Collective::allreduce;
  c.type = STRETTO_F32;
  c.count = bytes / 4;
  Choice choice;
  for (const std::size_t chosen : {std::size_t{0}, 64 * kib, 1024 * kib}) {
    choice.segment = chosen;
    EXPECT_EQ(segment_for(c, choice, bytes, 3, eager), eager) << chosen;
    EXPECT_EQ(segment_for(c, choice, bytes, 3, 0), chosen) << "no difference to this MPI";
    choice.payload = payload::Kind::fused;
    EXPECT_EQ(segment_for(c, choice, bytes, 3, eager), chosen) << "streams are shorter than values";
    choice.payload = payload::Kind::raw;
    EXPECT_EQ(segment_for(c, choice, eager << 12, 3, eager), chosen) << "too many segments";
  }
  // Each rank of an alltoall has a row of blocks.
  c.collective = Collective::alltoall;
  choice.segment = 256 * kib;
  EXPECT_EQ(segment_for(c, choice, eager << 8, 3, eager), eager);
  EXPECT_EQ(segment_for(c, choice, eager << 8, 128, eager), choice.segment) << "too many segments of all ranks";
  choice.segment = 16 * kib;
  EXPECT_EQ(segment_for(c, choice, bytes, 3, eager), choice.segment) << "short enough";
  c.settings.options.segment = choice.segment = 256 * kib;
  EXPECT_EQ(segment_for(c, choice, bytes, 3, eager), choice.segment) << "asked for";
}
