// Every type that travels compressed, under every payload: within the promise, the same on all ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <type_traits>

#include "engine/binding.hpp"
#include "payload/arithmetic/half.hpp"
#include "ranks.hpp"
#include "schedule/registry.hpp"

namespace stretto::tests {
namespace {

using payload::Kind;
using payload::Op;
using payload::Type;

constexpr std::size_t kN = 7001;
constexpr double kEps = 1e-2;

template <class T>
T make(double x) {
  if constexpr (std::is_same_v<T, payload::F16>)
    return payload::narrow_f16(static_cast<float>(x));
  else if constexpr (std::is_same_v<T, payload::BF16>)
    return payload::narrow_bf16(static_cast<float>(x));
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(std::lround(x * 1e6));
  else
    return static_cast<T>(x);
}

template <class T>
double value(T x) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(x);
  else
    return payload::widen(x);
}

// Distance of neighbouring numbers near a magnitude of 4 or less, halved: what one rounding may add.
double rounding(Type t) {
  if (t == Type::f16) return 0x1p-10;
  if (t == Type::bf16) return 0x1p-7;
  if (t == Type::f32) return 0x1p-23;
  return 0;
}

template <class T>
void sum_and_max(Type type) {
  for (const int p : {1, 3, 4}) {
    for (const char* algorithm : {"ring", "recursive_doubling"}) {
      for (const Kind kind : {Kind::cprp2p, Kind::recompress, Kind::homomorphic, Kind::fused}) {
        for (const Op op : {Op::sum, Op::max, Op::difference}) {
          std::vector<std::vector<T>> in(static_cast<std::size_t>(p)), out(in.size());
          for (std::size_t r = 0; r < in.size(); ++r) {
            out[r].resize(kN);
            for (std::size_t i = 0; i < kN; ++i) {
              in[r].push_back(make<T>(std::sin(static_cast<double>(i) * 0.01 + static_cast<double>(r))));
            }
          }
          on_ranks(p, [&](int rank, engine::Engine& engine) {
            const auto r = static_cast<std::size_t>(rank);
            schedule::Request request;
            request.collective = schedule::Collective::allreduce;
            request.ranks = p;
            request.rank = rank;
            engine::Work call;
            call.schedule =
                std::make_shared<schedule::Schedule>(schedule::find(request.collective, algorithm)->build(request));
            call.payload.kind = kind;
            call.payload.type = type;
            call.payload.op = op;
            call.payload.eps = kEps;
            call.options.segment_bytes = 8192;
            engine::Arguments arguments;
            arguments.in = in[r].data();
            arguments.out = out[r].data();
            arguments.count = kN;
            ASSERT_EQ(engine::bind(*call.schedule, type, arguments, &call.blocks), Status::ok);
            engine::Report report;
            ASSERT_EQ(engine.run(call, &report), Status::ok) << message();
            for (std::size_t i = 0; i < kN; ++i) {
              double want = value(in[0][i]);
              for (std::size_t k = 1; k < in.size(); ++k) {
                const double x = value(in[k][i]);
                want = op == Op::sum ? want + x : op == Op::max ? std::max(want, x) : want - x;
              }
              // Raw sums and recompression round p times more.
              const double rounded = rounding(type) * (kind == Kind::cprp2p || kind == Kind::recompress ? 3 * p : 1);
              ASSERT_LE(std::abs(value(out[r][i]) - want), report.promised_error + rounded)
                  << payload::name(type) << " " << payload::name(kind) << " " << payload::name(op) << " " << algorithm
                  << " " << p << ", " << i;
            }
          });
          for (const auto& o : out) EXPECT_EQ(std::memcmp(o.data(), out[0].data(), kN * sizeof(T)), 0);
        }
      }
    }
  }
}

TEST(CompressedTypes, Float16) { sum_and_max<payload::F16>(Type::f16); }
TEST(CompressedTypes, Bfloat16) { sum_and_max<payload::BF16>(Type::bf16); }
TEST(CompressedTypes, Float32) { sum_and_max<float>(Type::f32); }
TEST(CompressedTypes, Float64) { sum_and_max<double>(Type::f64); }
TEST(CompressedTypes, Int32IsLossless) { sum_and_max<std::int32_t>(Type::i32); }
TEST(CompressedTypes, Int64IsLossless) { sum_and_max<std::int64_t>(Type::i64); }

}  // namespace
}  // namespace stretto::tests
