// Ranks that call differently, and have not compared their calls before, are told so; nothing beyond a buffer is
// written.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "engine/binding.hpp"
#include "engine/tags.hpp"
#include "forwarding.hpp"
#include "ranks.hpp"
#include "schedule/registry.hpp"

namespace stretto::tests {
namespace {

using schedule::Collective;

constexpr std::size_t kRoom = 9000;  // elements of each vector, more than any call has
constexpr float kUnused = -77;

// A rank's call.
struct Call {
  Collective collective = Collective::allreduce;
  const char* algorithm = "ring";
  payload::Spec payload{};
  std::size_t count = 6000;
  int root = 0;
  std::size_t segment = 0;
};

engine::Work work_of(const Call& c, int rank, int ranks, const std::vector<float>& in, std::vector<float>& out) {
  schedule::Request request;
  request.collective = c.collective;
  request.ranks = ranks;
  request.rank = rank;
  request.root = c.root;
  engine::Work work;
  work.schedule = std::make_shared<schedule::Schedule>(schedule::find(c.collective, c.algorithm)->build(request));
  work.payload = c.payload;
  work.options.segment_bytes = c.segment;
  work.options.timeout = 60;  // reached only where a rank was told nothing
  engine::Arguments arguments;
  arguments.in = c.collective == Collective::bcast ? nullptr : in.data();
  arguments.out = out.data();
  arguments.count = c.count;
  EXPECT_EQ(engine::bind(*work.schedule, c.payload.type, arguments, &work.blocks), Status::ok) << message();
  return work;
}

struct Outcome {
  int incompatible = 0;
  std::string texts;
};

// The last rank makes a different call. Writes stay within each rank's own count.
Outcome outcome(int ranks, const Call& most, const Call& last) {
  Outcome all;
  std::mutex mutex;
  on_ranks(ranks, [&](int rank, engine::Engine& engine) {
    const Call& mine = rank + 1 == ranks ? last : most;
    const std::vector<float> in(kRoom, 1.0f);
    std::vector<float> out(kRoom, kUnused);
    const Status s = engine.run(work_of(mine, rank, ranks, in, out));
    std::lock_guard lock(mutex);
    all.incompatible += s == Status::incompatible;
    EXPECT_TRUE(s == Status::incompatible || s == Status::ok) << name(s) << ": " << message();
    if (s != Status::ok) all.texts += std::string(message()) + "\n";
    for (std::size_t i = mine.count; i < kRoom; ++i) ASSERT_EQ(out[i], kUnused) << "rank " << rank << ", element " << i;
  });
  return all;
}

// Every rank learns it, and the messages have `texts`.
void expect_told(const Call& most, const Call& last, const std::vector<std::string>& texts) {
  for (const int ranks : {2, 3, 5}) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks");
    const Outcome o = outcome(ranks, most, last);
    EXPECT_EQ(o.incompatible, ranks) << o.texts;
    for (const auto& text : texts) EXPECT_NE(o.texts.find(text), std::string::npos) << "no " << text << ": " << o.texts;
  }
}

TEST(Differing, TypesOfOneSize) {
  Call last;
  last.payload.type = payload::Type::i32;
  expect_told({}, last, {"allreduce ring (raw) of f32 by sum, rank", "allreduce ring (raw) of i32 by sum, rank"});
}

TEST(Differing, Operations) {
  Call last;
  last.payload.op = payload::Op::max;
  expect_told({}, last, {"differs in collective, count, type, operation, root, bound or schedule", "by sum", "by max"});
  for (const auto kind : {payload::Kind::fused, payload::Kind::homomorphic}) {
    Call most;
    most.payload = {.kind = kind, .op = payload::Op::min, .eps = 1e-3};
    last.payload = {.kind = kind, .op = payload::Op::max, .eps = 1e-3};
    expect_told(most, last, {"by min", "by max"});
  }
}

TEST(Differing, CountsWithBothLengths) {
  Call most, last;
  most.algorithm = last.algorithm = "recursive_doubling";
  last.count = 5999;
  expect_told(most, last, {" bytes where this rank expects "});
  std::swap(most.count, last.count);
  expect_told(most, last, {" bytes where this rank expects "});
}

TEST(Differing, CountsInLaterSegmentsAlone) {
  Call most, last;
  most.algorithm = last.algorithm = "recursive_doubling";
  most.segment = last.segment = 4096;
  last.count = 8000;
  expect_told(most, last, {"calls differently: it sent 4000 bytes"});
}

TEST(Differing, CollectivesAndSchedules) {
  Call last;
  last.algorithm = "rabenseifner";
  expect_told({}, last, {"allreduce ring", "allreduce rabenseifner"});
  last.collective = Collective::reduce_scatter;
  last.algorithm = "ring";
  last.count = 6000 / 5;
  for (const int ranks : {2, 3, 5}) EXPECT_GT(outcome(ranks, {}, last).incompatible, 0);
}

TEST(Differing, Roots) {
  Call most, last;
  most.collective = last.collective = Collective::bcast;
  most.algorithm = last.algorithm = "linear";
  for (const int ranks : {2, 3, 5}) {
    last.root = ranks - 1;
    EXPECT_GT(outcome(ranks, most, last).incompatible, 0) << ranks << " ranks";
  }
}

TEST(Differing, BoundsOfWhatMoves) {
  Call most, last;
  most.collective = last.collective = Collective::bcast;
  most.algorithm = last.algorithm = "linear";
  most.payload = {.kind = payload::Kind::recompress, .eps = 1e-3};
  last.payload = {.kind = payload::Kind::recompress, .eps = 1e-6};
  for (const int ranks : {2, 3, 5}) EXPECT_GT(outcome(ranks, most, last).incompatible, 0) << ranks << " ranks";
}

// A type says nothing where bytes move.
TEST(Differing, TypesOfBytesThatMoveMayDiffer) {
  Call most, last;
  most.collective = last.collective = Collective::bcast;
  most.algorithm = last.algorithm = "binomial";
  last.payload.type = payload::Type::i32;
  EXPECT_EQ(outcome(3, most, last).incompatible, 0);
}

TEST(Tags, OfMessagesThatAreUnderWayAtOnceDiffer) {
  for (const unsigned bits : {15u, 23u, 28u, 31u, 62u}) {
    const engine::Tags tags(std::uint64_t{1} << bits);
    const std::uint32_t most = tags.most_messages();
    std::vector<std::uint64_t> all;
    for (std::uint64_t run = 100; run < 100 + tags.runs(); ++run) {
      for (const std::uint32_t number : {0u, 1u, 63u, 64u, most - 1}) {
        for (const std::uint64_t signature : {std::uint64_t{0}, ~std::uint64_t{0}}) {
          const std::uint64_t tag = tags.tag(run, number, signature);
          EXPECT_LT(tag, (std::uint64_t{1} << bits) - 1) << bits << " bits: the last tag is for alarms";
          EXPECT_EQ(tags.number(tag), number);
          EXPECT_TRUE(tags.may_be_of(run, tag));
          EXPECT_FALSE(tags.may_be_of(run + 1, tag));
          if (signature == 0) all.push_back(tag);
        }
        EXPECT_EQ(tags.tag(run, number, 0) == tags.tag(run, number, ~std::uint64_t{0}), number >= 64);
      }
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << bits << " bits";
  }
}

// Passes everything on, and counts under how many runs' tags messages have begun that have not ended.
class Counting final : public Forwarding {
 public:
  Counting(std::unique_ptr<carrier::Carrier> inner, std::uint64_t tags, std::size_t* most)
      : Forwarding(std::move(inner)), all_(tags), tags_(tags), most_(most) {}
  std::uint64_t tags() const noexcept override { return tags_; }
  Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                    std::uint64_t id) noexcept override {
    count(tag);
    return Forwarding::start_send(peer, tag, data, bytes, id);
  }
  Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t capacity, std::uint64_t id) noexcept override {
    count(tag);
    return Forwarding::start_recv(peer, tag, data, capacity, id);
  }

