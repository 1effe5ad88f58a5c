// The choice between our schedules, the MPI's own collective and a node's, measured and not.
#include <algorithm>
#include <utility>
#include <vector>

#include "chooser.hpp"
#include "model/decide.hpp"
#include "model/native.hpp"
#include "model/nodes.hpp"
#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::model {
namespace {

TEST(Choose, NativeIsTakenWhereItWasMeasuredToBeFaster) {
  Profile p = profile();
  p.natives = {{Collective::allreduce, 4, 4, {{8, 1e-9}, {1 << 20, 1e-6}, {1 << 26, 10.0}}}};
  Chooser chooser(p, topology::Topology::regular(4, 1));
  Question q = allreduce(4096);
  EXPECT_FALSE(best(chooser, q).native);  // it may not serve
  q.native = true;
  EXPECT_TRUE(best(chooser, q).native);
  q.bytes = 1 << 26;
  EXPECT_FALSE(best(chooser, q).native);  // slower there
}

// Of a native call that was measured to take 1 / part of the best schedule's time.
bool keeps_native(double part, std::uint64_t bytes, int per_host, bool started = false) {
  const topology::Topology where = topology::Topology::regular(4, per_host);
  Question q = allreduce(bytes);
  q.started = started;
  Profile p = profile();
  Chooser before(p, where);
  const double seconds = best(before, q).seconds / part;
  p.natives = {{Collective::allreduce, 4, where.hosts(), {{1, seconds}, {static_cast<double>(bytes), seconds}}}};
  Chooser chooser(p, where);
  q.native = true;
  ModelChoice decided;
  EXPECT_EQ(decide(chooser, q, &decided), Status::ok) << message();
  return decided.taken.native;
}

TEST(Choose, ATenthReplacesAMeasuredNativeForLongVectors) {
  EXPECT_FALSE(keeps_native(0.85, 1 << 22, 1));
  EXPECT_TRUE(keeps_native(0.95, 1 << 22, 1));
  EXPECT_TRUE(keeps_native(0.85, 1 << 16, 1));  // latency counts
  EXPECT_TRUE(keeps_native(0.85, 1 << 22, 4));  // inside a host
  EXPECT_TRUE(keeps_native(0.85, 1 << 22, 1, true));
  EXPECT_FALSE(keeps_native(0.7, 1 << 16, 1));
}

// Where a message takes long whatever its length, fewest rounds win.
TEST(Choose, IsMadeFromTheTimesOfTheCarriersMessages) {
  Profile p = profile();
  p.mpi = "Open MPI 5";
  p.ucx.emplace();
  p.ucx->links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 1, 1e-9, 0}};
  const auto choice = [](Profile of) {
    Chooser chooser(std::move(of), topology::Topology::regular(4, 1));
    return best(chooser, allreduce(1 << 26));
  };
  EXPECT_EQ(choice(over(Carrier::ucx, p)).schedule, "recursive_doubling");
  EXPECT_NE(choice(over(Carrier::mpi, p)).schedule, "recursive_doubling");
  EXPECT_NE(choice(p).schedule, "recursive_doubling");
}

// Two hosts of eight ranks, whose messages inside a host take as long as those between.
TEST(Choose, MemoryOfSeveralHostsIsTakenWhereMessagesInsideAreSlow) {
  Profile p = profile();
  p.links[static_cast<std::size_t>(topology::Distance::cache)] = {{0, 5e-7, 1e-9, 0}};
  Chooser chooser(p, topology::Topology::regular(16, 8));
  Question q = allreduce(1 << 26);
  const auto through_memory = [&] {
    std::vector<Candidate> all;
    EXPECT_EQ(chooser.table(q, &all), Status::ok) << message();
    const auto found = std::find_if(all.begin(), all.end(), [](const Candidate& c) { return c.piece > 0; });
    return found != all.end() ? *found : Candidate{};
  };
  EXPECT_EQ(through_memory().piece, 0u);  // it may not serve
  q.nodes = true;
  const Candidate c = through_memory();
  EXPECT_EQ(best(chooser, q).piece, c.piece);
  EXPECT_EQ(best(chooser, q).schedule, c.schedule);
  EXPECT_EQ(c.provider, Provider::node);
  EXPECT_FALSE(c.native);
  EXPECT_EQ(c.piece, std::uint64_t{4} << 20);  // a sixteenth
  EXPECT_NE(schedule::find(Collective::allreduce, c.schedule), nullptr);
  // Half of the vector twice over the network, beside sums in memory but for those of one piece.
  EXPECT_GT(c.seconds, 1.0 * (1 << 26) * 1e-9);
  EXPECT_LT(c.seconds, 1.2 * (1 << 26) * 1e-9);
  q.compress = q.nodes_streams = true;
  q.ratio = 4;
  const Candidate streams = through_memory();
  EXPECT_EQ(best(chooser, q).piece, streams.piece);
  EXPECT_EQ(streams.payload, Kind::fused);
  EXPECT_TRUE(streams.raw_inside);
  EXPECT_EQ(streams.segment, std::uint64_t{256} << 10);
  EXPECT_LT(streams.seconds, 0.5 * c.seconds);
  q.nodes_streams = false;
  EXPECT_EQ(through_memory().payload, Kind::raw);
  q.code_space = q.nodes_streams = true;
  EXPECT_EQ(through_memory().piece, 0u);
}

