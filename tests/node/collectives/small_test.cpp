// Small rounds, in which writers run ahead of readers: how far, the rooms' contents on reuse, and detection of a
// mistake at any distance.
#include <atomic>
#include <cstring>
#include <random>

#include "../ranks.hpp"
#include "node/collectives/collectives.hpp"

namespace stretto::node {
namespace {

Options options_of_all() {
  Options options;
  options.group.slot = 4096;
  options.group.patience.limit = 60;
  return options;
}

template <class Body>
void on_small_collectives(int ranks, const Body& body) {
  node::on_collectives(ranks, options_of_all(), body);
}

void await(const std::atomic<bool>& flag) {
  while (!flag.load()) std::this_thread::yield();
}

constexpr int kAhead = static_cast<int>(kLines);

std::byte value(int call, int giver, int taker, std::size_t at) {
  return static_cast<std::byte>(static_cast<std::size_t>(call * 31 + giver * 7 + taker * 3) + at);
}

TEST(Small, RankRunsOneRingAheadOfItsReader) {
  std::atomic<bool> go{false};
  on_groups(2, {.slot = 4096}, [&](Group& g) {
    ASSERT_EQ(g.enter({Collective::bcast}), Status::ok);
    constexpr int rounds = 3 * kAhead + 5;
    g.rounds(rounds);
    const std::vector<int> reader{1};
    if (g.rank() == 0) {
      // Its reader begins when it waits, so that one that overtakes its reader is seen to do so.
      g.patience().context = &go;
      g.patience().progress = [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); };
      for (int r = 0; r < rounds; ++r) {
        const auto round = static_cast<std::uint64_t>(r);
        ASSERT_EQ(g.open(round, reader, Group::Room::small), Status::ok) << message();
        ASSERT_TRUE(go || r < kAhead) << "it did not wait in round " << r;
        ASSERT_FALSE(go && r < kAhead) << "it waited in round " << r;
        std::memset(g.place(round, Group::Room::small, kSmall), r % 251, kSmall);
        g.publish(round);
      }
      g.patience().progress = nullptr;
    } else {
      await(go);
      for (int r = 0; r < rounds; ++r) {
        const auto round = static_cast<std::uint64_t>(r);
        const Line* line = nullptr;
        ASSERT_EQ(g.await(0, round, &line), Status::ok) << message();
        const std::byte* got = g.place(0, round, Group::Room::small, kSmall);
        for (std::size_t i = 0; i < kSmall; ++i) ASSERT_EQ(got[i], static_cast<std::byte>(r % 251));
        g.done_later(round + 1);
      }
    }
    g.leave();
  });
}

TEST(Small, LateRankFindsAllDataAndDelaysNoneUntilTheRingIsFull) {
  for (const std::size_t bytes : {std::size_t{8}, kInline + 1, kSmall}) {
    std::atomic<bool> given{false};
    std::atomic<int> left{2};
    on_small_collectives(3, [&](Collectives& c) {
      const int me = c.rank();
      if (me == 2) await(given);
      std::vector<std::byte> block(bytes), all(3 * bytes);
      for (int call = 0; call < kAhead; ++call) {
        // From one root after another, and to it: ranks 0 and 1 have finished before rank 2 begins.
        if (call % 2 == 0) {
          if (me == 0) std::fill(block.begin(), block.end(), value(call, 0, 0, 0));
          ASSERT_EQ(c.bcast(block.data(), bytes, 0), Status::ok) << message();
          ASSERT_EQ(block[bytes - 1], value(call, 0, 0, 0));
        } else {
          std::fill(block.begin(), block.end(), value(call, me, 2, 0));
          ASSERT_EQ(c.gather(block.data(), all.data(), bytes, 2), Status::ok) << message();
          for (int r = 0; me == 2 && r < 3; ++r)
            ASSERT_EQ(all[static_cast<std::size_t>(r + 1) * bytes - 1], value(call, r, 2, 0));
        }
      }
      if (me != 2 && --left == 0) given = true;
    });
  }
}

// Kinds and lengths in random order, so that lines, small rooms and slots are reused after each other.
TEST(Small, MixedKindsAndLengthsKeepTheirBytesApart) {
  constexpr std::size_t lengths[] = {1, 8, 48, 49, 64, 256, 257, 512, 1000, 1024, 1025, 4096, 9000};
  for (const int ranks : {2, 3, 5})
    on_small_collectives(ranks, [&](Collectives& c) {
      std::mt19937 random(7);  // the same on every rank
      const int me = c.rank();
      const auto p = static_cast<std::size_t>(ranks);
      std::vector<std::byte> in(p * 9000), out(p * 9000);
      for (int call = 0; call < 600; ++call) {
        const std::size_t n = lengths[random() % std::size(lengths)];
        const int root = static_cast<int>(random() % p);
        const auto expect = [&](std::size_t block, int giver, int taker) {
          for (const std::size_t i : {std::size_t{0}, n / 2, n - 1})
            ASSERT_EQ(out[block * n + i], value(call, giver, taker, i)) << "call " << call << ", " << n << " bytes";
        };
        const auto give = [&](std::size_t blocks, bool one) {
          for (std::size_t b = 0; b < blocks; ++b)
            for (std::size_t i = 0; i < n; ++i) in[b * n + i] = value(call, me, one ? 0 : static_cast<int>(b), i);
        };
        Status s = Status::ok;
        switch (random() % 6) {
          case 0:
            give(1, true);
            if (me == root) out = in;
            s = c.bcast(out.data(), n, root);
            expect(0, root, 0);
            break;
          case 1:
            give(1, true);
            s = c.gather(in.data(), out.data(), n, root);
            for (std::size_t r = 0; me == root && r < p; ++r) expect(r, static_cast<int>(r), 0);
            break;
          case 2:
            give(p, false);
            s = c.scatter(in.data(), out.data(), n, root);
            expect(0, root, me);
            break;
          case 3:
            give(p, false);
            s = c.alltoall(in.data(), out.data(), n);
            for (std::size_t r = 0; r < p; ++r) expect(r, static_cast<int>(r), me);
            break;
          case 4:
            give(1, true);
            s = c.allgather(in.data(), out.data(), n);
            for (std::size_t r = 0; r < p; ++r) expect(r, static_cast<int>(r), 0);
            break;
          default:
            std::fill_n(in.begin(), n, static_cast<std::byte>(1 << me));
            s = c.reduce(in.data(), out.data(), n, payload::Type::u8, {payload::Op::sum}, root);
            if (me == root) {
              ASSERT_EQ(out[n - 1], static_cast<std::byte>((1 << ranks) - 1)) << "call " << call;
            }
        }
        ASSERT_EQ(s, Status::ok) << message();
      }
    });
}

TEST(Small, MismatchIsNamedThoughItsRootIsFarAhead) {
  std::atomic<bool> given{false};
  on_small_collectives(2, [&](Collectives& c) {
    std::uint64_t data = 0;
    Status s = Status::ok;
    if (c.rank() == 0) {
      for (int call = 0; call < kAhead; ++call) ASSERT_EQ(c.bcast(&data, 8, 0), Status::ok) << message();
      given = true;
      while (s == Status::ok) s = c.bcast(&data, 8, 0);
    } else {
      await(given);
      for (int call = 0; call < 3; ++call) ASSERT_EQ(c.bcast(&data, 8, 0), Status::ok) << message();
      s = c.bcast(&data, 4, 0);
    }
    EXPECT_EQ(s, Status::incompatible);
    const std::string why = message();
    EXPECT_NE(why.find("ranks call differently in collective 4 (bytes): "), std::string::npos) << why;
    EXPECT_NE(why.find("rank 1 bcast (bytes 4, root 0)"), std::string::npos) << why;
    EXPECT_NE(why.find("rank 0 bcast (bytes 8, root 0)"), std::string::npos) << why;
  });
}

}  // namespace
}  // namespace stretto::node
