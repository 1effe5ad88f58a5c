// Collectives with messages between emulated devices, without host memory. Results equal the host's bit for bit, and
// each skipped wait is found.
#include <gtest/gtest.h>

#include "../sanitized.hpp"
#include "cases.hpp"

namespace stretto::tests {
namespace {

Case over(Case c, std::uint64_t seed) {
  c.mailboxes = std::make_shared<DeviceMailboxes>(seed);
  return c;
}

void expect_as_on_host(const Case& c, int ranks, std::uint64_t seed = 1, int repeats = 1) {
  SCOPED_TRACE(name_of(c, ranks));
  emulation().reset(seed);
  const Ran expected = run(c, ranks, Where::host);
  ASSERT_TRUE(all_ok(expected));
  const Case direct = over(c, seed);
  const Ran ran = run(direct, ranks, Where::device, repeats);
  ASSERT_TRUE(all_ok(ran));
  EXPECT_TRUE(same_bits(ran, expected));
  EXPECT_EQ(emulation().loans() > 0, ranks > 1);
  EXPECT_TRUE(direct.mailboxes->sides.empty());
  expect_order();
}

TEST(DeviceMessages, AFusedRingGivesTheHostsBits) {
  for (int ranks = 1; ranks <= 5; ++ranks) expect_as_on_host({}, ranks, 1, 2);
}

TEST(DeviceMessages, AnyOrderOfStreamsAndMessagesGivesTheHostsBits) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 2 : 10); ++seed)
    expect_as_on_host({.count = 30000, .one_device = seed % 2 == 0, .on_stream = seed % 3 == 0}, 3, seed, 2);
}

void every(Collective collective, std::initializer_list<Kind> kinds) {
  every_schedule(collective, kinds, {2, 4, 5}, [](const Case& c, int ranks) { expect_as_on_host(c, ranks); });
}

TEST(DeviceMessages, EveryAllreduceGivesTheHostsBits) { every(Collective::allreduce, kSums); }
TEST(DeviceMessages, EveryReduceGivesTheHostsBits) { every(Collective::reduce, kSums); }
TEST(DeviceMessages, EveryReduceScatterGivesTheHostsBits) { every(Collective::reduce_scatter, kSums); }
TEST(DeviceMessages, EveryAllgatherGivesTheHostsBits) { every(Collective::allgather, kMoves); }
TEST(DeviceMessages, EveryBroadcastGivesTheHostsBits) { every(Collective::bcast, kMoves); }
TEST(DeviceMessages, EveryGatherGivesTheHostsBits) { every(Collective::gather, kMoves); }
TEST(DeviceMessages, EveryScatterGivesTheHostsBits) { every(Collective::scatter, kMoves); }
TEST(DeviceMessages, EveryAlltoallGivesTheHostsBits) { every(Collective::alltoall, kMoves); }

TEST(DeviceMessages, ResultsMayReplaceTheirInputs) {
  for (const Kind kind : kSums) expect_as_on_host({.kind = kind, .in_place = true}, 3);
}

constexpr int kRanks = 3, kFaulty = 1;
constexpr std::uint64_t kSeed = 3;

TEST(DeviceMessages, EveryWaitThatIsLeftOutIsFound) {
  const Case c{.count = 3 * 4096 + 100, .overlap = 100, .on_stream = true};
  emulation().reset(kSeed);
  ASSERT_TRUE(all_ok(run(over(c, kSeed), kRanks, Where::device)));
  ASSERT_EQ(emulation().races(), 0) << emulation().first_race();
  const long waits = emulation().waits(kFaulty);
  ASSERT_EQ(waits, 11);
  for (long n = 4; n < waits; ++n) {
    long found = 0;
    for (std::uint64_t s = 0; s < 50 && found == 0; ++s) {
      emulation().reset(s);
      emulation().skip_wait(kFaulty, n);
      static_cast<void>(run(over(c, s), kRanks, Where::device));
      found = emulation().races();
    }
    EXPECT_GT(found, 0) << "wait " << n << " was left out";
  }
}

// Counts, up to `enough`, how often a fault before a run is found: an error, wrong bits, or unordered accesses.
template <class Fault>
int found_of(int enough, int tries, Fault fault) {
  const Case c{.count = 3 * 4096 + 100, .on_stream = true};
  emulation().reset(kSeed);
  const Ran expected = run(c, kRanks, Where::host);
  int found = 0;
  for (long n = 0; n < tries && found < enough; ++n) {
    const Case direct = over(c, kSeed);
    emulation().reset(kSeed);
    fault(*direct.mailboxes, n);
    const Ran ran = run(direct, kRanks, Where::device);
    const bool failed = std::any_of(ran.status.begin(), ran.status.end(), [](Status s) { return s != Status::ok; });
    found += failed || !same_bits(ran, expected) || emulation().races() > 0;
  }
  return found;
}

TEST(DeviceMessages, AHostThatDoesNotWaitForADeviceIsFound) {
  EXPECT_EQ(found_of(3, 300, [](DeviceMailboxes&, long n) { emulation().lie(kFaulty, n); }), 3);
}

TEST(DeviceMessages, AHostThatDoesNotWaitForAMessageIsFound) {
  constexpr int receives = 4;
  EXPECT_EQ(found_of(receives, receives,
                     [](DeviceMailboxes& boxes, long n) {
                       boxes.liar = kFaulty;
                       boxes.lie = n;
                     }),
            receives);
}

TEST(DeviceMessages, ALostDeviceIsToldToAllRanks) {
  int lost = 0;
  for (long n = 0; n < 120; n += 6) {
    SCOPED_TRACE(testing::Message() << "call " << n);
    emulation().reset(kSeed);
    Case c = over({.count = 5000}, kSeed);
    c.ready = [n](int rank) {
      if (rank == kFaulty) emulation().lose(kFaulty, n);
    };
    const Ran ran = run(c, kRanks, Where::device);
    if (ran.status[kFaulty] == Status::ok) continue;  // lost after its run
    ++lost;
    for (const Status s : ran.status) EXPECT_NE(s, Status::timeout);
  }
  EXPECT_GT(lost, 2);
}

}  // namespace
}  // namespace stretto::tests
