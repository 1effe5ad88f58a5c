// Folded programs against the complete ones, and properties of walks over any schedule.
#include <cmath>

#include "world.hpp"

namespace stretto::model {
namespace {

using schedule::Collective;

// Links that differ by distance, a shared card, a codec, cores for half of the ranks.
Machine machine_of_hosts() {
  Machine m = uniform(2e-6, 1e-10);
  m.links[static_cast<std::size_t>(topology::Distance::cache)] = {{0, 3e-7, 4e-11, 4e-11}};
  m.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 2e-6, 1.3e-10, 1e-11},
                                                                    {30000, 7e-6, 1e-10, 1e-11}};
  m.nics = 1;
  m.ratio = 5;
  m.step = 2e-7;
  m.combine = {0, 1.1e-10};
  m.copy = {0, 7e-11};
  m.compress = m.decompress = {4e-7, 6e-11};
  m.add = m.fused = {4e-7, 8e-11};
  return m;
}

struct Case {
  int ranks, per_host, hosts_per_leaf;
};

class Folded : public testing::TestWithParam<Case> {};

TEST_P(Folded, WalksAsAllRanksDo) {
  const auto [ranks, per_host, leaf] = GetParam();
  const auto where = topology::Topology::regular(ranks, per_host);
  Machine m = machine_of_hosts();
  if (leaf > 0) m.fabric = {leaf, 3};
  int folded = 0;
  for (const schedule::Algorithm& a : schedule::algorithms()) {
    if (ranks > 100 && (a.collective == Collective::alltoall || a.name == "pairwise")) continue;
    schedule::Request request;
    request.collective = a.collective;
    request.ranks = ranks;
    if (fold_period(a, request, where, leaf) == ranks) continue;
    ++folded;
    const Programs few = programs_of(a.collective, a.name, where, {true, leaf, per_host / 2});
    const Programs all = programs_of(a.collective, a.name, where, {false, leaf, per_host / 2});
    ASSERT_LT(few.all.size(), all.all.size());
    for (const bool overlap : {true, false}) {
      for (const System& system : {System{}, system_of(payload::Kind::fused), system_of(payload::Kind::fused, true),
                                   find_system("hzccl")->system}) {
        if (ranks > 100 && (system.up_front || system.compression == Compression::raw)) continue;
        for (const double segment : {0.0, 10000.0}) {
          if (segment > 0 && (!overlap || ranks > 100)) continue;
          const model::Run run{3.3e6, segment, 0, overlap};
          const Prediction x = predict(few, system, m, run), y = predict(all, system, m, run);
          EXPECT_NEAR(x.seconds, y.seconds, 1e-9 * y.seconds)
              << schedule::name(a.collective) << " " << a.name << (overlap ? "" : ", no overlap");
          EXPECT_NEAR(x.wire, y.wire, 1e-9 * y.wire) << schedule::name(a.collective) << " " << a.name;
        }
      }
    }
  }
  EXPECT_GE(folded, leaf > 0 ? 2 : 5);
}

INSTANTIATE_TEST_SUITE_P(Jobs, Folded,
                         testing::Values(Case{7, 1, 0}, Case{12, 3, 0}, Case{24, 4, 2}, Case{32, 4, 0}, Case{64, 1, 4},
                                         Case{96, 12, 0}, Case{256, 8, 0}),
                         [](const auto& i) {
                           return fmt::format("p{}d{}k{}", i.param.ranks, i.param.per_host, i.param.hosts_per_leaf);
                         });

// Hosts of two sockets of two caches of three ranks: the groups nest, and a folded walk equals that of all ranks.
TEST(Nested, HostsWithLevelsInsideFoldAndMessagesKeepTheirDistance) {
  std::vector<topology::Place> places;
  for (int r = 0; r < 48; ++r) places.push_back({.host = r / 12, .socket = r / 6 % 2, .cache = r / 3 % 4});
  const topology::Topology where(places);
  ASSERT_TRUE(where.nested());
  for (const char* name : {"hierarchical_ring", "hierarchical_recursive_doubling", "leader"}) {
    const Programs few = programs_of(Collective::allreduce, name, where, {true, 0, 12});
    const Programs all = programs_of(Collective::allreduce, name, where, {false, 0, 12});
    EXPECT_EQ(few.period, 12);
    const model::Run run{3.3e6, 0, 0, true};
    EXPECT_NEAR(predict(few, System{}, machine_of_hosts(), run).seconds,
                predict(all, System{}, machine_of_hosts(), run).seconds, 1e-12);
  }
  // Blocks of the vector that a rank sends between sockets: a sixth of those without inner levels, as its socket has
  // six ranks.
  const auto crossing = [](const Programs& programs) {
    int blocks = 0;
    for (const Act& a : programs.all[0].acts) {
      if (a.kind == schedule::Kind::send && a.distance == topology::Distance::node) blocks += a.blocks;
    }
    return static_cast<double>(blocks) / programs.blocks;
  };
  topology::Topology flat(places);
  ASSERT_EQ(flat.take_levels(""), Status::ok);
  EXPECT_NEAR(crossing(programs_of(Collective::allreduce, "hierarchical_ring", where)), 1.0 / 6, 1e-9);
  EXPECT_NEAR(crossing(programs_of(Collective::allreduce, "hierarchical_ring", flat)), 1, 1e-9);
}

