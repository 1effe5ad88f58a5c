// A rank that fails by itself, before it has sent anything, tells the others: nobody waits until the timeout, and all learn who and why.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cmath>
#include <cstring>

#include "engine/binding.hpp"
#include "ranks.hpp"
#include "scarce.hpp"
#include "schedule/registry.hpp"

namespace stretto::tests {
namespace {

using payload::Kind;
using schedule::Collective;

constexpr double limit = 30;  // of waiting; reached only where a rank was told nothing

struct Buffers {
  std::vector<float> in, out;
  explicit Buffers(std::size_t n) : in(n), out(n) {
    for (std::size_t i = 0; i < n; ++i) in[i] = std::sin(static_cast<float>(i));
  }
};

engine::Call call_of(engine::Engine& engine, Collective collective, const char* algorithm, Kind kind, Buffers& b) {
  schedule::Request request;
  request.collective = collective;
  request.ranks = engine.carrier().size();
  request.rank = engine.carrier().rank();
  engine::Call call;
  call.schedule = std::make_shared<schedule::Schedule>(schedule::find(collective, algorithm)->build(request));
  call.payload.kind = kind;
  call.payload.eps = 1e-3;
  call.options.segment_bytes = 4096;
  call.options.timeout = limit;
  engine::Arguments arguments;
  arguments.in = b.in.data();
  arguments.out = b.out.data();
  arguments.count = b.in.size();
  EXPECT_EQ(engine::bind(*call.schedule, payload::Type::f32, arguments, &call.blocks), Status::ok);
  return call;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

struct Way {
  Collective collective;
  const char* algorithm;
  Kind kind;
};

// Rank 1 of `ranks` has no memory for its n-th allocation while it begins. False: it made fewer.
bool lacks_memory(const Way& way, int ranks, long n) {
  std::atomic<bool> struck{false};
  std::barrier met(ranks);
  on_ranks(ranks, [&](int rank, engine::Engine& engine) {
    SCOPED_TRACE(testing::Message() << way.algorithm << ", allocation " << n << ", rank " << rank);
    Buffers b(3000);
    const engine::Call call = call_of(engine, way.collective, way.algorithm, way.kind, b);
    engine::Request request;
    Status s = Status::ok;
    std::string text;
    if (rank == 1) {
      const Scarce scarce(n);
      s = engine.start(call, &request);
      const Plenty plenty;
      text = message();
      struck = scarce.struck();
      EXPECT_TRUE(s == Status::ok || contains(text, "no memory")) << text;
    } else {
      s = engine.start(call, &request);
    }
    if (s == Status::ok) {
      s = request.wait();
      text = message();
    }
    if (rank == 1) {
      EXPECT_EQ(s, struck ? Status::out_of_memory : Status::ok) << text;
    } else if (way.collective == Collective::allreduce && struck) {
      EXPECT_NE(s, Status::ok);
    }
    EXPECT_TRUE(s == Status::ok || s == Status::out_of_memory) << text;
    EXPECT_TRUE(s == Status::ok || rank == 1 || contains(text, "rank 1")) << text;
    met.arrive_and_wait();
    // What comes next ends as soon, also on a rank that needed nothing of rank 1, or needs nothing of it again.
    s = engine.run(call);
    EXPECT_TRUE(struck ? s != Status::ok || way.collective == Collective::reduce : s == Status::ok) << message();
    EXPECT_TRUE(s == Status::ok || !contains(message(), "nothing came")) << message();
  });
  return struck;
}

TEST(Alone, ARankWithoutMemoryToBeginIsToldToAllWhateverItWasFor) {
  for (const Way& way :
       {Way{Collective::allreduce, "ring", Kind::fused}, Way{Collective::reduce, "binomial", Kind::raw},
        Way{Collective::allreduce, "recursive_doubling", Kind::doc}}) {
    long n = 0;
    while (n < 200 && lacks_memory(way, 5, n)) ++n;
    EXPECT_GT(n, 15) << way.algorithm;
    EXPECT_LT(n, 200) << way.algorithm;
  }
}

// Passes everything on, but the n-th transfer of each engine; and says that there are few tags.
class Refusing final : public carrier::Carrier {
 public:
  Refusing(std::unique_ptr<carrier::Carrier> inner, long n, std::uint64_t tags)
      : inner_(std::move(inner)), left_(n), tags_(tags) {}
  const char* name() const noexcept override { return "refusing"; }
  int rank() const noexcept override { return inner_->rank(); }
  int size() const noexcept override { return inner_->size(); }
  std::uint64_t tags() const noexcept override { return tags_; }
  Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                    std::uint64_t id) noexcept override {
    return left_-- == 0 ? refuse() : inner_->start_send(peer, tag, data, bytes, id);
  }
  Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t capacity, std::uint64_t id) noexcept override {
    return left_-- == 0 ? refuse() : inner_->start_recv(peer, tag, data, capacity, id);
  }
  Status wait_any(std::span<carrier::Completion> done, std::size_t* n, double seconds) noexcept override {
    return inner_->wait_any(done, n, seconds);
  }
  bool cancel(std::uint64_t id) noexcept override { return inner_->cancel(id); }
  void raise(const carrier::Alarm& alarm) noexcept override { inner_->raise(alarm); }
  bool hear(carrier::Alarm* alarm) noexcept override { return inner_->hear(alarm); }

