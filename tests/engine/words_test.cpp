// Words: all ranks' agreement on a call, and the values that travel with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "engine/tags.hpp"
#include "forwarding.hpp"
#include "ranks.hpp"
#include "schedule/floors.hpp"

namespace stretto::tests {
namespace {

using engine::Load;
using engine::Words;

// Hosts of ranks: one each, one for all, of different sizes, by turns.
std::vector<schedule::Groups> placements(int ranks) {
  std::vector<schedule::Groups> all;
  const auto add = [&](auto host_of) {
    std::vector<std::int32_t> colors;
    for (int r = 0; r < ranks; ++r) colors.push_back(host_of(r));
    all.push_back(schedule::groups_of(colors));
  };
  add([](int r) { return r; });
  add([](int) { return 0; });
  add([](int r) { return r < 1 ? 0 : r < 3 ? 1 : r < 8 ? 2 : 3; });
  add([](int r) { return r % 3; });
  add([](int r) { return r / 2; });
  return all;
}

Status speak(engine::Engine& engine, Words words, bool* same, engine::Report* report = nullptr) {
  words.what = "allreduce";
  words.same = same;
  engine::Request request;
  const Status s = engine.start(words, &request);
  return s == Status::ok ? request.wait(report) : s;
}

template <class T>
Load sum_of(const std::vector<T>& in, std::vector<T>* out, payload::Type type, payload::Op op = payload::Op::sum) {
  Load load;
  load.kind = Load::Kind::combine;
  load.bytes = in.size() * sizeof(T);
  load.in = in.data();
  load.out = out->data();
  load.type = type;
  load.op = op;
  load.count = in.size();
  return load;
}

TEST(Words, EqualWordsDeliverTheValuesOnEachPlacement) {
  for (const int ranks : {1, 2, 3, 5, 8, 13})
    for (const schedule::Groups& groups : placements(ranks))
      on_ranks(ranks, [&](int rank, engine::Engine& engine) {
        engine.route_words(groups);
        for (const std::size_t n : {std::size_t{1}, std::size_t{1024}}) {
          std::vector<float> in(n, static_cast<float>(rank)), out(n, -1);
          bool same = false;
          ASSERT_EQ(speak(engine, {.word = 5, .load = sum_of(in, &out, payload::Type::f32)}, &same), Status::ok)
              << message();
          ASSERT_TRUE(same);
          ASSERT_EQ(out, std::vector<float>(n, static_cast<float>(ranks * (ranks - 1) / 2)));
          for (int root = 0; root < ranks; ++root) {
            Load load = sum_of(in, &out, payload::Type::f32, payload::Op::mean);
            load.root = root;
            out.assign(n, -1);
            ASSERT_EQ(speak(engine, {.word = 6, .load = load}, &same), Status::ok) << message();
            ASSERT_EQ(out[n - 1], rank == root ? static_cast<float>(ranks - 1) / 2 : -1);
            load.kind = Load::Kind::broadcast;
            out.assign(n, static_cast<float>(rank));
            load.in = out.data();
            ASSERT_EQ(speak(engine, {.word = 7, .load = load}, &same), Status::ok) << message();
            ASSERT_EQ(out, std::vector<float>(n, static_cast<float>(root)));
          }
          ASSERT_EQ(speak(engine, {.word = 8}, &same), Status::ok) << message();
          ASSERT_TRUE(same);
        }
      });
}

TEST(Words, SumsAreEqualToTheBitOnAllRanks) {
  constexpr int ranks = 7;
  for (const schedule::Groups& groups : placements(ranks)) {
    std::vector<std::vector<float>> results(ranks, std::vector<float>(3));
    on_ranks(ranks, [&](int rank, engine::Engine& engine) {
      engine.route_words(groups);
      const float nan = std::numeric_limits<float>::quiet_NaN();
      const std::vector<float> in{0.1F * static_cast<float>(rank + 1), rank % 2 == 0 ? 0.0F : -0.0F,
                                  rank % 2 == 0 ? nan : -nan};
      bool same = false;
      const auto op = payload::Op::max;
      ASSERT_EQ(speak(engine,
                      {.word = 1, .load = sum_of(in, &results[static_cast<std::size_t>(rank)], payload::Type::f32, op)},
                      &same),
                Status::ok);
    });
    for (const auto& r : results) EXPECT_EQ(std::memcmp(r.data(), results[0].data(), 3 * sizeof(float)), 0);
  }
}

// One rank has another word, and a load of another length, or none at all and no memory of values.
TEST(Words, OneOtherWordIsKnownToAllAndDeliversNothing) {
  for (const int ranks : {2, 3, 5, 8})
    for (const schedule::Groups& groups : placements(ranks))
      for (int odd = 0; odd < ranks; ++odd)
        on_ranks(ranks, [&](int rank, engine::Engine& engine) {
          engine.route_words(groups);
          for (const std::size_t others : {std::size_t{0}, std::size_t{1}, std::size_t{1024}}) {
            const std::size_t n = rank == odd ? others : 10;
            std::vector<float> in(n, 1), out(n, -1);
            Words words{.word = rank == odd ? others : 11, .load = sum_of(in, &out, payload::Type::f32)};
            if (words.word == 0) words.load = {};
            bool same = true;
            ASSERT_EQ(speak(engine, words, &same), Status::ok) << message();
            ASSERT_FALSE(same);
            ASSERT_EQ(out, std::vector<float>(n, -1));
          }
          bool same = false;
          ASSERT_EQ(speak(engine, {.word = 12}, &same), Status::ok) << message();
          ASSERT_TRUE(same);
        });
}

TEST(Words, ManyStartedOnesAreTestedInAnyOrderWithFewTags) {
  constexpr int ranks = 3, many = 700;
  const schedule::Groups groups = placements(ranks)[4];
  const auto few_tags = [](int, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
    return std::make_unique<Refusing>(
        std::move(c), [] { return false; }, std::uint64_t{1} << 15);
  };
  for (const bool few : {false, true})
    on_ranks(
        ranks,
        [&](int rank, engine::Engine& engine) {
          engine.route_words(groups);
          std::vector<engine::Request> requests(many);
          std::array<bool, many> same{};
          std::vector<int> order(many);
          for (std::size_t k = 0; k < many; ++k) {
            order[k] = static_cast<int>(k);
            Words words{.what = "call", .word = k % 5 == 4 && rank == 1 ? 1 : k + 2, .same = &same[k]};
            ASSERT_EQ(engine.start(words, &requests[k]), Status::ok) << message();
          }
          if (rank == 1) std::reverse(order.begin(), order.end());
          for (const int k : order) {
            for (bool done = false; !done;)
              ASSERT_EQ(requests[static_cast<std::size_t>(k)].test(&done), Status::ok) << message();
            ASSERT_EQ(same[static_cast<std::size_t>(k)], k % 5 != 4) << k;
          }
        },
        few ? Wrap(few_tags) : Wrap());
}

TEST(Words, AMissingRankIsATimeoutThatIsNamed) {
  const schedule::Groups groups = placements(2)[0];
  on_ranks(2, [&](int rank, engine::Engine& engine) {
    engine.route_words(groups);
    if (rank == 1) return;
    bool same = false;
    EXPECT_EQ(speak(engine, {.word = 1, .timeout = 0.2}, &same), Status::timeout);
    const std::string text = message();
    EXPECT_NE(text.find("the agreement on allreduce, rank 0"), std::string::npos) << text;
    EXPECT_NE(text.find("missing rank 1 (its message)"), std::string::npos) << text;
    EXPECT_EQ(speak(engine, {.word = 1}, &same), Status::timeout) << "no further run";
  });
}

// Ranks that wait for each other all name the one that is absent, also those that begin to wait after the others.
TEST(Words, TheRankAtTheEndOfAChainOfWaitsIsNamed) {
  constexpr int ranks = 4;
  for (const schedule::Groups& groups : {placements(ranks)[0], placements(ranks)[1]})
    for (const int absent : {0, 2})
      for (const int late : {1, 3})
        on_ranks(ranks, [&](int rank, engine::Engine& engine) {
          engine.route_words(groups);
          if (rank == absent) return;
          if (rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(100));
          bool same = false;
          EXPECT_EQ(speak(engine, {.word = 1, .timeout = 0.3}, &same), Status::timeout);
          EXPECT_NE(std::string(message()).find("missing rank " + std::to_string(absent) + " ("), std::string::npos)
              << rank << " of " << ranks << ", late " << late << ": " << message();
        });
}

TEST(Words, ARankThatGivesUpIsTold) {
  constexpr int ranks = 4;
  const schedule::Groups groups = placements(ranks)[4];
  on_ranks(ranks, [&](int rank, engine::Engine& engine) {
    engine.route_words(groups);
    if (rank == 3) {
      engine.give_up(Status::out_of_memory, "the reason");
      return;
    }
    bool same = false;
    EXPECT_EQ(speak(engine, {.word = 1}, &same), Status::out_of_memory);
    EXPECT_NE(std::string(message()).find("rank 3 gave up: the reason"), std::string::npos) << message();
  });
}

TEST(Words, AMessageThatDoesNotBeginIsToldToAll) {
  constexpr int ranks = 5;
  for (const schedule::Groups& groups : placements(ranks))
    for (int odd = 0; odd < ranks; ++odd) {
      bool struck = true;
      for (int n = 0; struck && !testing::Test::HasFailure(); ++n) {
        SCOPED_TRACE(testing::Message() << "message " << n << " of rank " << odd);
        int left = n;
        bool struck_in_last = false;
        struck = false;
        const auto wrap = [&](int rank, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
          if (rank != odd) return c;
          return std::make_unique<Refusing>(std::move(c), [&] {
            if (left-- > 0) return false;
            struck = true;
            return true;
          });
        };
        std::array<Status, ranks> ends{};
        on_ranks(
            ranks,
            [&](int rank, engine::Engine& engine) {
              engine.route_words(groups);
              bool same = false;
              Status& s = ends[static_cast<std::size_t>(rank)];
              // A rank may have all that it needs: it is told in the next call.
              for (int call = 0; call < 3 && s == Status::ok; ++call) {
                s = speak(engine, {.word = 1}, &same);
                if (rank == odd && s != Status::ok) struck_in_last = call == 2;
              }
              EXPECT_EQ(std::string(message()).find("nothing came"), std::string::npos) << message();
            },
            wrap);
        if (struck_in_last) break;
        for (const Status s : ends) EXPECT_EQ(s, struck ? Status::out_of_memory : Status::ok);
      }
    }
}

}  // namespace
}  // namespace stretto::tests
