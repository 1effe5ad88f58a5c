// The checker on hand-written schedules of two ranks and one block: messages in flight, dependencies, and complaints.
#include "schedule/check/checker.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "schedule/program.hpp"
#include "schedule/registry.hpp"

namespace stretto::schedule {
namespace {

using All = std::vector<Schedule>;

struct Pair {
  Program programs[2] = {{{.ranks = 2, .rank = 0}, Collective::allreduce, "by_hand", 1, true},
                         {{.ranks = 2, .rank = 1}, Collective::allreduce, "by_hand", 1, true}};
  template <class F>
  Pair(F&& write) {  // write(program, rank, peer)
    for (int r = 0; r < 2; ++r) write(programs[r], r, 1 - r);
  }
  Status check() {
    const All all = {std::move(programs[0]).finish(), std::move(programs[1]).finish()};
    return schedule::check(all);
  }
};

TEST(Checker, AcceptsAnExchangeThroughScratch) {
  EXPECT_EQ(Pair([](Program& p, int r, int peer) {
              p.copy(Buffer::out, Buffer::in, 0, 1);
              p.send(peer, Buffer::out, 0, 1, 0);
              p.replace(peer, Buffer::tmp, 0, 1, 0);
              p.combine_local(Buffer::out, Buffer::tmp, 0, 1, peer < r, 0);
            }).check(),
            Status::ok)
      << message();
}

TEST(Checker, RefusesAWriteToABlockInFlight) {
  EXPECT_EQ(Pair([](Program& p, int r, int peer) {
              p.copy(Buffer::out, Buffer::in, 0, 1);
              p.send(peer, Buffer::out, 0, 1, 0);
              p.combine(peer, Buffer::out, 0, 1, peer < r, 0);
            }).check(),
            Status::internal);
  EXPECT_NE(std::string(message()).find("rank 0, step 2 (recv_combine out[0] <- 1) has block 0 in flight with step 1"),
            std::string::npos)
      << message();
}

// Each rank may receive only when its send is over, which ends only when it is received.
TEST(Checker, RefusesTwoRanksThatWaitForEachOther) {
  EXPECT_EQ(Pair([](Program& p, int r, int peer) {
              p.copy(Buffer::out, Buffer::in, 0, 1);
              p.send(peer, Buffer::out, 0, 1, static_cast<int>(r));
              p.combine(peer, Buffer::out, 0, 1, peer < r, 1 - r);
            }).check(),
            Status::internal);
  EXPECT_EQ(
      std::string(message()),
      "deadlock: allreduce by_hand of 2 ranks: rank 0, step 1 (send out[0] -> 1); rank 1, step 1 (send out[0] -> 0) "
      "waits; back to rank 0");
}

// Free of deadlock if every ready step may start, but not if steps are issued in order. The copy waits for the peer's
// message, which comes after the copy that waits for this rank's.
TEST(Checker, RefusesASendThatIsListedBehindWhatWaitsForIt) {
  All all;
  for (int r = 0; r < 2; ++r) {
    const int peer = 1 - r;
    Program p({.ranks = 2, .rank = r}, Collective::alltoall, "by_hand", 4, true);
    p.copy(Buffer::out, Buffer::in, r * 3, 1);
    p.replace(peer, Buffer::tmp, peer * 2 + r, 1, r);
    p.copy(Buffer::out, Buffer::tmp, peer * 2 + r, 1);
    p.send(peer, Buffer::in, r * 2 + peer, 1, peer);
    all.push_back(std::move(p).finish());
  }
  EXPECT_EQ(check(all), Status::internal);
  EXPECT_EQ(std::string(message()).substr(0, 9), "deadlock:") << message();
  for (Schedule& s : all) std::swap(s.steps[2], s.steps[3]);
  EXPECT_EQ(check(all), Status::ok) << message();
}

TEST(Checker, RefusesToReadTheInputWhereAResultReplacesIt) {
  EXPECT_EQ(Pair([](Program& p, int r, int peer) {
              p.send(peer, Buffer::in, 0, 1, 0);
              p.copy(Buffer::out, Buffer::in, 0, 1);
              p.combine(peer, Buffer::out, 0, 1, peer < r, 0);
            }).check(),
            Status::internal);
  EXPECT_NE(std::string(message()).find("not possible in place"), std::string::npos) << message();
}

TEST(Checker, RefusesToCopyTheInputWhereAResultHasReplacedIt) {
  EXPECT_EQ(Pair([](Program& p, int r, int peer) {
              if (r == 0) {
                p.replace(peer, Buffer::out, 0, 1, 0);
                p.copy(Buffer::tmp, Buffer::out, 0, 1);
              }
              p.copy(Buffer::out, Buffer::in, 0, 1);
              if (r == 0) p.combine_local(Buffer::out, Buffer::tmp, 0, 1, false, 0);
              if (r == 1) p.send(peer, Buffer::out, 0, 1, 0);
              if (r == 0) p.send(peer, Buffer::out, 0, 1, 1);
              if (r == 1) p.replace(peer, Buffer::out, 0, 1, 1);
            }).check(),
            Status::internal);
  EXPECT_NE(std::string(message()).find("not possible in place"), std::string::npos) << message();
}

TEST(Checker, RefusesABarrierThatLetsARankGoEarly) {
  // A round trip of signals through rank 0, which releases rank 2 before it hears from rank 1.
  const Request q{.ranks = 3};
  All all;
  Program zero(q, Collective::barrier, "by_hand", 0, true);
  zero.await(2, 0);
  zero.signal(2, 1);
  zero.await(1, 2);
  zero.signal(1, 3);
  all.push_back(std::move(zero).finish());
  for (int r = 1; r < 3; ++r) {
    Program other({.ranks = 3, .rank = r}, Collective::barrier, "by_hand", 0, true);
    other.signal(0, r == 2 ? 0 : 2);
    other.await(0, r == 2 ? 1 : 3);
    all.push_back(std::move(other).finish());
  }
  EXPECT_EQ(check(all), Status::internal);
  EXPECT_NE(std::string(message()).find("rank 2 may finish (after step 1) before rank 1 has started"),
            std::string::npos)
      << message();
}

// Each of four ranks adds the others' values in order of arrival: all have the sum, each with different brackets.
TEST(Checker, RefusesRanksThatBracketASumDifferently) {
  All all;
  for (int r = 0; r < 4; ++r) {
    Program p({.ranks = 4, .rank = r}, Collective::allreduce, "by_hand", 1, false);
    p.copy(Buffer::out, Buffer::in, 0, 1);
    p.copy(Buffer::tmp, Buffer::out, 0, 1);
    for (int d = 1; d < 4; ++d) {
      p.send((r + d) % 4, Buffer::tmp, 0, 1, d);
      p.combine((r + 4 - d) % 4, Buffer::out, 0, 1, false, d);
    }
    all.push_back(std::move(p).finish());
  }
  EXPECT_EQ(check(all), Status::internal);
  EXPECT_EQ(
      std::string(message()),
      "allreduce by_hand of 4 ranks: rank 1 ends after step 7 with block 0 bracketed 2 + (3 + (0 + 1)), but rank 0 "
      "1 + (2 + (0 + 3)): ranks would have different bits");
  for (Schedule& s : all) s.ranks_differ = true;
  EXPECT_EQ(check(all), Status::ok) << message();
  all[2].ranks_differ = false;  // contradicts the other ranks
  EXPECT_EQ(check(all), Status::internal);
}

TEST(Checker, NamesRankStepAndBlock) {
  All all = build_all(*find(Collective::allreduce, "ring"), {.ranks = 4});
  all[2].steps[5].kind = Kind::recv_replace;
  EXPECT_EQ(check(all), Status::internal);
  const std::string text = message();
  EXPECT_NE(text.find("rank "), std::string::npos) << text;
  EXPECT_NE(text.find("step "), std::string::npos) << text;
  EXPECT_NE(text.find("block "), std::string::npos) << text;
}

}  // namespace
}  // namespace stretto::schedule
