// A rank that fails alone, before it has sent anything, informs the others: no rank waits until the timeout, and all
// learn the rank and the reason.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>

#include "cases/calls.hpp"
#include "forwarding.hpp"
#include "ranks.hpp"
#include "scarce.hpp"

namespace stretto::tests {
namespace {

using payload::Kind;
using schedule::Collective;

constexpr double kLimit = 30;  // of waiting; reached only where a rank was told nothing

engine::Work patient_call(engine::Engine& engine, Collective collective, const char* algorithm, Kind kind,
                          const std::vector<float>& in, std::vector<float>& out) {
  engine::Work call = call_of(engine, collective, algorithm, kind, in, out);
  call.options.timeout = kLimit;
  return call;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

struct Variant {
  Collective collective;
  const char* algorithm;
  Kind kind;
};

// Rank 1 of `ranks` has no memory for its n-th allocation while it begins. False: it made fewer.
bool lacks_memory(const Variant& variant, int ranks, long n) {
  std::atomic<bool> struck{false};
  std::barrier met(ranks);
  on_ranks(ranks, [&](int rank, engine::Engine& engine) {
    SCOPED_TRACE(testing::Message() << variant.algorithm << ", allocation " << n << ", rank " << rank);
    const auto in = numbers(3000);
    std::vector<float> out(in.size());
    const engine::Work call = patient_call(engine, variant.collective, variant.algorithm, variant.kind, in, out);
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
    } else if (variant.collective == Collective::allreduce && struck) {
      EXPECT_NE(s, Status::ok);
    }
    EXPECT_TRUE(s == Status::ok || s == Status::out_of_memory) << text;
    EXPECT_TRUE(s == Status::ok || rank == 1 || contains(text, "rank 1")) << text;
    met.arrive_and_wait();
    // The next run ends as soon, also on a rank that needs nothing of rank 1.
    s = engine.run(call);
    EXPECT_TRUE(struck ? s != Status::ok || variant.collective == Collective::reduce : s == Status::ok) << message();
    EXPECT_TRUE(s == Status::ok || !contains(message(), "nothing came")) << message();
  });
  return struck;
}

TEST(Alone, ARankWithoutMemoryToBeginIsToldToAllWhateverItWasFor) {
  for (const Variant& variant :
       {Variant{Collective::allreduce, "ring", Kind::fused}, Variant{Collective::reduce, "binomial", Kind::raw},
        Variant{Collective::allreduce, "recursive_doubling", Kind::recompress}}) {
    long n = 0;
    while (n < 200 && lacks_memory(variant, 5, n)) ++n;
    EXPECT_GT(n, 15) << variant.algorithm;
    EXPECT_LT(n, 200) << variant.algorithm;
  }
}

TEST(Alone, ATransferThatDoesNotBeginIsToldToAll) {
  for (const Variant& variant :
       {Variant{Collective::allreduce, "ring", Kind::raw}, Variant{Collective::allreduce, "ring", Kind::fused},
        Variant{Collective::reduce, "binomial", Kind::homomorphic}}) {
    for (long n = 0; n < 12; ++n) {
      on_ranks(
          3,
          [&](int rank, engine::Engine& engine) {
            SCOPED_TRACE(testing::Message() << variant.algorithm << ", transfer " << n << ", rank " << rank);
            const auto in = numbers(9000);
            std::vector<float> out(in.size());
            const engine::Work call =
                patient_call(engine, variant.collective, variant.algorithm, variant.kind, in, out);
            Status s = Status::ok;  // also of a rank that was through when another failed
            for (int runs = 0; s == Status::ok && runs < 20; ++runs) s = engine.run(call);
            EXPECT_NE(s, Status::ok);
            EXPECT_FALSE(contains(message(), "nothing came")) << message();
            EXPECT_TRUE(rank == 1 || contains(message(), "gave up") || contains(message(), "had failed")) << message();
          },
          [n](int rank, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
            return std::make_unique<Refusing>(std::move(c),
                                              [left = rank == 1 ? n : -1]() mutable { return left-- == 0; });
          });
    }
  }
}

TEST(Alone, APairWithMoreMessagesThanTagsIsNamedOnEveryRank) {
  const std::vector<std::size_t> counts{1, 2100, 1};
  on_ranks(
      3,
      [&](int rank, engine::Engine& engine) {
        const auto in = numbers(2102);
        std::vector<float> out(in.size());
        schedule::Request request;
        request.collective = Collective::gather;
        request.ranks = 3;
        request.rank = rank;
        engine::Work call;
        call.schedule =
            std::make_shared<schedule::Schedule>(schedule::find(request.collective, "linear")->build(request));
        call.options.segment_bytes = 4;
        call.options.timeout = kLimit;
        engine::Arguments arguments;
        arguments.in = in.data();
        arguments.out = out.data();
        arguments.counts = counts;
        ASSERT_EQ(engine::bind(*call.schedule, payload::Type::f32, arguments, &call.blocks), Status::ok);
        EXPECT_EQ(engine.run(call), Status::invalid_argument);
        EXPECT_TRUE(contains(message(), "rank 1 sends rank 0 8400 bytes in 2100 messages, with segments of 4 bytes"))
            << message();
        EXPECT_TRUE(contains(message(), "tags for 1023")) << message();
      },
      [](int, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
        return std::make_unique<Refusing>(
            std::move(c), [] { return false; }, std::uint64_t{1} << 15);
      });
}

}  // namespace
}  // namespace stretto::tests
