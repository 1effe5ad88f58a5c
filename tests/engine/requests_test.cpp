// Requests: several in flight on one engine, waited for in any order; several inputs on a rank; buffers in a steady
// state.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numeric>
#include <random>

#include "cases/calls.hpp"
#include "ranks.hpp"

namespace stretto::tests {
namespace {

using payload::Kind;
using payload::Op;
using schedule::Collective;

TEST(Requests, CompleteInWhateverOrderRanksWaitForThem) {
  constexpr int many = 9;
  constexpr std::size_t n = 5000;
  for (const int p : {1, 3, 4}) {
    on_ranks(p, [&](int rank, engine::Engine& engine) {
      std::vector<std::vector<float>> in(many), out(many);
      std::vector<engine::Request> requests(many);
      for (int k = 0; k < many; ++k) {
        in[k].assign(n, static_cast<float>(rank + 10 * k));
        out[k].resize(n);
        const Kind kind = k % 3 == 0 ? Kind::raw : k % 3 == 1 ? Kind::fused : Kind::recompress;
        const char* algorithm = k % 2 == 0 ? "ring" : "recursive_doubling";
        ASSERT_EQ(engine.start(call_of(engine, Collective::allreduce, algorithm, kind, in[k], out[k]), &requests[k]),
                  Status::ok);
        EXPECT_TRUE(requests[k].active());
      }
      std::vector<int> order(many);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(rank)));
      for (const int k : order) {
        engine::Report report;
        if (k % 2 == 0) {
          ASSERT_EQ(requests[k].wait(&report), Status::ok) << message();
        } else {
          bool done = false;
          while (!done) {
            ASSERT_EQ(requests[k].test(&done, &report), Status::ok) << message();
            std::this_thread::yield();
          }
        }
        EXPECT_FALSE(requests[k].active());
        EXPECT_EQ(report.contributions, static_cast<std::uint32_t>(p));
        const float want = static_cast<float>(p * (p - 1) / 2 + 10 * k * p);
        for (const std::size_t i : {std::size_t{0}, n / 2, n - 1})
          EXPECT_NEAR(out[k][i], want, report.promised_error + 1e-4) << k;
      }
    });
  }
}

TEST(Requests, AreFinishedWhenTheyAreDropped) {
  on_ranks(3, [](int, engine::Engine& engine) {
    std::vector<float> in(3000, 1), out(3000);
    {
      engine::Request request;
      ASSERT_EQ(engine.start(call_of(engine, Collective::allreduce, "ring", Kind::fused, in, out), &request),
                Status::ok);
    }
    EXPECT_NEAR(out[2999], 3, 3e-3 + 1e-6);
  });
}

TEST(Requests, MayBeLeftAloneForLongerThanTheirLimit) {
  on_ranks(2, [](int, engine::Engine& engine) {
    std::vector<float> in(3000, 1), out(3000);
    auto call = call_of(engine, Collective::allreduce, "ring", Kind::raw, in, out);
    call.options.timeout = 2;
    engine::Request request;
    ASSERT_EQ(engine.start(call, &request), Status::ok);
    // The caller computes; the limit is for waiting.
    std::this_thread::sleep_for(std::chrono::milliseconds(2200));
    bool done = false;
    ASSERT_EQ(request.test(&done), Status::ok) << message();
    EXPECT_EQ(request.wait(), Status::ok) << message();
    EXPECT_EQ(out[7], 2);
  });
}

TEST(Requests, ReportWhatRan) {
  on_ranks(4, [](int, engine::Engine& engine) {
    std::vector<float> in(16384), out(16384);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::sin(static_cast<float>(i) * 0.001F);
    engine::Report raw, fused;
    ASSERT_EQ(engine.run(call_of(engine, Collective::allreduce, "ring", Kind::raw, in, out), &raw), Status::ok);
    ASSERT_EQ(engine.run(call_of(engine, Collective::allreduce, "ring", Kind::fused, in, out), &fused), Status::ok);
    EXPECT_EQ(raw.bytes_sent, 16384u * 4 * 2 * 3 / 4);
    EXPECT_EQ(raw.raw_bytes, raw.bytes_sent);
    EXPECT_EQ(raw.promised_error, 0);
    EXPECT_EQ(fused.raw_bytes, raw.raw_bytes);
    EXPECT_GT(fused.ratio(), 4);
    EXPECT_STREQ(fused.algorithm.data(), "ring");
    EXPECT_EQ(fused.payload, Kind::fused);
    EXPECT_EQ(fused.contributions, 4u);
    EXPECT_DOUBLE_EQ(fused.promised_error, 4e-3);
    EXPECT_EQ(fused.segments, 16u);
    EXPECT_EQ(fused.messages_sent, 6u * 4);
    EXPECT_GT(fused.combine_seconds, 0);
  });
}