TEST(Walk, EndsForEveryAlgorithmAndTopologyAndTakesLongerForMore) {
  std::vector<topology::Place> uneven;
  for (const int host : {0, 2, 1, 1, 0, 2, 2, 2, 3}) uneven.push_back({host, -1, -1, -1});
  for (const topology::Topology& where : {topology::Topology::regular(1, 1), topology::Topology::regular(11, 3),
                                          topology::Topology::regular(40, 8), topology::Topology(uneven)}) {
    for (const schedule::Algorithm& a : schedule::algorithms()) {
      const Programs programs = programs_of(a.collective, a.name, where, {true, 0, 4}, 5);
      for (const bool overlap : {true, false}) {
        for (const payload::Kind kind : {payload::Kind::raw, payload::Kind::cprp2p, payload::Kind::recompress,
                                         payload::Kind::homomorphic, payload::Kind::fused}) {
          double last = 0;
          for (const double bytes : {0.0, 1e4, 1e6, 1e8}) {
            const double t =
                predict(programs, system_of(kind, true), machine_of_hosts(), {bytes, 65536, 4096, overlap}).seconds;
            EXPECT_TRUE(std::isfinite(t)) << a.name;
            EXPECT_GE(t, last * (1 - 1e-12)) << schedule::name(a.collective) << " " << a.name << " " << bytes;
            last = t;
          }
          if (where.ranks() > 1) {
            EXPECT_GT(last, 0) << schedule::name(a.collective) << " " << a.name;
          }
        }
      }
    }
  }
}

// Pieces that follow each other down a line: p-2+B transfers of a piece.
TEST(Walk, PipelinesPiecesDownALine) {
  const Machine m = uniform(0, 1e-9);
  for (const int p : {2, 3, 7}) {
    for (const int pieces : {1, 4, 16}) {
      const auto where = topology::Topology::regular(p, 1);
      const Programs programs = programs_of(Collective::bcast, "chain", where, {.allowed = false}, pieces);
      const double piece = 1e6 / pieces * 1e-9;
      for (const bool overlap : {true, false})
        EXPECT_NEAR(predict(programs, {}, m, {1e6, 0, 0, overlap}).seconds, (p - 2 + pieces) * piece, 1e-12);
    }
  }
}

// That pipeline as segments of one block, which a walk does not take one by one.
TEST(Walk, SegmentsFlowAsPiecesDo) {
  Machine m = uniform(0, 1e-9);
  m.ratio = 1;
  const auto where = topology::Topology::regular(5, 1);
  const Programs cut = programs_of(Collective::bcast, "chain", where, {.allowed = false}, 16);
  const Programs whole = programs_of(Collective::bcast, "chain", where, {.allowed = false}, 1);
  m.compress = {0, 0.5e-9};
  m.decompress = {0, 0.25e-9};
  const System once = system_of(payload::Kind::recompress);
  EXPECT_NEAR(predict(whole, once, m, {16e5, 1e5, 0, true}).seconds, predict(cut, once, m, {16e5, 0, 0, true}).seconds,
              1e-12);
  // The codec is hidden but for the first piece's compression and the last one's decoding.
  EXPECT_NEAR(predict(whole, once, m, {16e5, 1e5, 0, true}).seconds, 1e5 * (0.5e-9 + (3 + 16) * 1e-9 + 0.25e-9), 1e-12);
}

TEST(Walk, SharedCardsAndUplinksSlowDownWhatCrossesThem) {
  const auto where = topology::Topology::regular(16, 4);
  Machine m = uniform(0, 1e-10);
  const Programs pairs = programs_of(Collective::alltoall, "pairwise", where);
  const auto seconds = [&] { return predict(pairs, {}, m, {1e6 * 16, 0, 0, true}).seconds; };
  m.nics = 0;
  const double own_cards = seconds();
  m.nics = 4;
  EXPECT_NEAR(seconds(), own_cards, 1e-9 * own_cards);
  m.nics = 1;
  // 12 of 15 messages of each of 4 ranks leave a host.
  EXPECT_GE(seconds(), 0.999 * 12 * 4 * 1e6 / 16 * 1e-10);
  EXPECT_GT(seconds(), 2 * own_cards);
}

TEST(Walk, CpuWorkTakesLongerWhereRanksShareCores) {
  const auto where = topology::Topology::regular(4, 4);
  const Machine m = machine_of_hosts();
  const auto seconds = [&](int cores) {
    return predict(programs_of(Collective::allreduce, "ring", where, {true, 0, cores}), system_of(payload::Kind::fused),
                   m, {1e7, 65536, 0, true})
        .seconds;
  };
  EXPECT_NEAR(seconds(4), seconds(8), 1e-12);
  EXPECT_GT(seconds(1), 2 * seconds(4));
}

}  // namespace
}  // namespace stretto::model
