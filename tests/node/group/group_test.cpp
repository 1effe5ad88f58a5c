#include "node/group/group.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <utility>

#include "../ranks.hpp"

namespace stretto::node {
namespace {

std::vector<int> others(const Group& g) {
  std::vector<int> all(static_cast<std::size_t>(g.size()));
  std::iota(all.begin(), all.end(), 0);
  std::erase(all, g.rank());
  return all;
}

// Every rank publishes a number that depends on the round; all read all.
void meet(Group& g, const std::vector<int>& peers, int rounds) {
  ASSERT_EQ(g.enter({Collective::allgather}), Status::ok) << message();
  const std::uint64_t first = g.rounds(static_cast<std::uint64_t>(rounds));
  for (std::uint64_t r = first; r < first + static_cast<std::uint64_t>(rounds); ++r) {
    ASSERT_EQ(g.open(r, peers, Group::Room::slot), Status::ok) << message();
    const std::uint64_t mine = r * 1000 + static_cast<std::uint64_t>(g.rank());
    std::memcpy(g.line(r).payload, &mine, sizeof mine);
    std::memcpy(g.slot(r) + g.slot_bytes() - sizeof mine, &mine, sizeof mine);
    g.publish(r);
    for (const int peer : peers) {
      const Line* line = nullptr;
      ASSERT_EQ(g.await(peer, r, &line), Status::ok) << message();
      std::uint64_t inlined = 0, last = 0;
      std::memcpy(&inlined, line->payload, sizeof inlined);
      std::memcpy(&last, g.slot(peer, r) + g.slot_bytes() - sizeof last, sizeof last);
      ASSERT_EQ(inlined, r * 1000 + static_cast<std::uint64_t>(peer));
      ASSERT_EQ(last, inlined);
    }
    g.done(r + 1);
  }
  g.leave();
}

TEST(Group, EveryRankReadsEachPublicationOfEveryRound) {
  for (const int ranks : {1, 2, 3, 5, 9})
    on_groups(ranks, {.slot = 4096}, [](Group& g) {
      const auto peers = others(g);
      for (int call = 0; call < 20; ++call) meet(g, peers, 1 + call % 7);
    });
}

TEST(Group, SlotIsReusedOnlyAfterItsSlowestReader) {
  on_groups(3, {.slot = 4096}, [](Group& g) {
    constexpr std::uint64_t rounds = 200;
    ASSERT_EQ(g.enter({Collective::bcast}), Status::ok);
    g.rounds(rounds);
    const std::vector<int> readers{1, 2};
    for (std::uint64_t r = 0; r < rounds; ++r) {
      if (g.rank() == 0) {
        ASSERT_EQ(g.open(r, readers, Group::Room::slot), Status::ok);
        std::memset(g.slot(r), static_cast<int>(r % 251), 4096);
        g.publish(r);
      } else {
        const Line* line = nullptr;
        ASSERT_EQ(g.await(0, r, &line), Status::ok);
        for (int repeat = 0; repeat < g.rank() * 3; ++repeat) {
          std::this_thread::yield();
          for (std::size_t i = 0; i < 4096; i += 64) ASSERT_EQ(g.slot(0, r)[i], static_cast<std::byte>(r % 251));
        }
        g.done(r + 1);
      }
    }
    g.leave();
  });
}

TEST(Group, DifferentCallsAreNamedOnAllRanks) {
  on_groups(3, {.slot = 4096}, [](Group& g) {
    const auto peers = others(g);
    meet(g, peers, 2);
    const bool odd = g.rank() == 1;
    // A rank that comes late learns it on entering: another has found out already.
    Status met = g.enter({odd ? Collective::bcast : Collective::reduce, 0, 0, 0, odd ? 80u : 40u});
    const std::uint64_t r = g.rounds(1);
    if (met == Status::ok) met = g.open(r, peers, Group::Room::slot);
    if (met == Status::ok) g.publish(r);
    for (const int peer : peers) {
      const Line* line = nullptr;
      if (met == Status::ok) met = g.await(peer, r, &line);
    }
    EXPECT_EQ(met, Status::incompatible);
    EXPECT_NE(std::string(message()).find("bcast (bytes 80"), std::string::npos) << message();
    EXPECT_NE(std::string(message()).find("reduce (bytes 40"), std::string::npos) << message();
    EXPECT_EQ(g.enter({Collective::barrier}), Status::incompatible) << "a group in which a call failed stays failed";
  });
}

TEST(Group, MissingRankIsNamedAfterTheLimit) {
  GroupOptions options{.slot = 4096};
  options.patience.limit = 0.05;
  on_groups(3, options, [](Group& g) {
    if (g.rank() == 2) return;
    ASSERT_EQ(g.enter({Collective::barrier}), Status::ok);
    const Line* line = nullptr;
    EXPECT_EQ(g.await(2, g.rounds(1), &line), Status::timeout);
    EXPECT_NE(std::string(message()).find("for rank 2 in its collective 1, barrier"), std::string::npos) << message();
    EXPECT_NE(std::string(message()).find("called nothing yet"), std::string::npos) << message();
  });
}

TEST(Group, RanksOnSharedCoresYieldEarly) {
  const auto patience_beside = [](int others) {
    Patience found;
    on_groups(2, {.slot = 4096, .cores = 2, .others = others}, [&](Group& g) {
      if (g.rank() == 0) found = g.patience();
    });
    return found;
  };
  EXPECT_EQ(patience_beside(0).spins, spins_for(false));
  EXPECT_EQ(patience_beside(2).spins, spins_for(true)) << "a row of a grid of 4 ranks on 2 cores";
  EXPECT_TRUE(patience_beside(2).shares);
}

TEST(Group, WaitingRankDrivesProgress) {
  on_groups(2, {.slot = 4096}, [](Group& g) {
    ASSERT_EQ(g.enter({Collective::barrier}), Status::ok);
    const std::uint64_t r = g.rounds(2);
    const std::vector<int> peer{1 - g.rank()};
    const Line* line = nullptr;
    if (g.rank() == 0) {
      // Publishes only from the hook, so that without progress both ranks would wait for ever.
      struct Hook {
        Group& group;
        std::uint64_t round;
        int calls = 0;
      } hook{g, r};
      g.patience().context = &hook;
      g.patience().progress = [](void* context) {
        Hook& h = *static_cast<Hook*>(context);
        if (++h.calls == 3) h.group.publish(h.round);
      };
      ASSERT_EQ(g.open(r, peer, Group::Room::slot), Status::ok);
      EXPECT_EQ(g.await(1, r + 1, &line), Status::ok) << message();
      g.patience().progress = nullptr;
    } else {
      EXPECT_EQ(g.await(0, r, &line), Status::ok) << message();
      ASSERT_EQ(g.open(r + 1, peer, Group::Room::slot), Status::ok);
      g.publish(r + 1);
    }
  });
}

TEST(Group, InvalidSlotSizeIsRefused) {
  on_exchanges(1, [](Exchange& e) {
    std::unique_ptr<Group> g;
    EXPECT_EQ(Group::create(e, {.slot = 100}, &g), Status::invalid_argument);
  });
}

TEST(Exchange, GivesEveryRankAllBlocksInOrder) {
  for (const int ranks : {1, 2, 3, 6, 9})
    on_exchanges(ranks, [](Exchange& e) {
      for (int k = 0; k < 3; ++k) {
        std::vector<int> all;
        ASSERT_EQ(e.allgather(e.rank() * 10 + k, &all), Status::ok);
        for (int r = 0; r < e.size(); ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)], r * 10 + k);
      }
    });
}