TEST(Choose, MemoryOfSeveralHostsNeedsTwoRanksOnAHost) {
  Profile p = profile();
  p.links[static_cast<std::size_t>(topology::Distance::cache)] = {{0, 5e-7, 1e-11, 0}};
  Question q = allreduce(1 << 26);
  q.nodes = true;
  for (const int per_host : {1, 2}) {
    Chooser chooser(p, topology::Topology::regular(8, per_host));
    std::vector<Candidate> all;
    ASSERT_EQ(chooser.table(q, &all), Status::ok) << message();
    EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const Candidate& c) { return c.piece > 0; }), per_host - 1);
  }
}

// Recursive doubling passes a vector log2 H times between H hosts, Rabenseifner's less than twice.
TEST(Choose, LongVectorsLeaveLinesWhereHostsAreMany) {
  const auto lines = [](int hosts, std::uint64_t bytes, double part, const char* mpi = "Open MPI 5.0.11") {
    Profile p = profile();
    p.mpi = mpi;
    p.cores = 2;
    p.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 2e-5, 8e-9, 0}};
    topology::Topology t = topology::Topology::regular(2 * hosts, 2);
    t.share_cores(part);
    Chooser chooser(std::move(p), std::move(t));
    Question q = allreduce(bytes);
    q.native = q.nodes = q.lines = true;
    ModelChoice decided;
    EXPECT_EQ(decide(chooser, q, &decided), Status::ok) << message();
    return decided.taken.by_lines();
  };
  for (const std::uint64_t bytes : {4096u, 8192u}) EXPECT_TRUE(lines(4, bytes, 1)) << bytes;
  EXPECT_TRUE(lines(64, 4096, 1));
  EXPECT_FALSE(lines(64, 32768, 1));
  EXPECT_FALSE(lines(4, 16384, 1));
  EXPECT_TRUE(lines(4, 16384, 0.25)) << "ranks share cores";
  EXPECT_FALSE(lines(4, 32768, 1, "Open MPI 4.1.6")) << "the MPI's guessed time is less";
}

// Containers of one machine: the sums inside each host wait for the same cores.
TEST(Choose, HostsThatShareCoresSumSlowerInMemory) {
  Profile p = profile();
  p.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 1e-6, 1e-12, 0}};
  Question q = allreduce(1 << 26);
  q.nodes = true;
  const auto seconds = [&](double part) {
    topology::Topology t = topology::Topology::regular(8, 2);
    t.share_cores(part);
    Chooser chooser(p, std::move(t));
    std::vector<Candidate> all;
    EXPECT_EQ(chooser.table(q, &all), Status::ok) << message();
    const auto found = std::find_if(all.begin(), all.end(), [](const Candidate& c) { return c.piece > 0; });
    return found != all.end() ? found->seconds : 0;
  };
  EXPECT_GT(seconds(1), 0);
  EXPECT_GT(seconds(0.125), 1.5 * seconds(1));
}

