// Blocks of very unequal lengths: none, one element, several segments.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "engine/binding.hpp"
#include "ranks.hpp"
#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::tests {
namespace {

using schedule::Collective;

constexpr double kErrorBound = 1e-3;
constexpr std::size_t kLengths[] = {0, 1, 5000, 0, 17, 40000, 1024, 3};

float value(int rank, std::size_t i) { return static_cast<float>(std::sin(0.01 * static_cast<double>(i)) + rank); }

engine::Work call_of(const schedule::Algorithm& algorithm, int p, int rank, int root, payload::Kind kind) {
  engine::Work call;
  call.schedule = std::make_shared<schedule::Schedule>(
      algorithm.build({.collective = algorithm.collective, .ranks = p, .rank = rank, .root = root}));
  call.payload.kind = kind;
  call.payload.type = payload::Type::f32;
  call.payload.eps = kind == payload::Kind::raw ? 0 : kErrorBound;
  call.options.segment_bytes = 8192;
  return call;
}

// Length of rank s's block for rank d.
std::size_t length(int s, int d, int p) {
  return kLengths[static_cast<std::size_t>(s * 3 + d * 5 + p) % std::size(kLengths)];
}

// `knows_all`: a rank gives the lengths of all p * p blocks, not only of those that it sends or receives.
void exchange(engine::Engine& engine, int rank, int p, const schedule::Algorithm& algorithm, payload::Kind kind,
              bool knows_all) {
  engine::Work call = call_of(algorithm, p, rank, 0, kind);
  std::vector<std::vector<float>> in(static_cast<std::size_t>(p)), out(static_cast<std::size_t>(p));
  call.blocks.resize(static_cast<std::size_t>(p * p));
  for (int s = 0; s < p; ++s) {
    for (int d = 0; d < p; ++d) {
      engine::Block& block = call.blocks[static_cast<std::size_t>(s * p + d)];
      const std::size_t n = length(s, d, p);
      if (knows_all || s == rank || d == rank) block.count = n;
      if (s == rank) {
        auto& values = in[static_cast<std::size_t>(d)];
        for (std::size_t i = 0; i < n; ++i) values.push_back(value(s * p + d, i));
        values.push_back(0);  // so that there is an address
        block.in = values.data();
      }
      if (d == rank) {
        out[static_cast<std::size_t>(s)].assign(n + 1, -77);
        block.out = out[static_cast<std::size_t>(s)].data();
      }
    }
  }
  ASSERT_EQ(engine.run(call), Status::ok) << message();
  for (int s = 0; s < p; ++s) {
    const auto& values = out[static_cast<std::size_t>(s)];
    const std::size_t n = length(s, rank, p);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_NEAR(values[i], value(s * p + rank, i), call.payload.eps)
          << algorithm.name << ", " << payload::name(kind) << ", " << s << " to " << rank << " of " << p;
    }
    ASSERT_EQ(values[n], -77) << "written behind its end";
  }
}

TEST(Uneven, AnAlltoallTakesAnyLengthsFromRanksThatKnowTheirOwn) {
  for (const int p : {1, 2, 3, 5, 7}) {
    on_ranks(p, [&](int rank, engine::Engine& engine) {
      for (const char* name : {"pairwise", "linear"}) {
        for (const auto kind : {payload::Kind::raw, payload::Kind::fused}) {
          exchange(engine, rank, p, *schedule::find(Collective::alltoall, name), kind, false);
        }
      }
    });
  }
}

TEST(Uneven, BruckTakesAnyLengthsThatAllRanksKnow) {
  for (const int p : {1, 2, 3, 5, 7}) {
    on_ranks(p, [&](int rank, engine::Engine& engine) {
      for (const auto kind : {payload::Kind::raw, payload::Kind::fused}) {
        exchange(engine, rank, p, *schedule::find(Collective::alltoall, "bruck"), kind, true);
      }
    });
  }
}

TEST(Uneven, EveryAlgorithmGathersAndScattersBlocksOfAnyLengths) {
  const int p = 6;
  const std::vector<std::size_t> counts(kLengths, kLengths + p);
  const std::size_t total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  on_ranks(p, [&](int rank, engine::Engine& engine) {
    const std::size_t mine = counts[static_cast<std::size_t>(rank)];
    const std::size_t before = std::accumulate(counts.begin(), counts.begin() + rank, std::size_t{0});
    for (const auto& algorithm : schedule::algorithms()) {
      const Collective c = algorithm.collective;
      const bool from_parts = c == Collective::allgather || c == Collective::gather;
      const bool to_parts = c == Collective::reduce_scatter || c == Collective::scatter;
      if (!from_parts && !to_parts) continue;
      for (const auto kind : {payload::Kind::raw, payload::Kind::fused}) {
        const int root = 1;
        engine::Work call = call_of(algorithm, p, rank, root, kind);
        std::vector<float> in, out((from_parts ? total : mine) + 1, -77);
        const std::size_t first = from_parts ? before : 0;  // in holds elements [first, first + n) of the vector
        for (std::size_t i = 0; i < (from_parts ? mine : total); ++i) {
          in.push_back(value(c == Collective::reduce_scatter ? rank : 0, first + i));
        }
        in.push_back(0);
        engine::Arguments arguments;
        arguments.in = c == Collective::scatter && rank != root ? nullptr : in.data();
        arguments.out = c == Collective::gather && rank != root ? nullptr : out.data();
        arguments.counts = counts;
        ASSERT_EQ(engine::bind(*call.schedule, payload::Type::f32, arguments, &call.blocks), Status::ok) << message();
        ASSERT_EQ(engine.run(call), Status::ok) << message();
        if (c == Collective::gather && rank != root) continue;
        for (std::size_t i = 0; i + 1 < out.size(); ++i) {
          const std::size_t at = from_parts ? i : before + i;
          double expected = value(0, at);
          double error = call.payload.eps;
          if (c == Collective::reduce_scatter) {
            for (int r = 1; r < p; ++r) expected += value(r, at);
            error = p * error + 1e-5;  // and the rounding of float sums
          }
          ASSERT_NEAR(out[i], expected, error) << schedule::name(c) << " " << algorithm.name << ", element " << at;
        }
        ASSERT_EQ(out.back(), -77) << "written behind its end";
      }
    }
  });
}

}  // namespace
}  // namespace stretto::tests
