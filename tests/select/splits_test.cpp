// How many levels of a tree the library gives to the application's cores, by its model.
#include "select/choice/splits.hpp"

#include <gtest/gtest.h>

#include <map>

using namespace stretto;
using namespace stretto::call;
using namespace stretto::select;

namespace {

// Ranks on a core each, of hosts with so many.
Splits splits_on(int ranks, int hosts, int cores) {
  std::vector<topology::Place> places;
  for (int r = 0; r < ranks * hosts; ++r) places.push_back({.host = r / ranks, .core = r % ranks});
  return Splits(std::make_shared<SharedChooser>(model::built_in(), topology::Topology(std::move(places), cores)));
}

Call started(Collective collective) {
  Call c;
  c.collective = collective;
  c.nonblocking = true;
  return c;
}

Choice by(const char* schedule) {
  Choice c;
  c.schedule = schedule;
  return c;
}

constexpr std::size_t kCallBytes = 2 << 20;

// The least number of ranks from which each split is the choice, where all other cores communicate.
std::map<int, int> begins(int cores, Collective collective, int hosts = 1) {
  std::map<int, int> found;
  for (int n = cores / 2; n < cores; ++n)
    found.emplace(splits_on(n, hosts, cores).of(started(collective), kCallBytes, by("binomial"), cores - n), n);
  return found;
}

}  // namespace

TEST(Splits, BeginWhereTheirSourceHasThem) {
  for (const Collective c : {Collective::reduce, Collective::bcast, Collective::allreduce}) {
    EXPECT_EQ(begins(64, c), (std::map<int, int>{{0, 32}, {1, 52}, {2, 58}, {3, 62}})) << schedule::name(c);
    EXPECT_EQ(begins(48, c), (std::map<int, int>{{0, 24}, {1, 39}, {2, 44}, {3, 47}})) << schedule::name(c);
  }
}

// Transfers between hosts are one per host and level, and long: work hides more of the transfers inside.
TEST(Splits, AcrossHostsBeginNoEarlierThanOnOne) {
  const auto one = begins(64, Collective::reduce), four = begins(64, Collective::reduce, 4);
  EXPECT_EQ(four.begin()->first, 0);
  for (const auto& [split, n] : four) {
    if (split > 0) {
      EXPECT_GE(n, one.contains(split) ? one.at(split) : 62) << split;
    }
  }
}

TEST(Splits, AreNoneWhereRanksShareCoresOrNobodyKnows) {
  const Call call = started(Collective::reduce);
  EXPECT_EQ(splits_on(62, 1, 64).of(call, kCallBytes, by("binomial"), 2), 3);
  EXPECT_EQ(splits_on(62, 1, 63).of(call, kCallBytes, by("binomial"), 2), 0);
  EXPECT_EQ(splits_on(62, 1, 0).of(call, kCallBytes, by("binomial"), 2), 0);
  EXPECT_EQ(splits_on(62, 1, 64).of(call, kCallBytes, by("binomial"), 0), 0);
}

TEST(Splits, AreOfTreesAlone) {
  Splits splits = splits_on(62, 1, 64);
  for (const char* tree : {"binomial", "leader"})
    EXPECT_EQ(splits.of(started(Collective::reduce), kCallBytes, by(tree), 2), 3) << tree;
  EXPECT_EQ(splits.of(started(Collective::reduce), kCallBytes, by("rabenseifner"), 2), 0);
  EXPECT_EQ(splits.of(started(Collective::allreduce), kCallBytes, by("ring"), 2), 0);
  Choice elsewhere = by("binomial");
  elsewhere.provider = Provider::node;
  EXPECT_EQ(splits.of(started(Collective::reduce), kCallBytes, elsewhere, 2), 0);
}

TEST(Splits, ForcedAreAsTheyAreForced) {
  Splits splits = splits_on(2, 1, 0);
  splits.force(2);
  EXPECT_EQ(splits.of(started(Collective::reduce), kCallBytes, by("binomial"), 1), 2);
  EXPECT_EQ(splits.of(started(Collective::reduce), kCallBytes, by("rabenseifner"), 1), 0);
  splits.force(std::nullopt);
  EXPECT_EQ(splits.of(started(Collective::reduce), kCallBytes, by("binomial"), 1), 0);
}

TEST(Splits, OfWideTreesCountEachOfTheirRounds) {
  Choice wide = by("knomial");
  wide.radix = 2;
  EXPECT_EQ(splits_on(62, 1, 64).of(started(Collective::reduce), kCallBytes, wide, 2), 3);
  wide.radix = 4;
  EXPECT_EQ(splits_on(62, 1, 64).of(started(Collective::reduce), kCallBytes, wide, 2), 1);
}