// Four hosts of two ranks. The network takes a broadcast once, and three quarters of what is scattered.
TEST(Choose, LongVectorsInMemoryOfSeveralHostsTakeNetworkTime) {
  constexpr std::uint64_t bytes = 1 << 26;
  Profile p = profile();
  p.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 1e-5, 8e-9, 0}};
  Chooser chooser(p, topology::Topology::regular(8, 2));
  for (const auto& [collective, vectors] : {std::pair{Collective::bcast, 1.0}, {Collective::reduce_scatter, 0.75}}) {
    Question q = allreduce(bytes);
    q.collective = collective;
    q.nodes = true;
    std::vector<Candidate> all;
    ASSERT_EQ(chooser.table(q, &all), Status::ok) << message();
    const auto found = std::find_if(all.begin(), all.end(), [](const Candidate& c) { return c.piece > 0; });
    ASSERT_NE(found, all.end());
    EXPECT_NE(schedule::find(collective, found->schedule), nullptr);
    EXPECT_GT(found->seconds, vectors * bytes * 8e-9);
    EXPECT_LT(found->seconds, 1.1 * vectors * bytes * 8e-9);
    EXPECT_GE(bytes, least_in_memory(collective));
  }
  EXPECT_EQ(least_in_memory(Collective::allgather), ~std::uint64_t{0});
}

// Where that was measured to gain, unless the MPI was measured to be faster; only exact values of open calls.
TEST(Choose, FewValuesOfSeveralHostsGoByLines) {
  Chooser chooser(profile(), topology::Topology::regular(8, 2));
  Question q = allreduce(64);
  q.native = q.lines = true;
  const auto taken = [](Chooser& by, const Question& asked) {
    ModelChoice decided;
    EXPECT_EQ(decide(by, asked, &decided, true), Status::ok) << message();
    return decided.taken;
  };
  const Candidate c = taken(chooser, q);
  EXPECT_EQ(c.provider, Provider::node);
  EXPECT_TRUE(c.by_lines());
  EXPECT_EQ(c.schedule, "recursive_doubling");
  EXPECT_GT(c.seconds, 2 * 1e-5);  // two rounds
  EXPECT_LT(c.seconds, 4 * 1e-5);
  std::vector<Candidate> all;
  EXPECT_EQ(chooser.table(q, &all), Status::ok) << message();
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const Candidate& one) { return one.piece > 0; }), 1);
  Chooser alone(profile(), topology::Topology::regular(8, 1));
  EXPECT_EQ(taken(alone, q).piece, 0u);
  const auto without = [&](auto change) {
    Question other = q;
    change(other);
    return taken(chooser, other).piece;
  };
  EXPECT_EQ(without([](Question& o) { o.lines = false; }), 0u);
  EXPECT_EQ(without([](Question& o) { o.started = true; }), 0u);
  EXPECT_EQ(without([](Question& o) { o.keeps_order = true; }), 0u);
  EXPECT_EQ(without([](Question& o) { o.schedule = "ring"; }), 0u);
  EXPECT_EQ(without([](Question& o) { o.segment = 4096; }), 0u);
  EXPECT_EQ(without([](Question& o) { o.compress = true, o.ratio = 4; }), 0u);
  q.collective = Collective::bcast;
  q.root = 5;
  EXPECT_EQ(taken(chooser, q).schedule, "binomial");
  // Measured times of the MPI's own are compared.
  for (const double seconds : {1e-6, 1e-3}) {
    Profile p = profile();
    p.natives = {{Collective::allreduce, 8, 4, {{8, seconds}, {1 << 20, 1.0}}}};
    Chooser measured(p, topology::Topology::regular(8, 2));
    Question one = allreduce(64);
    one.native = one.lines = true;
    EXPECT_EQ(taken(measured, one).piece > 0, seconds > 1e-5) << seconds;
  }
}

