#include "model/choose.hpp"

#include <algorithm>
#include <bit>

#include "chooser.hpp"
#include "model/candidates.hpp"
#include "model/profile/machine.hpp"
#include "model/walk/clock.hpp"
#include "model/walk/programs.hpp"
#include "model/walk/system.hpp"
#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::model {
namespace {

TEST(Choose, TakesFewRoundsForShortVectorsAndFewBytesForLongOnes) {
  Chooser chooser(profile(), topology::Topology::regular(16, 1));
  EXPECT_EQ(best(chooser, allreduce(8)).schedule, "recursive_doubling");
  const Candidate big = best(chooser, allreduce(256 << 20));
  EXPECT_NE(big.schedule, "recursive_doubling");
  EXPECT_NE(big.schedule, "binomial");
  EXPECT_EQ(big.payload, Kind::raw);
}

TEST(Choose, CompressesLongVectorsAndNotShortOnes) {
  Chooser chooser(profile(), topology::Topology::regular(7, 1));
  EXPECT_EQ(best(chooser, allreduce(64, 8)).payload, Kind::raw);
  EXPECT_NE(best(chooser, allreduce(64 << 20, 8)).payload, Kind::raw);
}

TEST(Choose, DoesNotCompressWhereTheNetworkIsFasterThanTheCodec) {
  Profile fast = profile();
  for (Link& l : fast.links) l = {{0, 1e-6, 1e-12, 0}};
  Chooser chooser(fast, topology::Topology::regular(7, 1));
  EXPECT_EQ(best(chooser, allreduce(64 << 20, 8)).payload, Kind::raw);
}

TEST(Choose, ANetworkIsFullDuplexUnlessMeasuredOtherwise) {
  const auto seconds = [](bool full_duplex, int hosts) {
    Profile p = profile();
    p.full_duplex = full_duplex;
    p.hosts = hosts;
    Chooser chooser(p, topology::Topology::regular(2, 1));
    return best(chooser, allreduce(1 << 20)).seconds;
  };
  EXPECT_EQ(seconds(false, 1), seconds(true, 2));  // memory of one host, where a core copies one way at a time
  EXPECT_GT(seconds(false, 2), 1.5 * seconds(true, 2));
}

TEST(Choose, ShortCallsPassInTheBurstOfAShapedPort) {
  const auto seconds = [](bool shaped, std::uint64_t bytes) {
    Profile p = profile();
    const Link& network = p.links[static_cast<std::size_t>(topology::Distance::network)];
    if (shaped) p.short_calls = {{0, network[0].alpha, 0}};
    Chooser chooser(p, topology::Topology::regular(2, 1));
    return best(chooser, allreduce(bytes)).seconds;
  };
  EXPECT_LT(seconds(true, kShortCall), 0.8 * seconds(false, kShortCall));
  EXPECT_EQ(seconds(true, 2 * kShortCall), seconds(false, 2 * kShortCall));
}

TEST(Choose, TableIsSortedAndItsFirstIsTheChoiceOfACellsMiddle) {
  Chooser chooser(profile(), topology::Topology::regular(6, 2));
  const Question q = allreduce(1 << 20, 8);
  std::vector<Candidate> all;
  ASSERT_EQ(chooser.table(q, &all), Status::ok) << message();
  ASSERT_GT(all.size(), 10u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](auto& a, auto& b) { return a.seconds < b.seconds; }));
  for (const Candidate& c : all) {
    EXPECT_TRUE(std::isfinite(c.seconds)) << c.schedule;
    EXPECT_GT(c.seconds, 0) << c.schedule;
  }
  const Candidate c = best(chooser, q);
  EXPECT_EQ(c.schedule, all[0].schedule);
  EXPECT_EQ(c.seconds, all[0].seconds);
}