TEST(Exchange, AStepGivesEveryRankAllDataOrTheFirstFailure) {
  for (const bool room : {true, false})
    on_exchanges(4, [room](Exchange& e) {
      if (room) e.make_room();
      for (const bool fails : {false, true, false}) {
        const Status mine = fails && e.rank() >= 2 ? fail(Status::overflow, "too much") : Status::ok;
        std::span<const int> all;
        EXPECT_EQ(e.step(mine, e.rank() * 10, &all), fails ? Status::overflow : Status::ok);
        EXPECT_EQ(all.size(), fails ? 0u : 4u);
        for (std::size_t r = 0; r < all.size(); ++r) EXPECT_EQ(all[r], static_cast<int>(r) * 10);
        const std::string why = message();
        EXPECT_TRUE(!fails || why == (e.rank() >= 2 ? "too much" : "rank 2 failed: too much")) << why;
      }
    });
}

// Rank 1's exchange number `fails` takes place, and rank 1 does not learn its result. Unless it is the last of `all`,
// the ranks then make different ones, which fail, as by a limit, once all ranks wait in one.
class Cut final : public Exchange {
 public:
  Cut(Exchange& exchange, int fails, int all, std::atomic<int>& waiting)
      : exchange_(exchange), fails_(fails), all_(all), waiting_(waiting) {}
  int rank() const noexcept override { return exchange_.rank(); }
  int size() const noexcept override { return exchange_.size(); }
  Status allgather(const void* mine, std::size_t bytes, void* all) noexcept override {
    if (fails_ >= 0 && made > fails_ && fails_ + 1 < all_) {
      if (!std::exchange(waits_, true)) ++waiting_;
      while (waiting_ < size()) std::this_thread::yield();
      return fail(Status::mpi_error, "the ranks have parted");
    }
    const Status s = exchange_.allgather(mine, bytes, all);
    return made++ == fails_ && rank() == 1 ? fail(Status::mpi_error, "an exchange was cut off") : s;
  }
  int made = 0;

 private:
  Exchange& exchange_;
  const int fails_, all_;
  std::atomic<int>& waiting_;
  bool waits_ = false;
};

TEST(Exchange, ThatIsCutOffOnOneRankLeavesMemoryToNone) {
  std::atomic<int> all_exchanges{0};
  for (int fails = -1; fails < all_exchanges; ++fails) {
    const auto mailboxes = carrier::make_thread_group(3);
    std::vector<std::thread> threads;
    std::atomic<int> waiting{0};
    for (int r = 0; r < 3; ++r)
      threads.emplace_back([&, r] {
        const auto carrier = carrier::make_thread_carrier(mailboxes, r);
        CarrierExchange meeting(*carrier);
        Cut exchange(meeting, fails, all_exchanges, waiting);
        std::unique_ptr<Collectives> c;
        const Status s = Collectives::create(exchange, {}, &c);
        if (r == 1 && fails < 0) all_exchanges = exchange.made;
        EXPECT_TRUE(r != 1 || exchange.parted() == (fails >= 0)) << fails;
        std::span<const bool> have;
        EXPECT_EQ(exchange.step(s, c != nullptr, &have) == Status::ok, fails < 0) << fails << ": " << message();
      });
    for (auto& t : threads) t.join();
  }
  EXPECT_GE(all_exchanges, 4);
}

TEST(Exchange, FailureOfOneRankReachesAll) {
  on_exchanges(4, [](Exchange& e) {
    const Status mine = e.rank() == 2 ? fail(Status::overflow, "too much") : Status::ok;
    EXPECT_EQ(agree(e, mine), Status::overflow);
    EXPECT_NE(std::string(message()).find(e.rank() == 2 ? "too much" : "rank 2"), std::string::npos) << message();
  });
}

}  // namespace
}  // namespace stretto::node