TEST(Choose, StreamsInsideANodeTakeWhatItsValuesTakeAndTheCodec) {
  Profile p = profile();
  p.natives = {{Collective::allreduce, 4, 1, {{8, 1e-6}, {1 << 20, 1e-3}}, Provider::node}};
  Chooser chooser(p, topology::Topology::regular(4, 4));
  Question q = allreduce(1 << 20, 8);
  q.node = q.node_streams = true;
  const auto streams = [&](const Question& asked) {
    std::vector<Candidate> all;
    EXPECT_EQ(chooser.table(asked, &all), Status::ok) << message();
    const auto found =
        std::find_if(all.begin(), all.end(), [](const Candidate& c) { return c.native && c.payload != Kind::raw; });
    return found == all.end() ? Candidate{} : *found;
  };
  const Candidate open = streams(q);
  ASSERT_TRUE(open.native);
  EXPECT_EQ(open.provider, Provider::node);
  EXPECT_EQ(open.payload, Kind::fused);
  // 3/4 compressed, 1/4 fused, 2/4 added, all decoded, beside calls of 1 us: eight chunks, each of 3 + 1 + 2 + 4.
  const double bytes = 1 << 20;
  EXPECT_NEAR(open.seconds, 1e-3 + bytes * (0.75e-10 + 0.375e-10 + 0.5e-10 + 1e-10) + 8 * 10 * 1e-6, 1e-9);
  Candidate found, own;
  ASSERT_EQ(chooser.choose(q, &found, &own), Status::ok);
  EXPECT_TRUE(own.native);
  EXPECT_EQ(own.payload, Kind::raw);  // the baseline of a program
  q.code_space = true;
  for (const Kind kind : {Kind::fused, Kind::homomorphic}) {
    q.payload = static_cast<int>(kind);
    EXPECT_EQ(streams(q).payload, kind);
  }
  q.code_space = false;
  q.payload = static_cast<int>(Kind::recompress);
  EXPECT_FALSE(streams(q).native);
  q.payload = -1;
  q.schedule = "ring";
  EXPECT_FALSE(streams(q).native);
  q.schedule.clear();
  q.collective = Collective::alltoall;
  EXPECT_FALSE(streams(q).native);
  q = allreduce(1 << 20);
  q.node = q.node_streams = true;
  EXPECT_FALSE(streams(q).native);  // without a bound
}

// Questions and native points count bytes alike: a question of a point's size is answered with the point's time.
TEST(Choose, NativeTakesWhatWasMeasuredAtAQuestionsSize) {
  Profile p = profile();
  const std::vector<std::pair<double, double>> points = {{24, 1e-6}, {3000, 2e-6}, {3'000'000, 4e-3}};
  for (const auto& a : schedule::algorithms()) p.natives.push_back({a.collective, 3, 2, points});
  std::vector<topology::Place> uneven;
  for (const int host : {0, 0, 1}) uneven.push_back({host, -1, -1, -1});
  Chooser chooser(p, topology::Topology(uneven));
  for (const auto& a : schedule::algorithms()) {
    for (const auto& [bytes, seconds] : points) {
      Question q;
      q.collective = a.collective;
      q.bytes = static_cast<std::uint64_t>(bytes);
      q.native = true;
      std::vector<Candidate> all;
      ASSERT_EQ(chooser.table(q, &all), Status::ok) << message();
      const auto native = std::find_if(all.begin(), all.end(), [](const Candidate& c) { return c.native; });
      ASSERT_NE(native, all.end());
      EXPECT_EQ(native->seconds, seconds) << schedule::name(a.collective) << " " << bytes;
    }
  }
}

TEST(Choose, NativeThatWasNotMeasuredWinsOverTheSameOnRawValues) {
  Chooser chooser(profile(), topology::Topology::regular(4, 1));
  for (const auto& a : schedule::algorithms()) {
    Question q;
    q.collective = a.collective;
    q.native = true;
    for (const std::uint64_t bytes : {0u, 8u, 5000u, 3u << 20}) {
      q.bytes = a.collective == Collective::barrier ? 0 : bytes;
      EXPECT_TRUE(best(chooser, q).native) << schedule::name(a.collective) << " " << bytes;
    }
  }
}

// What is decided on so many hosts of one rank.
ModelChoice decided_between(int hosts, Profile p, const Question& q) {
  Chooser chooser(std::move(p), topology::Topology::regular(hosts, 1));
  ModelChoice decided;
  EXPECT_EQ(decide(chooser, q, &decided), Status::ok) << message();
  return decided;
}