TEST(Choose, AnswersForTheCellAndNamesNativeBesideTheBest) {
  Chooser chooser(profile(), topology::Topology::regular(7, 1));
  for (std::uint64_t bytes : {0u, 1u, 15u, 16u, 17u, 1000u, 1u << 20, (64u << 20) + 1}) {
    Question q = allreduce(bytes, 8.3);
    const Question cell = on_grid(q);
    EXPECT_NEAR(static_cast<double>(cell.bytes), static_cast<double>(bytes), 0.05 * static_cast<double>(bytes));
    EXPECT_EQ(on_grid(cell).bytes, cell.bytes);
    EXPECT_EQ(on_grid(cell).ratio, cell.ratio);
    Candidate own;
    own.native = true;
    Candidate found;
    ASSERT_EQ(chooser.choose(q, &found, &own), Status::ok);
    EXPECT_FALSE(own.native);  // none can serve
    q.native = true;
    for (int again = 0; again < 2; ++again) {
      ASSERT_EQ(chooser.choose(q, &found, &own), Status::ok);
      ASSERT_TRUE(own.native);
      EXPECT_LE(found.seconds, own.seconds);
      std::vector<Candidate> all;
      ASSERT_EQ(chooser.table(on_grid(q), &all), Status::ok);
      const auto native = std::find_if(all.begin(), all.end(), [](const Candidate& c) { return c.native; });
      EXPECT_EQ(own.seconds, native->seconds);
      EXPECT_EQ(found.seconds, all.front().seconds);
    }
  }
}

// choose() ends walks early, table() never does.
TEST(Choose, TakesTheFirstOfTheTableForEveryQuestion) {
  for (const auto& [ranks, per_host] : {std::pair(3, 3), {7, 1}, {12, 3}, {13, 4}, {32, 4}}) {
    Profile p = profile();
    p.natives = {{Collective::allreduce, 7, 7, {{8, 1e-5}, {1 << 20, 1e-3}, {1 << 26, 0.1}}}};
    for (const auto& a : schedule::algorithms()) {
      if (a.name != schedule::default_algorithm(a.collective).name) continue;  // once a collective
      Chooser chooser(p, topology::Topology::regular(ranks, per_host));
      for (const std::uint64_t bytes : {8u, 4096u, 1u << 16, 1u << 20, 1u << 24}) {  // middles of cells
        for (int flags = 0; flags < 8; ++flags) {
          Question q = allreduce(bytes, (flags & 1) != 0 ? 8 : 0);
          q.collective = a.collective;
          q.native = (flags & 2) != 0;
          q.keeps_order = (flags & 4) != 0;
          std::vector<Candidate> all;
          ASSERT_EQ(chooser.table(q, &all), Status::ok) << message();
          const Candidate c = best(chooser, q), &t = all.front();
          const auto text = [](const Candidate& x) {
            return fmt::format("{} {} {} {} {} {} {} {}", x.native, x.schedule, static_cast<int>(x.payload),
                               x.raw_inside, x.segment, x.blocks, x.radix, x.seconds);
          };
          EXPECT_EQ(text(c), text(t)) << schedule::name(a.collective) << " " << ranks << " " << bytes << " " << flags;
        }
      }
    }
  }
}

TEST(Choose, AnswersDependOnTheQuestionAndNotOnWhatWasAskedBefore) {
  Chooser one(profile(), topology::Topology::regular(5, 1)), other(profile(), topology::Topology::regular(5, 1));
  for (std::uint64_t bytes = 1000; bytes < 1100; ++bytes) (void)best(one, allreduce(bytes));
  for (std::uint64_t bytes = 1099; bytes >= 1000; --bytes) {
    const Candidate a = best(one, allreduce(bytes)), b = best(other, allreduce(bytes));
    EXPECT_EQ(a.schedule, b.schedule) << bytes;
    EXPECT_EQ(a.seconds, b.seconds) << bytes;
  }
}

TEST(DenseCosts, AreTheProfilesAtTheirOwnRatio) {
  Profile p = profile();
  p.dense_f32 = {{10, 1e-6, 1e-10, 2e-10, 3e-10, 4e-10}, {40, 2e-6, 5e-11, 6e-11, 7e-11, 8e-11}};
  const Machine m = machine_of_dense(p, 4, 20, 40);
  EXPECT_EQ(m.ratio, 40);
  EXPECT_EQ(m.compress.byte, 5e-11);
  EXPECT_EQ(m.decompress.byte, 6e-11);
  EXPECT_EQ(m.add.byte, 7e-11);
  EXPECT_EQ(m.fused.byte, 8e-11);
  EXPECT_EQ(m.fused.call, 2e-6);
  EXPECT_EQ(machine_of_dense(p, 8, 5, 10).fused.byte, 4e-10) << "float32's where there are no others";
  p.dense_f64 = {{10, 1e-6, 1e-11, 2e-11, 3e-11, 4e-11}};
  EXPECT_EQ(machine_of_dense(p, 8, 5, 10).fused.byte, 4e-11);
}

TEST(DenseCosts, AreEstimatedForProfilesWithoutThem) {
  Profile p = profile();
  p.dense_f32 = {};
  EXPECT_GT(machine_of_dense(p, 4, 20, 40).fused.byte, machine_of(p, 4, 20).fused.byte);
}