 private:
  void count(std::uint64_t tag) {
    std::size_t run = 0;
    while (!all_.may_be_of(run, tag)) ++run;
    *most_ = std::max(*most_, ++begun_[run]);
  }
  engine::Tags all_;
  std::uint64_t tags_;
  std::map<std::size_t, std::size_t> begun_;
  std::size_t* most_;
};

// A run begins when the previous user of its tags has ended: here each rank has one message per run, and waits for a
// late rank.
TEST(Tags, OfARunAreUsedAgainWhenItHasEnded) {
  constexpr std::uint64_t few = std::uint64_t{1} << 15;
  const auto runs = static_cast<std::size_t>(engine::Tags(few).runs());
  std::atomic<bool> go{false};
  std::array<std::size_t, 2> most{};
  on_ranks(
      2,
      [&](int rank, engine::Engine& engine) {
        const std::vector<float> in(kRoom, 1.0f);
        std::vector<std::vector<float>> out(3 * runs, std::vector<float>(kRoom));
        std::vector<engine::Request> requests(3 * runs);
        Call call;
        call.algorithm = "recursive_doubling";
        while (rank == 1 && !go) std::this_thread::yield();
        for (std::size_t k = 0; k < requests.size(); ++k)
          EXPECT_EQ(engine.start(work_of(call, rank, 2, in, out[k]), &requests[k]), Status::ok) << message();
        if (rank == 0) {
          EXPECT_LE(most[0], 2u) << "a message to, and one from the other rank";
        }
        go = true;
        for (std::size_t k = requests.size(); k-- > 0;) {
          ASSERT_EQ(requests[k].wait(), Status::ok) << message();
          EXPECT_EQ(out[k][5999], 2.0f);
        }
      },
      [&](int rank, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
        return std::make_unique<Counting>(std::move(c), few, &most[static_cast<std::size_t>(rank)]);
      });
}