// Open MPI's started sums: a tree of whole vectors up and down for 2 and 3 ranks, a reduce of them before each scatter.
TEST(Choose, AStartedSumAvoidsWholeVectorsOfTheMpi) {
  const auto taken = [](int ranks, Collective collective, const char* mpi, bool started, Profile p = profile(),
                        std::uint64_t bytes = 32 << 20) {
    p.mpi = mpi;
    Question q = allreduce(bytes);
    q.collective = collective;
    q.native = true;
    q.started = started;
    const ModelChoice decided = decided_between(ranks, std::move(p), q);
    EXPECT_EQ(decided.taken.payload, Kind::raw);
    return decided;
  };
  const char* const open = "Open MPI 5.0.11";
  for (const int ranks : {2, 3}) {
    const ModelChoice sum = taken(ranks, Collective::allreduce, open, true);
    EXPECT_EQ(sum.taken.provider, Provider::schedules) << ranks;
    EXPECT_GT(sum.mpi_seconds, (32 << 20) * 2e-9);  // up and down at 1 GB/s
    EXPECT_EQ(taken(ranks, Collective::allreduce, open, false).taken.native, ranks == 2) << ranks;
    EXPECT_TRUE(taken(ranks, Collective::allreduce, "MPICH 5.0.0", true).taken.native) << ranks;
    EXPECT_TRUE(taken(ranks, Collective::allreduce, "", true).taken.native) << ranks;
  }
  EXPECT_TRUE(taken(4, Collective::allreduce, open, true).taken.native);
  for (const std::uint64_t bytes : {64u, 1024u, 4096u})
    EXPECT_TRUE(taken(2, Collective::allreduce, open, true, profile(), bytes).taken.native) << bytes;
  for (const int ranks : {2, 3, 5}) {
    EXPECT_FALSE(taken(ranks, Collective::reduce_scatter, open, true).taken.native) << ranks;
    EXPECT_TRUE(taken(ranks, Collective::bcast, open, true).taken.native) << ranks;
  }
  // Natives of a profile are those of blocking calls.
  Profile measured = profile();
  measured.natives = {{Collective::allreduce, 3, 3, {{1 << 20, 1e-3}, {1 << 26, 0.064}}}};
  EXPECT_TRUE(taken(3, Collective::allreduce, open, false, measured).taken.native);
  EXPECT_FALSE(taken(3, Collective::allreduce, open, true, measured).taken.native);
}

// MPICH's allreduce beyond 8 bytes: Rabenseifner's, whose rounds are twice those of recursive doubling.
TEST(Choose, AShortSumAvoidsTheRoundsOfMpich) {
  const auto taken = [](int ranks, std::uint64_t bytes, const char* mpi, bool started = false, Profile p = profile()) {
    p.mpi = mpi;
    Question q = allreduce(bytes);
    q.native = true;
    q.started = started;
    return decided_between(ranks, std::move(p), q);
  };
  for (const char* const recent : {"MPICH 4.2.1", "MPICH 5.0.2"}) {
    for (const int ranks : {2, 3, 4, 7}) {
      for (const std::uint64_t bytes : {64u, 1024u, 4096u}) {
        const ModelChoice sum = taken(ranks, bytes, recent);
        EXPECT_EQ(sum.taken.provider, Provider::schedules) << ranks << " " << bytes;
        EXPECT_LT(sum.taken.seconds, 0.9 * sum.mpi_seconds) << ranks << " " << bytes;
        EXPECT_TRUE(taken(ranks, bytes, recent, true).taken.native) << "started: of other schedules";
      }
      EXPECT_TRUE(taken(ranks, 8, recent).taken.native) << ranks;
    }
    EXPECT_TRUE(taken(9, 28, recent).taken.native) << "fewer values than ranks";
    EXPECT_TRUE(taken(2, 1 << 24, recent).taken.native) << "the rounds no longer count";
  }
  for (const char* const other : {"Open MPI 5.0.11", "MPICH 3.4", "MPICH 8.1", ""})
    EXPECT_TRUE(taken(4, 1024, other).taken.native) << other;
  Profile measured = profile();
  measured.natives = {{Collective::allreduce, 4, 4, {{8, 1e-6}, {65536, 2e-6}}}};
  EXPECT_TRUE(taken(4, 1024, "MPICH 5.0.2", false, measured).taken.native);
}