TEST(DenseCosts, DecideByTheLinksRate) {
  Profile p = built_in();
  ASSERT_FALSE(p.dense_f32.empty());
  const auto dense_at = [&p](double gigabits) {
    p.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 3e-5, 8 / (gigabits * 1e9), 0}};
    Chooser chooser(p, topology::Topology::regular(3, 1));
    Question q = allreduce(64 << 20, 20);
    q.dense_ratio = 35;
    q.fixed = true;
    return best(chooser, q).coding == codec::Coding::dense;
  };
  EXPECT_TRUE(dense_at(0.1));
  EXPECT_FALSE(dense_at(10));
  p.dense_f32 = {{1, 0, 1e-12, 1e-12, 1e-12, 1e-12}};
  EXPECT_TRUE(dense_at(10)) << "a codec as fast as this one";
}

// A codec whose calls are long: 1e-4 s, which 1 GB/s carries 100 KB in.
Profile long_calls() {
  Profile p = profile();
  for (CodecCost& c : p.f32) c.call = 1e-4;
  return p;
}

TEST(RawBelow, IsOfferedWhereMessagesShrinkPastWhatACallCosts) {
  Chooser chooser(long_calls(), topology::Topology::regular(12, 1));
  std::vector<Candidate> all;
  Question q = allreduce(1 << 20, 8);
  q.exact = true;
  ASSERT_EQ(chooser.table(q, &all), Status::ok);
  bool offered = false;
  for (const Candidate& c : all) {
    if (c.raw_below == 0) continue;
    offered = true;
    EXPECT_EQ(c.payload, Kind::fused);
    EXPECT_NE(c.schedule, "ring");  // whose messages are all alike
    EXPECT_TRUE(std::has_single_bit(c.raw_below));
    EXPECT_GE(c.raw_below, 100'000u);
  }
  EXPECT_TRUE(offered);
  for (const bool sums_round : {true, false}) {
    q.exact = !sums_round;
    q.code_space = !sums_round;
    ASSERT_EQ(chooser.table(q, &all), Status::ok);
    for (const Candidate& c : all) EXPECT_EQ(c.raw_below, 0u) << c.schedule;
  }
}

TEST(RawBelow, LiesBetweenStreamsAndValues) {
  const Profile p = long_calls();
  const Machine machine = machine_of(p, 4, 8);
  for (const int ranks : {5, 8, 12}) {
    const auto topology = topology::Topology::regular(ranks, 1);
    schedule::Request request;
    request.collective = Collective::allreduce;
    request.ranks = ranks;
    Programs programs;
    ASSERT_EQ(make_programs(*schedule::find(Collective::allreduce, "rabenseifner"), request, topology, {}, &programs),
              Status::ok);
    const model::Run run{1 << 20};
    const auto at = [&](double below) { return predict(programs, system_of(Kind::fused, false, below), machine, run); };
    double wire = at(0).wire;
    EXPECT_EQ(wire, predict(programs, system_of(Kind::fused), machine, run).wire);
    for (double below = 1 << 14; below <= 1 << 21; below *= 2) {
      EXPECT_GE(at(below).wire, wire) << ranks << " " << below;
      wire = at(below).wire;
    }
    const Prediction raw = predict(programs, {}, machine, run), all_raw = at(1 << 21);
    EXPECT_EQ(all_raw.wire, raw.wire);
    EXPECT_EQ(all_raw.seconds, raw.seconds);
  }
}

TEST(Choose, ForcedPartsAreKept) {
  Chooser chooser(profile(), topology::Topology::regular(4, 1));
  Question q = allreduce(1 << 20, 8);
  q.native = true;
  q.schedule = "ring";
  EXPECT_EQ(best(chooser, q).schedule, "ring");
  q.payload = static_cast<int>(Kind::recompress);
  EXPECT_EQ(best(chooser, q).payload, Kind::recompress);
  q.segment = 12345;
  EXPECT_EQ(best(chooser, q).segment, 12345u);
}

TEST(Choose, CodeSpaceNeverSumsRawValues) {
  Chooser chooser(profile(), topology::Topology::regular(6, 3));
  for (const std::uint64_t bytes : {4u, 4096u, 1u << 24}) {
    Question q = allreduce(bytes, 8);
    q.code_space = q.native = true;
    std::vector<Candidate> all;
    ASSERT_EQ(chooser.table(q, &all), Status::ok);
    for (const Candidate& c : all) {
      EXPECT_FALSE(c.native || c.raw_inside) << c.schedule;
      EXPECT_TRUE(c.payload == Kind::fused || c.payload == Kind::homomorphic) << c.schedule;
    }
  }
}

TEST(Choose, OrderIsKeptWhereItIsWanted) {
  Chooser chooser(profile(), topology::Topology::regular(6, 3));
  for (const Collective collective : {Collective::allreduce, Collective::reduce, Collective::reduce_scatter}) {
    Question q;
    q.collective = collective;
    q.bytes = 1 << 20;
    q.keeps_order = true;
    std::vector<Candidate> all;
    ASSERT_EQ(chooser.table(q, &all), Status::ok);
    for (const Candidate& c : all) EXPECT_TRUE(schedule::find(collective, c.schedule)->keeps_order) << c.schedule;
  }
}

TEST(Choose, SumsRankByRankRunThatWayOnHostsOfAnyShape) {
  for (const int per_host : {1, 3, 6}) {
    Chooser chooser(profile(), topology::Topology::regular(6, per_host));
    for (const Collective collective : {Collective::allreduce, Collective::reduce, Collective::reduce_scatter}) {
      Question q;
      q.collective = collective;
      q.bytes = 1 << 20;
      std::vector<Candidate> all;
      ASSERT_EQ(chooser.table(q, &all), Status::ok);
      for (const Candidate& c : all) EXPECT_NE(c.schedule, "line");
      q.rank_by_rank = true;
      ASSERT_EQ(chooser.table(q, &all), Status::ok);
      ASSERT_FALSE(all.empty());
      for (const Candidate& c : all) EXPECT_TRUE(schedule::find(collective, c.schedule)->rank_by_rank) << c.schedule;
    }
  }
}

TEST(Choose, RanksThatBracketDifferentlyCarryOnlyAssociativeSums) {
  schedule::Algorithm differ = *schedule::find(Collective::allreduce, "recursive_doubling");
  Question floats = allreduce(8, 8), integers = floats;
  integers.exact = true;
  for (const Kind kind : {Kind::raw, Kind::cprp2p, Kind::recompress, Kind::homomorphic, Kind::fused}) {
    EXPECT_TRUE(may_carry(differ, floats, kind));
  }
  differ.ranks_differ = true;
  for (const Kind kind : {Kind::cprp2p, Kind::recompress}) EXPECT_FALSE(may_carry(differ, integers, kind));
  for (const Kind kind : {Kind::homomorphic, Kind::fused}) EXPECT_TRUE(may_carry(differ, floats, kind));
  EXPECT_FALSE(may_carry(differ, floats, Kind::raw));
  EXPECT_TRUE(may_carry(differ, integers, Kind::raw));
}

TEST(Choose, WhatDoesNotFitTogetherIsUnsupportedAndNamed) {
  Chooser chooser(profile(), topology::Topology::regular(4, 1));
  Candidate c;
  Question q = allreduce(1 << 20);
  q.schedule = "carousel";
  EXPECT_EQ(chooser.choose(q, &c), Status::unsupported);
  EXPECT_NE(std::string(message()).find("carousel"), std::string::npos);
  q = allreduce(1 << 20);
  q.schedule = "ring";
  q.keeps_order = true;
  EXPECT_EQ(chooser.choose(q, &c), Status::unsupported);
  q = allreduce(1 << 20);
  q.payload = static_cast<int>(Kind::fused);  // without a bound
  EXPECT_EQ(chooser.choose(q, &c), Status::unsupported);
  EXPECT_NE(std::string(message()).find("fused"), std::string::npos);
}

TEST(Choose, EveryCollectiveHasAnAnswerForAnyTopology) {
  std::vector<topology::Place> uneven;
  for (const int host : {0, 2, 1, 1, 0, 2, 2}) uneven.push_back({host, -1, -1, -1});
  for (const topology::Topology& t :
       {topology::Topology::regular(1, 1), topology::Topology::regular(13, 4), topology::Topology(uneven),
        topology::Topology::regular(130, 3), topology::Topology::regular(256, 8)}) {
    Chooser chooser(profile(), t);
    for (const auto& a : schedule::algorithms()) {
      Question q;
      q.collective = a.collective;
      q.root = t.ranks() - 1;
      q.bytes = a.collective == Collective::barrier ? 0 : 100'000;
      (void)best(chooser, q);
    }
  }
}

}  // namespace
}  // namespace stretto::model
