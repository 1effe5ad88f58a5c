// Lengths at which Swing wins on a torus: between recursive doubling for short vectors and the ring for long ones.
#include <algorithm>

#include "chooser.hpp"
#include "world.hpp"

namespace stretto::model {
namespace {

// Seconds of the best of both forms, and of the others, with a host on each place.
struct Times {
  double swing, doubling, halving, ring;
};

Times times(const topology::Topology& where, double bytes, const Fabric& fabric = {}) {
  Machine m = uniform(5e-6, 1e-10);
  m.hop = 4e-7;
  m.combine = {0, 5e-11};
  m.fabric = fabric;
  const auto seconds = [&](const char* name) {
    const Folding folding{.allowed = false, .hosts_per_leaf = fabric.hosts};
    return predict(programs_of(Collective::allreduce, name, where, folding), {}, m, {bytes, 0, 0, true}).seconds;
  };
  return {std::min(seconds("swing_bandwidth"), seconds("swing_latency")), seconds("recursive_doubling"),
          seconds("rabenseifner"), seconds("ring")};
}

topology::Topology laid(std::vector<std::int32_t> sides) {
  int hosts = 1;
  for (const auto side : sides) hosts *= side;
  auto where = topology::Topology::regular(hosts, 1);
  EXPECT_EQ(where.lay_on_torus(std::move(sides)), Status::ok);
  return where;
}

TEST(Swing, WinsOnATorusFromShortVectorsToAMegabyte) {
  for (const auto& where : {laid({64}), laid({8, 8}), laid({16, 16})}) {
    for (const double bytes : {1e3, 1e4, 1e5, 1e6}) {
      const Times t = times(where, bytes);
      EXPECT_LT(t.swing, 0.98 * t.doubling) << where.ranks() << " " << bytes;
      EXPECT_LT(t.swing, 0.98 * t.halving) << where.ranks() << " " << bytes;
      EXPECT_LT(t.swing, 0.9 * t.ring) << where.ranks() << " " << bytes;
    }
  }
}

TEST(Swing, LeavesLongVectorsToTheRing) {
  const Times t = times(laid({64}), 1e9);
  EXPECT_GT(t.swing, 1.2 * t.ring);
}

TEST(Swing, WinsNothingOnAFatTree) {
  const auto where = topology::Topology::regular(64, 1);
  for (const double bytes : {1e3, 1e4, 1e5, 1e6, 1e7}) {
    for (const Fabric& fabric : {Fabric{}, Fabric{8, 1}}) {
      const Times t = times(where, bytes, fabric);
      EXPECT_GE(t.swing, (1 - 1e-9) * std::min(t.doubling, t.halving)) << fabric.hosts << " " << bytes;
    }
    // Where uplinks are short, its partners cross them a little more evenly.
    const Times t = times(where, bytes, {8, 4});
    EXPECT_GE(t.swing, 0.95 * std::min(t.doubling, t.halving)) << bytes;
  }
}

TEST(Swing, IsChosenOnATorusAndNoCandidateElsewhere) {
  const auto chosen = [](const Profile& p) {
    Chooser chooser(p, topology::Topology::regular(64, 1));
    Question q = allreduce(100'000);
    q.native = true;  // of an MPI that has all flat schedules but this
    std::vector<Candidate> all;
    EXPECT_EQ(chooser.table(q, &all), Status::ok) << message();
    const auto swings = [](const Candidate& c) { return c.schedule.starts_with("swing"); };
    EXPECT_EQ(swings(best(chooser, q)), swings(all.front()));
    return std::pair(std::any_of(all.begin(), all.end(), swings), swings(all.front()));
  };
  Profile p = profile();
  EXPECT_EQ(chosen(p), std::pair(false, false));
  p.torus.sides = {8, 8};
  EXPECT_EQ(chosen(p), std::pair(true, true));
  p.torus.sides = {8, 4};  // not a place for each host
  EXPECT_EQ(chosen(p), std::pair(false, false));
}

}  // namespace
}  // namespace stretto::model