// Open MPI's coll/tuned: Rabenseifner's from 8 KiB on 4 ranks, with one rank a host, and rings on two.
TEST(Choose, AShortSumAvoidsTheRoundsOfOpenMpi) {
  const auto taken = [](int ranks, int per_host, std::uint64_t bytes, std::string mpi, bool keeps_order = false) {
    Profile p = profile();
    p.mpi = std::move(mpi);
    p.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 2e-5, 1e-9}};
    Question q = allreduce(bytes);
    q.native = true;
    q.keeps_order = keeps_order;
    Chooser chooser(std::move(p), topology::Topology::regular(ranks, per_host));
    ModelChoice decided;
    EXPECT_EQ(decide(chooser, q, &decided), Status::ok) << message();
    return decided.taken.native;
  };
  for (const char* const open : {"Open MPI 4.1.6", "Open MPI 5.0.11"}) {
    for (const int ranks : {4, 7, 12}) EXPECT_FALSE(taken(ranks, 1, 8400, open)) << ranks;
    EXPECT_FALSE(taken(19, 1, 4200, open));
    EXPECT_FALSE(taken(40, 1, 512, open));
    for (const int ranks : {2, 3}) EXPECT_FALSE(taken(ranks, 1, 4200, open)) << ranks;
    EXPECT_TRUE(taken(4, 1, 7000, open)) << "recursive doubling";
    EXPECT_TRUE(taken(3, 1, 8400, open)) << "recursive doubling";
    EXPECT_TRUE(taken(8, 2, 8400, std::string(open) + std::string(kWithoutHan))) << "two ranks a host";
    EXPECT_TRUE(taken(4, 1, 8400, open, true)) << "an operation that does not commute";
  }
  EXPECT_TRUE(taken(4, 1, 8400, "Open MPI 4.0.7"));
}

// Open MPI's coll/han moves pieces of 64 KiB, by trees of one rank of each host.
TEST(Choose, ASumAvoidsTheTreesOfOpenMpiBetweenHosts) {
  const std::string open = "Open MPI 5.0.11", flat = open + std::string(kWithoutHan);
  const auto decided = [](int ranks, int per_host, Question q, const std::string& mpi) {
    Profile p = profile();
    p.mpi = mpi;
    p.eager_limit = 63 << 10;
    p.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 2e-5, 8e-9}};
    q.native = true;
    Chooser chooser(std::move(p), topology::Topology::regular(ranks, per_host));
    ModelChoice made;
    EXPECT_EQ(decide(chooser, q, &made), Status::ok) << message();
    return made;
  };
  for (const std::uint64_t bytes : {16u << 10, 64u << 10, 256u << 10}) {
    const Question sum = allreduce(bytes);
    for (const int per_host : {2, 5}) {
      const ModelChoice made = decided(4 * per_host, per_host, sum, open);
      EXPECT_FALSE(made.taken.native) << bytes;
      EXPECT_GT(made.mpi_seconds, 0.9 * 4 * 8e-9 * static_cast<double>(bytes)) << "up and down between 4 hosts";
      EXPECT_TRUE(decided(4 * per_host, per_host, sum, "Open MPI 4.1.6").taken.native) << bytes;
      EXPECT_TRUE(decided(4 * per_host, per_host, sum, flat).taken.native) << bytes;
    }
    Question ordered = sum, started = sum;
    ordered.keeps_order = started.started = true;
    EXPECT_TRUE(decided(8, 2, ordered, open).taken.native) << "an operation that does not commute";
    EXPECT_EQ(decided(8, 2, started, open).taken.native, bytes >= 64 << 10) << "another component's";
    EXPECT_EQ(decided(5, 1, sum, open).taken.seconds, decided(5, 1, sum, flat).taken.seconds) << "one rank a host";
  }
  EXPECT_TRUE(decided(8, 2, allreduce(1024), open).taken.native) << "short";
  Question bcast = allreduce(128 << 10);
  bcast.collective = Collective::bcast;
  EXPECT_FALSE(decided(8, 2, bcast, open).taken.native);
  EXPECT_TRUE(decided(8, 2, bcast, flat).taken.native);
  EXPECT_TRUE(decided(10, 2, bcast, open).taken.native) << "5 hosts";
  EXPECT_TRUE(decided(8, 4, bcast, open).taken.native) << "2 hosts: once over the network";
  EXPECT_TRUE(decided(4, 1, bcast, open).taken.native) << "one rank a host";
  // Recursive halving begins with the farthest: every rank sends halves to other hosts.
  Question scatter = allreduce(128 << 10);
  scatter.collective = Collective::reduce_scatter;
  for (const int per_host : {2, 4}) {
    const ModelChoice made = decided(4 * per_host, per_host, scatter, open);
    EXPECT_FALSE(made.taken.native);
    EXPECT_GT(made.mpi_seconds, 0.9 * per_host * 0.75 * 8e-9 * static_cast<double>(scatter.bytes));
  }
  EXPECT_TRUE(decided(4, 1, scatter, open).taken.native) << "one rank a host";
  EXPECT_TRUE(decided(8, 2, scatter, "MPICH 5.0.2").taken.native);
  scatter.bytes = 64 << 10;
  EXPECT_TRUE(decided(8, 2, scatter, open).taken.native) << "short";
}

