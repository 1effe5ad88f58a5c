// The systems of the literature as configurations of one engine, on devices. Each gives the bits of the host under the
// same configuration, and launches its characteristic kernels.
#include <gtest/gtest.h>

#include <map>

#include "../sanitized.hpp"
#include "cases.hpp"

namespace stretto::tests {
namespace {

using codec::cuda::StreamOperation;
using payload::Codes;

struct Row {
  std::string_view name;
  Case c;
};

const Row kRows[] = {
    {"CPRP2P", {.algorithm = "ring", .kind = Kind::cprp2p}},
    {"C-Coll", {.algorithm = "ring", .kind = Kind::recompress}},
    {"C-Coll bcast", {.collective = Collective::bcast, .algorithm = "binomial", .kind = Kind::recompress}},
    {"gZCCL", {.algorithm = "recursive_doubling", .kind = Kind::recompress}},
    {"gZCCL scatter", {.collective = Collective::scatter, .algorithm = "binomial", .kind = Kind::recompress}},
    {"hZCCL", {.algorithm = "ring", .kind = Kind::homomorphic}},
    {"ghZCCL", {.algorithm = "recursive_doubling", .kind = Kind::homomorphic}},
    {"HomComp", {.algorithm = "ring", .codes = Codes::when_met}},
    {"HomComp ahead", {.algorithm = "ring", .codes = Codes::ahead}},
    {"HomComp_F", {.algorithm = "ring"}},
    {"ArGM", {.algorithm = "hierarchical_ring", .per_node = 2}},
};

// Launches on all devices.
std::map<StreamOperation, long> launches() {
  std::map<StreamOperation, long> all;
  for (const auto operation : {StreamOperation::compress, StreamOperation::decompress, StreamOperation::add,
                               StreamOperation::add_values, StreamOperation::add_codes, StreamOperation::quantise}) {
    for (int d = 0; d < 9; ++d) all[operation] += emulation().launches(d, static_cast<int>(operation));
  }
  return all;
}

Case short_of(Case c) {
  c.count = 5000;
  return c;
}

TEST(Rows, EachGivesTheHostsBits) {
  std::uint64_t seed = 1;
  for (const Row& row : kRows) {
    for (const int ranks : {4, 5}) {
      if (kSanitized && ranks == 4) continue;
      SCOPED_TRACE(row.name);
      const Case c = short_of(row.c);
      begin_order(seed++);
      const Ran expected = run(c, ranks, Where::host);
      ASSERT_TRUE(all_ok(expected));
      for (const Where where : {Where::device, Where::mixed}) {
        const Ran ran = run(c, ranks, where);
        ASSERT_TRUE(all_ok(ran));
        EXPECT_TRUE(same_bits(ran, expected)) << name_of(c, ranks);
      }
      expect_order();
    }
  }
}

TEST(Rows, EachLaunchesItsKernelsAlone) {
  if (!find_emulation()) GTEST_SKIP() << "launches are counted where devices are emulated";
  std::map<std::string_view, std::map<StreamOperation, long>> of;
  for (const Row& row : kRows) {
    begin_order(1);
    ASSERT_TRUE(all_ok(run(short_of(row.c), 4, Where::device))) << row.name;
    of[row.name] = launches();
  }
  using enum StreamOperation;
  // HomComp_F has one kernel per sum, HomComp two; HomComp ahead quantises all values first, also blocks that are only
  // sent.
  EXPECT_GT(of["HomComp_F"][add_values], 0);
  EXPECT_EQ(of["HomComp_F"][quantise] + of["HomComp_F"][add_codes] + of["HomComp_F"][add], 0);
  EXPECT_EQ(of["HomComp"][add_codes], of["HomComp_F"][add_values]);
  EXPECT_EQ(of["HomComp"][quantise], of["HomComp"][add_codes]);
  EXPECT_EQ(of["HomComp"][add_values], 0);
  EXPECT_EQ(of["HomComp ahead"][add_codes], of["HomComp_F"][add_values]);
  EXPECT_GT(of["HomComp ahead"][quantise], of["HomComp"][quantise]);
  EXPECT_EQ(of["HomComp ahead"][add_values], 0);
  // Streams are added, or decoded first.
  for (const std::string_view name : {"hZCCL", "ghZCCL"}) {
    EXPECT_GT(of[name][add], 0) << name;
    EXPECT_EQ(of[name][add_values] + of[name][add_codes], 0) << name;
  }
  for (const std::string_view name : {"CPRP2P", "C-Coll", "gZCCL"}) {
    EXPECT_GT(of[name][decompress], 0) << name;
    EXPECT_EQ(of[name][add] + of[name][add_values] + of[name][add_codes], 0) << name;
  }
  EXPECT_GT(of["CPRP2P"][compress], of["C-Coll"][compress]);  // recompresses forwarded blocks
  EXPECT_GT(of["ArGM"][add_values], 0);
  EXPECT_LT(of["ArGM"][add_values], of["HomComp_F"][add_values]);
}

TEST(Rows, CodesFoundAheadServeInPlaceAndEveryOperation) {
  using payload::Op;
  for (const Op op : {Op::sum, Op::mean, Op::difference, Op::max}) {
    for (const bool in_place : {false, true}) {
      const Case c{.op = op, .count = 3000, .in_place = in_place, .codes = Codes::ahead};
      begin_order(7);
      const Ran expected = run(c, 3, Where::host);
      const Ran ran = run(c, 3, Where::device);
      ASSERT_TRUE(all_ok(expected) && all_ok(ran));
      EXPECT_TRUE(same_bits(ran, expected)) << name_of(c, 3);
      expect_order();
    }
  }
}

TEST(Lanes, AnyNumberOfThemGivesTheHostsBits) {
  for (const int lanes : {1, 2, 3, 8}) {
    for (const bool on_stream : {false, true}) {
      const Case c{.count = 12000, .lanes = lanes, .on_stream = on_stream};
      begin_order(static_cast<std::uint64_t>(lanes));
      const Ran expected = run(c, 3, Where::host);
      const Ran ran = run(c, 3, Where::device, 2);
      ASSERT_TRUE(all_ok(expected) && all_ok(ran));
      EXPECT_TRUE(same_bits(ran, expected)) << lanes << " lanes";
      expect_order();
    }
  }
}

TEST(Lanes, MoreThanADeviceMayHaveAreRefused) {
  begin_order(1);
  const Ran ran = run({.lanes = 9}, 1, Where::device);
  EXPECT_EQ(ran.status[0], Status::invalid_argument);
  EXPECT_NE(ran.text[0].find("9 streams of a device; at most 8"), std::string::npos) << ran.text[0];
}

}  // namespace
}  // namespace stretto::tests