 private:
  static Status refuse() noexcept { return fail(Status::out_of_memory, "no memory to list a message"); }
  std::unique_ptr<carrier::Carrier> inner_;
  long left_;
  std::uint64_t tags_;
};

TEST(Alone, ATransferThatDoesNotBeginIsToldToAll) {
  for (const Way& way : {Way{Collective::allreduce, "ring", Kind::raw}, Way{Collective::allreduce, "ring", Kind::fused},
                         Way{Collective::reduce, "binomial", Kind::homomorphic}}) {
    for (long n = 0; n < 12; ++n) {
      on_ranks(
          3,
          [&](int rank, engine::Engine& engine) {
            SCOPED_TRACE(testing::Message() << way.algorithm << ", transfer " << n << ", rank " << rank);
            Buffers b(9000);
            const engine::Call call = call_of(engine, way.collective, way.algorithm, way.kind, b);
            Status s = Status::ok;  // also of a rank that was through when another failed
            for (int runs = 0; s == Status::ok && runs < 20; ++runs) s = engine.run(call);
            EXPECT_NE(s, Status::ok);
            EXPECT_FALSE(contains(message(), "nothing came")) << message();
            EXPECT_TRUE(rank == 1 || contains(message(), "gave up") || contains(message(), "had failed")) << message();
          },
          [n](int rank, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
            const std::uint64_t tags = c->tags();
            return std::make_unique<Refusing>(std::move(c), rank == 1 ? n : -1, tags);
          });
    }
  }
}

TEST(Alone, APairWithMoreMessagesThanTagsIsNamedOnEveryRank) {
  const std::vector<std::size_t> counts{1, 2100, 1};
  on_ranks(
      3,
      [&](int rank, engine::Engine& engine) {
        Buffers b(2102);
        schedule::Request request;
        request.collective = Collective::gather;
        request.ranks = 3;
        request.rank = rank;
        engine::Call call;
        call.schedule =
            std::make_shared<schedule::Schedule>(schedule::find(request.collective, "linear")->build(request));
        call.options.segment_bytes = 4;
        call.options.timeout = limit;
        engine::Arguments arguments;
        arguments.in = b.in.data();
        arguments.out = b.out.data();
        arguments.counts = counts;
        ASSERT_EQ(engine::bind(*call.schedule, payload::Type::f32, arguments, &call.blocks), Status::ok);
        EXPECT_EQ(engine.run(call), Status::invalid_argument);
        EXPECT_TRUE(contains(message(), "rank 1 sends rank 0 8400 bytes in 2100 messages, with segments of 4 bytes"))
            << message();
        EXPECT_TRUE(contains(message(), "tags for 2047")) << message();
      },
      [](int, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
        return std::make_unique<Refusing>(std::move(c), -1, std::uint64_t{1} << 15);
      });
}

}  // namespace
}  // namespace stretto::tests