// A bound that needs codes, or a schedule that is asked for, leaves MPICH no choice to compare with.
TEST(Choose, AShortSumOverMpichKeepsWhatIsAskedFor) {
  Profile p = profile();
  p.mpi = "MPICH 5.0.2";
  Question codes = allreduce(512);
  codes.native = codes.compress = codes.code_space = true;
  codes.ratio = 8;
  EXPECT_NE(decided_between(4, p, codes).taken.payload, Kind::raw);
  Question ring = allreduce(512);
  ring.native = ring.compress = true;
  ring.ratio = 8;
  ring.schedule = "ring";
  Profile other = p;
  other.mpi = "Open MPI 5.0.11";
  EXPECT_EQ(decided_between(4, p, ring).taken.payload, decided_between(4, other, ring).taken.payload);
}

// Open MPI over TCP: a rendezvous waits behind the data of the other direction.
TEST(Choose, ExchangesBeyondTheEagerLimitOfAnMpiTakeTurns) {
  const auto decided_by = [](int ranks, Collective collective, std::uint64_t bytes, std::size_t eager_limit) {
    Profile p = profile();
    p.eager_limit = eager_limit;
    Question q = allreduce(bytes);
    q.collective = collective;
    q.native = true;
    return decided_between(ranks, std::move(p), q);
  };
  constexpr std::uint64_t long_vector = 32 << 20, limit = 64 << 10;
  for (const int ranks : {2, 3, 5})
    for (const Collective collective : {Collective::allreduce, Collective::allgather, Collective::alltoall}) {
      const ModelChoice turns = decided_by(ranks, collective, long_vector, limit);
      const ModelChoice both = decided_by(ranks, collective, long_vector, 0);
      EXPECT_FALSE(turns.taken.native) << ranks << " " << schedule::name(collective);
      EXPECT_EQ(turns.taken.payload, Kind::raw);
      EXPECT_TRUE(both.taken.native) << ranks << " " << schedule::name(collective);
      EXPECT_GT(turns.mpi_seconds, 1.5 * both.mpi_seconds) << ranks << " " << schedule::name(collective);
      EXPECT_TRUE(decided_by(ranks, collective, limit, limit).taken.native) << "no message is longer than the limit";
    }
  Profile measured = profile();
  measured.eager_limit = limit;
  measured.natives = {{Collective::allreduce, 3, 3, {{1 << 20, 1e-3}, {1 << 26, 0.064}}}};
  Chooser chooser(measured, topology::Topology::regular(3, 1));
  Question q = allreduce(long_vector);
  q.native = true;
  ModelChoice decided;
  ASSERT_EQ(decide(chooser, q, &decided), Status::ok) << message();
  EXPECT_TRUE(decided.taken.native) << "a measurement counts, not the rule";
}

TEST(Choose, WhereNothingWasMeasuredMemoryIsTakenAsAmongCandidates) {
  for (const int ranks : {1, 2, 3, 8, 9}) {
    Chooser chooser(profile(), topology::Topology::regular(ranks, ranks));
    for (const Collective collective : {Collective::allreduce, Collective::bcast, Collective::barrier})
      for (const double ratio : {0.0, 8.0})
        for (const bool native : {true, false}) {
          Question q = allreduce(collective == Collective::barrier ? 0 : 1 << 20, ratio);
          q.collective = collective;
          q.node = true;
          q.native = native;
          q.node_streams = ratio > 0;
          ModelChoice decided;
          ASSERT_EQ(decide(chooser, q, &decided), Status::ok) << message();
          q.natives = q.contest = true;
          Candidate best, own;
          double mpi = 0;
          ASSERT_EQ(chooser.choose(q, &best, &own, &mpi), Status::ok) << message();
          EXPECT_EQ(decided.taken.provider, best.provider) << ranks;
          EXPECT_EQ(decided.taken.payload, best.payload) << ranks;
          EXPECT_EQ(decided.own.provider, own.provider) << ranks;
          EXPECT_EQ(decided.own.assumed, own.assumed) << ranks;
        }
  }
}

