// A torus: how far hosts are from each other, and what messages share on the way.
#include "model/walk/torus.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "world.hpp"

namespace stretto::model {
namespace {

using schedule::Collective;
using Sides = std::vector<std::int32_t>;

topology::Topology laid(int hosts, int per_host, const Sides& sides) {
  auto where = topology::Topology::regular(hosts * per_host, per_host);
  EXPECT_EQ(where.lay_on_torus(sides), Status::ok) << message();
  return where;
}

TEST(Torus, HopsAreTheShorterWayAroundInEachDimension) {
  const Sides ring{8}, cube{4, 4, 4}, flat{2, 5};
  EXPECT_EQ(Routes(ring).hops(1, 7), 2);
  EXPECT_EQ(Routes(ring).hops(0, 4), 4);
  EXPECT_EQ(Routes(cube).hops(0, 1), 1);
  EXPECT_EQ(Routes(cube).hops(0, 3), 1);
  EXPECT_EQ(Routes(cube).hops(0, 16 * 3 + 4 * 2 + 1), 1 + 2 + 1);
  EXPECT_EQ(Routes(flat).hops(2, 5 + 4), 1 + 2);
  for (int a = 0; a < 64; ++a) {
    EXPECT_EQ(Routes(cube).hops(a, a), 0);
    for (int b = 0; b < 64; ++b) EXPECT_EQ(Routes(cube).hops(a, b), Routes(cube).hops(b, a));
  }
}

// Every host sends to its neighbour in one dimension: no two messages share a link.
TEST(Torus, NeighboursHaveLinksOfTheirOwn) {
  const Sides sides{3, 4};
  const Routes routes(sides);
  std::vector<int> load(routes.links(12), 0);
  const auto next = [](int h, int dx, int dy) { return (h / 4 + dx + 3) % 3 * 4 + (h % 4 + dy + 4) % 4; };
  for (int h = 0; h < 12; ++h) {
    for (const auto& [dx, dy] : {std::pair(1, 0), {-1, 0}, {0, 1}, {0, -1}}) {
      routes.walk(h, next(h, dx, dy), [&](std::size_t link) { ++load.at(link); });
    }
  }
  for (const int n : load) EXPECT_EQ(n, 1);
}

TEST(Torus, MustHaveAPlaceForEachHost) {
  auto where = topology::Topology::regular(12, 2);
  EXPECT_EQ(where.lay_on_torus({2, 3}), Status::ok);
  EXPECT_EQ(where.torus(), (Sides{2, 3}));
  EXPECT_EQ(where.lay_on_torus({3, 4}), Status::invalid_argument);
  EXPECT_EQ(std::string(message()), "a torus of 3x4 has 12 places, and there are 6 hosts");
  EXPECT_EQ(where.lay_on_torus({0, 6}), Status::invalid_argument);
  EXPECT_EQ(where.torus(), (Sides{2, 3}));
  EXPECT_EQ(groups_of(where).torus, (Sides{2, 3}));
  Profile p;
  p.torus.sides = {4};
  EXPECT_TRUE(on_network(p, topology::Topology::regular(12, 2)).torus().empty());
  p.torus.sides = {6};
  EXPECT_EQ(on_network(p, topology::Topology::regular(12, 2)).torus(), Sides{6});
}

// Recursive doubling on a ring of hosts: over distance d, d messages share the link in the middle.
TEST(Torus, MessagesQueueForTheLinksThatTheyShare) {
  Machine m = uniform(0, 1e-9);
  for (const int p : {2, 4, 8, 16}) {
    const Programs programs = programs_of(Collective::allreduce, "recursive_doubling", laid(p, 1, {p}), {});
    EXPECT_EQ(programs.period, p);
    const double t = predict(programs, {}, m, {1e6, 0, 0, false}).seconds;
    // Half way around, half of the messages go either way. Ranks whose links are idle go on before others are through.
    const double loads = (p / 2 - 1 + std::max(p / 4, 1)) * 1e-3;
    EXPECT_LE(t, loads + 1e-12) << p;
    EXPECT_GE(t, 0.9 * loads) << p;
    const double alone =
        predict(programs_of(Collective::allreduce, "recursive_doubling", topology::Topology::regular(p, 1)), {}, m,
                {1e6, 0, 0, false})
            .seconds;
    EXPECT_EQ(p > 4, t > 1.5 * alone) << p;
    // A ring's messages never meet.
    const auto ring = [&](const topology::Topology& where) {
      return predict(programs_of(Collective::allreduce, "ring", where), {}, m, {1e6, 0, 0, true}).seconds;
    };
    EXPECT_NEAR(ring(laid(p, 1, {p})), ring(topology::Topology::regular(p, 1)), 1e-12);
  }
}

TEST(Torus, HopsTakeTime) {
  Machine m = uniform(1e-6, 0);
  m.hop = 1e-7;
  const Programs programs = programs_of(Collective::bcast, "linear", laid(9, 1, {9}));
  for (const bool overlap : {true, false}) {
    const double t = predict(programs, {}, m, {8, 0, 0, overlap}).seconds;
    EXPECT_GE(t, 1e-6 + 3e-7);
  }
  EXPECT_NEAR(predict(programs, {}, m, {8, 0, 0, true}).seconds, 1e-6 + 3e-7, 1e-12);  // four hops
}

}  // namespace
}  // namespace stretto::model
