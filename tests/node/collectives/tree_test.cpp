// Trees in a host's memory: for every schedule that splits, number of ranks, root and split, the plain result; whoever
// drives its lanes.
#include "node/tree/tree.hpp"

#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../ranks.hpp"
#include "node/arena/arena.hpp"
#include "node/group/started.hpp"
#include "schedule/floors.hpp"
#include "schedule/registry.hpp"

namespace stretto::node {
namespace {

using schedule::Lane;
using Floats = std::vector<float>;

constexpr Collective kTreeKinds[] = {Collective::reduce, Collective::bcast, Collective::gather, Collective::scatter};

float tree_value(int rank, std::size_t i) { return static_cast<float>(rank + 1) + static_cast<float>(i % 1000); }

Floats values_of(int rank, std::size_t n) {
  Floats v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = tree_value(rank, i);
  return v;
}

// Memory that peers map, or the program's own.
struct TreeBuffer {
  TreeBuffer(const Floats& v, bool shared) : values(v), bytes(v.size() * sizeof(float)) {
    if (shared && bytes > 0) at = static_cast<float*>(arena::allocate(bytes, kLine));
    if (at != nullptr) std::memcpy(at, v.data(), bytes);
  }
  ~TreeBuffer() {
    if (at != nullptr) arena::release(at);
  }
  float* data() { return at != nullptr ? at : values.data(); }
  Floats now() { return {data(), data() + values.size()}; }
  Floats values;
  std::size_t bytes;
  float* at = nullptr;
};

struct TreeCase {
  Collective kind{};
  std::string algorithm;
  int root = 0, split = 0, radix = 2;
  std::size_t n = 0;
  bool in_place = false, shared = false;
  payload::Op op = payload::Op::sum;
  const schedule::Groups* groups = nullptr;
};

std::string told(const TreeCase& c, int ranks) {
  return std::string(schedule::name(c.kind)) + " by " + c.algorithm + " of " + std::to_string(c.n) + ", " +
         std::to_string(ranks) + " ranks, root " + std::to_string(c.root) + ", split " + std::to_string(c.split) +
         (c.in_place ? ", in place" : "") + (c.shared ? ", shared" : "");
}

schedule::Schedule tree_steps(const TreeCase& c, int rank, int ranks) {
  schedule::Request q;
  q.collective = c.kind;
  q.ranks = ranks;
  q.rank = rank;
  q.root = c.root;
  q.radix = c.radix;
  q.split = c.split;
  q.groups = c.groups;
  return schedule::find(c.kind, c.algorithm)->build(q);
}

// What a rank gives and gets in a case, and the call.
struct TreeCall {
  TreeCall(const TreeCase& what, int rank, int ranks) : c(what), steps(tree_steps(what, rank, ranks)) {
    const auto p = static_cast<std::size_t>(ranks), me = static_cast<std::size_t>(rank);
    const bool root = rank == c.root;
    in_place = c.in_place && root;
    switch (c.kind) {
      case Collective::reduce:
        given = values_of(rank, c.n);
        expected = Floats(root ? c.n : 0);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          double sum = 0;
          for (int r = 0; r < ranks; ++r) sum = c.op == payload::Op::max ? tree_value(r, i) : sum + tree_value(r, i);
          expected[i] = static_cast<float>(c.op == payload::Op::mean ? sum / ranks : sum);
        }
        got = in_place ? given : Floats(expected.size());
        break;
      case Collective::bcast:
        expected = values_of(c.root, c.n);
        got = root ? expected : Floats(c.n);
        in_place = true;
        break;
      case Collective::gather:
        given = values_of(rank, c.n);
        for (int r = 0; root && r < ranks; ++r)
          for (std::size_t i = 0; i < c.n; ++i) expected.push_back(tree_value(r, i));
        got = Floats(expected.size());
        if (in_place) std::copy(given.begin(), given.end(), got.begin() + static_cast<std::ptrdiff_t>(me * c.n));
        break;
      default:
        if (root) given = values_of(7, c.n * p);
        for (std::size_t i = 0; i < c.n; ++i) expected.push_back(tree_value(7, me * c.n + i));
        got = Floats(c.n);
        if (in_place) expected = given, got = given;
    }
    in.emplace(given, c.shared);
    out.emplace(got, c.shared);
  }
  Status run(Collectives& all, void (*enter)(void*, Lane) = nullptr, void* context = nullptr) {
    const bool scatters = c.kind == Collective::scatter;
    const void* from = in_place && !scatters ? nullptr : in_place ? out->data() : in->data();
    void* to = in_place && scatters ? nullptr : out->data();
    return all.tree({steps, from, to, c.n, payload::Type::f32, {c.op}, c.split > 0, enter, context});
  }
  const TreeCase c;
  const schedule::Schedule steps;
  bool in_place = false;
  Floats given, got, expected;
  std::optional<TreeBuffer> in, out;
};

void expect_plain_result(Collectives& all, const TreeCase& c) {
  TreeCall call(c, all.rank(), all.size());
  ASSERT_EQ(call.run(all), Status::ok) << told(c, all.size()) << ": " << message();
  EXPECT_EQ(call.out->now(), call.expected) << told(c, all.size()) << ", rank " << all.rank();
  if (!call.given.empty()) {
    EXPECT_EQ(call.in->now(), call.given) << told(c, all.size());
  }
}

Options tree_slots(std::size_t bytes, bool process) {
  Options o;
  o.group.slot = bytes;
  o.memory.process = process;
  return o;
}

// Slots as small as here take many rounds; threads see each other's memory only if they may.
TEST(Tree, EveryScheduleRootAndSplitGivesThePlainResult) {
  for (const bool process : {true, false})
    for (const int ranks : {1, 2, 3, 5, 7, 9})
      on_collectives(ranks, tree_slots(4096, process), [&](Collectives& all) {
        for (const Collective kind : kTreeKinds)
          for (const char* algorithm : {"binomial", "knomial", "leader"})
            for (int root = 0; root < ranks; root += root == 0 ? 1 : ranks / 2)
              for (int split = 0; split <= 3; ++split)
                for (const std::size_t n : {std::size_t{1}, std::size_t{5003}})
                  expect_plain_result(all, {.kind = kind,
                                            .algorithm = algorithm,
                                            .root = root,
                                            .split = split,
                                            .radix = split == 2 ? 3 : 2,
                                            .n = n,
                                            .in_place = split % 2 == 1});
      });
}

TEST(Tree, LongVectorsFromPrivateAndFromSharedMemory) {
  for (const int ranks : {2, 3, 7})
    on_collectives(ranks, tree_slots(slot_for(ranks), false), [&](Collectives& all) {
      for (const Collective kind : kTreeKinds)
        for (const bool shared : {false, true})
          for (const int split : {0, 1})
            expect_plain_result(all, {.kind = kind,
                                      .algorithm = "binomial",
                                      .root = ranks - 1,
                                      .split = split,
                                      .n = 300'001,
                                      .shared = shared});
    });
}

// Groups of 2, 3 and 2 ranks that are not consecutive, as hosts' sockets are, and the caches inside.
TEST(Tree, FollowsTheNodesGroups) {
  constexpr int ranks = 7;
  const std::vector<std::vector<std::int32_t>> levels{{0, 1, 2, 0, 1, 2, 3}, {0, 1, 1, 0, 1, 1, 0}};
  const schedule::Groups groups = schedule::groups_of(levels);
  on_collectives(ranks, tree_slots(4096, true), [&](Collectives& all) {
    for (const Collective kind : kTreeKinds)
      for (int root = 0; root < ranks; ++root)
        for (int split = 0; split <= 3; ++split)
          expect_plain_result(
              all, {.kind = kind, .algorithm = "leader", .root = root, .split = split, .n = 2000, .groups = &groups});
  });
}

TEST(Tree, MeansAndLargestValues) {
  on_collectives(5, tree_slots(4096, true), [](Collectives& all) {
    for (const payload::Op op : {payload::Op::mean, payload::Op::max})
      for (int split = 0; split <= 2; ++split)
        expect_plain_result(
            all, {.kind = Collective::reduce, .algorithm = "binomial", .root = 3, .split = split, .n = 3000, .op = op});
  });
}

TEST(Tree, RefusesWhatItCannotRun) {
  on_collectives(2, tree_slots(4096, true), [](Collectives& all) {
    TreeCall call({.kind = Collective::reduce, .algorithm = "binomial", .n = 10, .op = payload::Op::user}, all.rank(),
                  2);
    EXPECT_EQ(call.run(all), Status::unsupported);
    TreeCall other({.kind = Collective::reduce, .algorithm = "binomial", .n = 10, .op = payload::Op::difference},
                   all.rank(), 2);
    EXPECT_EQ(other.run(all), Status::unsupported);
    expect_plain_result(all, {.kind = Collective::reduce, .algorithm = "binomial", .n = 10});
  });
}

// Rank 0 receives in both, and so is told in this call.
TEST(Tree, DiffersFromThePlainCollective) {
  on_collectives(2, tree_slots(4096, true), [](Collectives& all) {
    TreeCall call({.kind = Collective::reduce, .algorithm = "binomial", .n = 10}, all.rank(), 2);
    if (all.rank() == 1) {
      static_cast<void>(all.reduce(call.in->data(), nullptr, 10, payload::Type::f32, {payload::Op::sum}, 0));
      return;
    }
    EXPECT_EQ(call.run(all), Status::incompatible);
    EXPECT_NE(std::string(message()).find("schedule"), std::string::npos) << message();
  });
}

struct SplitTask final : Started::Task {
  SplitTask(Collectives& of, Started& by, const TreeCase& c) : all(of), started(by), call(c, of.rank(), of.size()) {
    if (c.split > 0 && (c.kind == Collective::reduce || c.kind == Collective::gather)) begins_before();
  }
  Status run() noexcept override {
    return call.run(
        all,
        [](void* self, Lane lane) {
          auto* const task = static_cast<SplitTask*>(self);
          task->next.store(lane);
          task->started.reach(lane);
        },
        this);
  }
  Collectives& all;
  Started& started;
  TreeCall call;
  std::atomic<Lane> next{Lane::before};
};

// Each lane waits for a driver that takes it; the levels of both lanes together give the plain result.
TEST(Tree, ALaneRunsOnlyByADriverThatTakesIt) {
  for (const Collective kind : kTreeKinds)
    on_collectives(7, tree_slots(4096, true), [&](Collectives& blocking) {
      const auto all = blocking.beside();
      Started started(all->group().patience());
      SplitTask task(*all, started, {.kind = kind, .algorithm = "binomial", .root = 2, .split = 1, .n = 9000});
      const bool up = kind == Collective::reduce || kind == Collective::gather;
      started.start(task);
      EXPECT_EQ(started.leads(task), up);
      const auto barrier = [&] { ASSERT_EQ(blocking.barrier(), Status::ok); };
      if (up) {
        EXPECT_FALSE(started.drive({.before = false}));  // a core while the caller leads
        while (started.leads(task)) {
          if (!started.move_lead()) std::this_thread::yield();
        }
        started.end_lead();
        EXPECT_FALSE(task.done());
        barrier();
        EXPECT_FALSE(started.drive({.beside = false}));
        while (!task.done())
          if (!started.drive()) std::this_thread::yield();
      } else {
        EXPECT_FALSE(started.drive({.beside = false}));
        while (task.next.load() != Lane::after)
          if (!started.drive()) std::this_thread::yield();
        EXPECT_FALSE(task.done());
        barrier();
        EXPECT_FALSE(started.drive());
        while (!task.done())
          if (!started.drive({})) std::this_thread::yield();
      }
      EXPECT_EQ(task.status(), Status::ok) << message();
      EXPECT_EQ(task.call.out->now(), task.call.expected) << schedule::name(kind);
      barrier();
    });
}

}  // namespace
}  // namespace stretto::node