TEST(Choose, ANodesCollectiveIsTakenWhereItWasMeasuredFastest) {
  Profile p = profile();
  p.natives = {{Collective::allreduce, 3, 1, {{8, 2e-9}, {1 << 20, 1e-9}}},
               {Collective::allreduce, 3, 1, {{8, 1e-9}, {1 << 20, 2e-9}}, Provider::node}};
  Chooser chooser(p, topology::Topology::regular(3, 3));
  Question q = allreduce(8);
  q.native = q.node = true;
  EXPECT_EQ(best(chooser, q).provider, Provider::node);
  q.bytes = 1 << 20;
  EXPECT_EQ(best(chooser, q).provider, Provider::mpi);
  EXPECT_TRUE(best(chooser, q).native);
  q.native = false;
  EXPECT_EQ(best(chooser, q).provider, Provider::node);
  q.schedule = "ring";
  EXPECT_FALSE(best(chooser, q).native);
}

TEST(Choose, ANodesCollectiveThatWasNotMeasuredIsTakenForAFewRanks) {
  for (const int ranks : {1, 2, 3, 12}) {
    Chooser chooser(profile(), topology::Topology::regular(ranks, ranks));
    Question q = allreduce(4096);
    q.native = q.node = true;
    EXPECT_TRUE(best(chooser, q).native);
    EXPECT_EQ(best(chooser, q).provider == Provider::node, ranks > 1 && ranks <= 8) << ranks;
  }
}

TEST(Choose, MeasuringAShortCallOnSharedCoresRaisesNoEstimate) {
  Profile p = profile();
  p.natives = {{Collective::allreduce, 3, 1, {{8, 1e-9}, {1 << 20, 1e-9}}},
               {Collective::allreduce, 3, 1, {{8, 2e-9}, {1 << 20, 2e-9}}, Provider::node}};
  for (const int cores : {2, 3}) {
    p.cores = cores;
    Chooser chooser(p, topology::Topology::regular(3, 3));
    for (const std::uint64_t bytes : {8u, 4096u}) {
      Question q = allreduce(bytes);
      q.native = q.node = true;
      EXPECT_EQ(best(chooser, q).provider == Provider::node, cores < 3 && bytes < 1024) << cores << " " << bytes;
    }
  }
}

TEST(Native, IsAskedByProviderRanksAndHosts) {
  Profile p = profile();
  p.natives = {{Collective::allreduce, 3, 1, {{8, 2e-6}, {800, 2e-4}}},
               {Collective::allreduce, 3, 1, {{8, 1e-6}, {800, 1e-4}}, Provider::node}};
  EXPECT_NEAR(measured_native(p, Provider::mpi, Collective::allreduce, 3, 1, 80).value_or(0), 2e-5, 1e-12);
  EXPECT_NEAR(measured_native(p, Provider::node, Collective::allreduce, 3, 1, 80).value_or(0), 1e-5, 1e-12);
  EXPECT_FALSE(measured_native(p, Provider::node, Collective::allreduce, 4, 1, 80));
  EXPECT_FALSE(measured_native(p, Provider::node, Collective::allreduce, 3, 3, 80));
  EXPECT_FALSE(measured_native(p, Provider::node, Collective::reduce, 3, 1, 80));
}

// The MPI's short calls were measured in the port's burst, and streams compete with raw calls that follow one another.
TEST(ChooseNative, StreamsOfShortCallsCompeteWithRawBeyondABurst) {
  Profile p = profile();
  p.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 1e-5, 8e-9}};
  p.short_calls = {{0, 1e-5, 1e-9}};
  constexpr std::uint64_t bytes = 8 << 10;
  p.natives = {{Collective::allreduce, 2, 2, {{1, 1.2e-5}, {bytes, 2e-5}, {4 * bytes, 3e-4}}}};
  Chooser chooser(p, topology::Topology::regular(2, 1));
  Question q = allreduce(bytes);
  q.native = true;
  EXPECT_TRUE(best(chooser, q).native);
  q = allreduce(bytes, 8);
  q.native = true;
  EXPECT_NE(best(chooser, q).payload, Kind::raw);
  p.short_calls.clear();
  Chooser unshaped(p, topology::Topology::regular(2, 1));
  EXPECT_TRUE(best(unshaped, q).native);
}

}  // namespace
}  // namespace stretto::model