TEST(Engine, AllocatesNoBuffersInASteadyState) {
  on_ranks(3, [](int, engine::Engine& engine) {
    std::vector<float> in(50000), out(50000);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 1000);
    std::size_t after[8] = {};
    for (std::size_t& bytes : after) {
      ASSERT_EQ(engine.run(call_of(engine, Collective::allreduce, "ring", Kind::fused, in, out)), Status::ok);
      bytes = engine.pooled_bytes();
    }
    // Memory in use depends on the ranks' timing; it is bounded, and nothing leaks.
    EXPECT_GT(after[0], 0u);
    EXPECT_LT(after[7], 4 * after[0]);
    engine.trim();
    EXPECT_EQ(engine.pooled_bytes(), 0u);
  });
}

// Twelve inputs, distributed over any number of ranks, some of which hold none.
TEST(SeveralInputs, GiveTheSameBytesHoweverTheyAreSharedOut) {
  constexpr std::size_t n = 9000;
  constexpr int total = 12;
  const auto input = [](int k, std::size_t i) {
    return std::sin(static_cast<float>(i) * 0.01F * static_cast<float>(k + 1));
  };
  for (const Op op : {Op::sum, Op::mean, Op::min, Op::max}) {
    std::vector<float> reference;
    for (const Kind kind : {Kind::raw, Kind::recompress, Kind::homomorphic, Kind::fused}) {
      for (const int p : {1, 3, 4, 5}) {
        for (const char* algorithm : {"ring", "recursive_doubling"}) {
          std::vector<std::vector<float>> results(static_cast<std::size_t>(p), std::vector<float>(n));
          on_ranks(p, [&](int rank, engine::Engine& engine) {
            std::vector<std::vector<float>> mine;
            const bool idle = (op == Op::sum || op == Op::mean) && p == 5;  // then rank 4 of 5 has none
            for (int k = 0; k < total; ++k) {
              if (k % (idle ? p - 1 : p) != rank) continue;
              mine.emplace_back(n);
              for (std::size_t i = 0; i < n; ++i) mine.back()[i] = input(k, i);
            }
            auto& out = results[static_cast<std::size_t>(rank)];
            auto call = call_of(engine, Collective::allreduce, algorithm, kind, out, out);
            call.payload.op = op;
            call.several = true;
            for (const auto& v : mine) call.inputs.push_back(v.data());
            call.contributions = total;
            engine::Report report;
            ASSERT_EQ(engine.run(call, &report), Status::ok) << message();
            EXPECT_EQ(report.contributions, 12u);
            for (std::size_t i = 0; i < n; i += 97) {
              double want = input(0, i);
              for (int k = 1; k < total; ++k) {
                want = op == Op::min   ? std::min<double>(want, input(k, i))
                       : op == Op::max ? std::max<double>(want, input(k, i))
                                       : want + input(k, i);
              }
              if (op == Op::mean) want /= total;
              ASSERT_NEAR(out[i], want, report.promised_error + 2e-6)
                  << payload::name(kind) << " " << payload::name(op) << " " << algorithm << " " << p;
            }
          });
          for (const auto& r : results) EXPECT_EQ(r, results[0]);
          if (kind != Kind::homomorphic && kind != Kind::fused) continue;
          if (reference.empty()) reference = results[0];
          EXPECT_EQ(results[0], reference)
              << payload::name(kind) << " " << payload::name(op) << " " << algorithm << " on " << p << " ranks";
        }
      }
    }
  }
}

// Values off the grid add as exact sums, which take many times their space: messages longer than receives have room
// for.
TEST(LongSums, ArriveWhole) {
  constexpr std::size_t n = 6000;
  for (const int p : {2, 3, 5}) {
    for (const char* algorithm : {"ring", "recursive_doubling", "rabenseifner"}) {
      for (const Kind kind : {Kind::fused, Kind::homomorphic}) {
        on_ranks(p, [&](int rank, engine::Engine& engine) {
          std::vector<float> in(n), out(n);
          for (std::size_t i = 0; i < n; ++i)
            in[i] =
                (i % 3 == 0 ? 1e30F : 1e-3F) * static_cast<float>(1 + (i * 31 + static_cast<std::size_t>(rank)) % 17);
          auto call = call_of(engine, Collective::allreduce, algorithm, kind, in, out);
          call.payload.eps = 1e-6;
          engine::Report report;
          ASSERT_EQ(engine.run(call, &report), Status::ok) << message();
          for (std::size_t i = 0; i < n; ++i) {
            double want = 0;
            for (int r = 0; r < p; ++r)
              want +=
                  (i % 3 == 0 ? 1e30F : 1e-3F) * static_cast<float>(1 + (i * 31 + static_cast<std::size_t>(r)) % 17);
            ASSERT_NEAR(out[i], want, p * 1e-6 + want * 1e-7) << i;
          }
        });
      }
    }
  }
}

}  // namespace
}  // namespace stretto::tests