// A run that is held back by others without a limit, whose peer is late, has its own.
TEST(Tags, OfRunsWithoutALimitDoNotKeepALaterRunFromItsOwn) {
  constexpr std::uint64_t few = std::uint64_t{1} << 15;
  const auto runs = static_cast<std::size_t>(engine::Tags(few).runs());
  std::atomic<bool> over{false};
  std::array<std::size_t, 2> most{};
  on_ranks(
      2,
      [&](int rank, engine::Engine& engine) {
        const std::vector<float> in(kRoom, 1.0f);
        std::vector<std::vector<float>> out(runs + 1, std::vector<float>(kRoom));
        std::vector<engine::Request> requests(runs + 1);
        Call call;
        call.algorithm = "recursive_doubling";
        const auto start = [&](std::size_t k, double timeout) {
          engine::Work work = work_of(call, rank, 2, in, out[k]);
          work.options.timeout = timeout;
          EXPECT_EQ(engine.start(work, &requests[k]), Status::ok) << message();
        };
        while (rank == 1 && !over) std::this_thread::yield();
        for (std::size_t k = 0; k < runs; ++k) start(k, -1);
        if (rank == 0) {
          start(runs, 0.2);
          EXPECT_EQ(requests[runs].wait(), Status::timeout);
          EXPECT_NE(std::string(message()).find("waits for an earlier collective"), std::string::npos) << message();
          over = true;
        }
        for (std::size_t k = 0; k < runs; ++k) EXPECT_EQ(requests[k].wait(), Status::ok) << message();
      },
      [&](int rank, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
        return std::make_unique<Counting>(std::move(c), few, &most[static_cast<std::size_t>(rank)]);
      });
}

}  // namespace
}  // namespace stretto::tests
