#include "node/collectives/bounded.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "../../sanitized.hpp"
#include "../processes.hpp"
#include "../ranks.hpp"
#include "payload/arithmetic/half.hpp"

namespace stretto::node {
namespace {

using payload::Op;
using payload::Type;
using Vector = std::vector<std::byte>;

struct Case {
  Collective kind;
  Type type;
  Op op;
  payload::Kind travels;
  std::size_t count;
  double eps = 1e-3;
  bool in_place = false;
  bool rough = false;  // NaN, infinities, and values beyond the grid among them
};

payload::Spec spec_of(const Case& c) {
  payload::Spec s;
  s.kind = c.travels;
  s.type = c.type;
  s.op = c.op;
  s.eps = c.eps;
  return s;
}

template <class T>
void put(Vector& v, std::size_t i, T x) {
  std::memcpy(v.data() + i * sizeof x, &x, sizeof x);
}

// Contribution of rank r: a wave with noise, different on every rank.
Vector values(const Case& c, int rank, std::size_t count) {
  Vector v(count * payload::size_of(c.type));
  std::uint32_t state = 77u + 1000u * static_cast<std::uint32_t>(rank);
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    double x = std::sin(0.01 * static_cast<double>(i) + rank) + 1e-2 * (state >> 8) / 16777216.0;
    if (c.rough && state % 37 == 0) x = std::numeric_limits<double>::quiet_NaN();
    if (c.rough && state % 41 == 0) x = std::numeric_limits<double>::infinity();
    if (c.rough && state % 5 == 0) x *= 1e30;
    if (c.type == Type::f64) put(v, i, x);
    if (c.type == Type::f32) put(v, i, static_cast<float>(x));
    if (c.type == Type::f16) put(v, i, payload::narrow_f16(static_cast<float>(x)).bits);
    if (c.type == Type::bf16) put(v, i, payload::narrow_bf16(static_cast<float>(x)).bits);
  }
  return v;
}

// `count` values from `first` on by the codec alone: every rank's stream, combined in descending rank order.
Vector expected(const Case& c, const std::vector<Vector>& of, std::size_t first, std::size_t count) {
  const codec::Type type = *payload::codec_type(c.type);
  const std::size_t size = payload::size_of(c.type);
  Vector sum, next(codec::compress_bound(type, count)), both(codec::combine_bound(type, count) * of.size());
  const auto combine = c.op == Op::min   ? codec::Combine::min
                       : c.op == Op::max ? codec::Combine::max
                                         : codec::Combine::add;
  for (std::size_t r = of.size(); r-- > 0;) {
    std::size_t n = 0, m = 0;
    EXPECT_EQ(codec::compress(type, of[r].data() + first * size, count, c.eps, next, &n), Status::ok) << message();
    if (sum.empty()) {
      sum.assign(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(n));
      continue;
    }
    EXPECT_EQ(codec::combine(combine, sum, {next.data(), n}, both, &m), Status::ok) << message();
    sum.assign(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(m));
  }
  Vector out(count * size);
  const auto divisor = c.op == Op::mean ? static_cast<std::uint32_t>(of.size()) : 1;
  EXPECT_EQ(codec::decompress(sum, out.data(), count, {}, divisor), Status::ok) << message();
  return out;
}

// Runs one call on this rank, and compares it with the codec's result.
void check(Group& g, Bounded& bounded, const Case& c, int root) {
  const auto p = static_cast<std::size_t>(g.size()), me = static_cast<std::size_t>(g.rank());
  const std::size_t size = payload::size_of(c.type), n = c.count;
  const bool scatters = c.kind == Collective::reduce_scatter, gathers = c.kind == Collective::allgather;
  const bool moves = gathers || c.kind == Collective::bcast;
  std::vector<Vector> of;
  for (int r = 0; r < g.size(); ++r) of.push_back(values(c, r, scatters ? n * p : n));
  Vector in = of[me], out(size * n * (scatters || gathers ? p : 1), std::byte{0x5a});
  if (c.kind == Collective::bcast && g.rank() == root) out = in;
  const bool in_place = c.in_place && (c.kind != Collective::reduce || g.rank() == root);
  if (in_place && gathers) std::copy(in.begin(), in.end(), out.begin() + static_cast<std::ptrdiff_t>(me * n * size));
  if (in_place && !moves) out = in;
  const bool none = c.kind == Collective::reduce && g.rank() != root;
  StreamCounts streamed;
  ASSERT_EQ(bounded.run({c.kind, in_place || c.kind == Collective::bcast ? nullptr : in.data(),
                         none ? nullptr : out.data(), n, root, spec_of(c)},
                        &streamed),
            Status::ok)
      << message();
  if (none) return;
  Vector right;
  if (c.kind == Collective::bcast) {
    right = g.rank() == root ? of[me] : expected(c, {of[static_cast<std::size_t>(root)]}, 0, n);
  } else if (gathers) {
    for (const Vector& v : of) {
      const Vector block = expected(c, {v}, 0, n);
      right.insert(right.end(), block.begin(), block.end());
    }
  } else {
    right = expected(c, of, scatters ? me * n : 0, n);
    out.resize(n * size);  // in place a reduce_scatter leaves its result in the first block
  }
  EXPECT_TRUE(out == right) << name(c.kind) << " of " << n << ' ' << payload::name(c.type) << " by "
                            << payload::name(c.op) << ", " << payload::name(c.travels) << ", rank " << me << " of "
                            << p;
}

template <class Body>
void on_bounded(int ranks, std::size_t slot, const Body& body) {
  on_groups(ranks, {.slot = slot}, [&](Group& g) {
    Bounded bounded(g);
    body(g, bounded);
  });
}

constexpr Collective kKinds[] = {Collective::allreduce, Collective::reduce, Collective::reduce_scatter,
                                 Collective::bcast, Collective::allgather};

class Slots : public testing::TestWithParam<std::size_t> {};
// The smaller one has room for parts of one group of values, and not of every rank's.
INSTANTIATE_TEST_SUITE_P(Bounded, Slots, testing::Values(20 * 1024, 128 * 1024),
                         [](const auto& i) { return std::to_string(i.param); });

TEST_P(Slots, ResultsEqualTheCodecsForAnyLengthAndRankCount) {
  for (const int ranks : {1, 2, 3, 5, 7}) {
    if (kSanitized && ranks > 5) continue;  // every rank computes the values of all
    on_bounded(ranks, GetParam(), [&](Group& g, Bounded& b) {
      for (const Collective kind : kKinds)
        for (const std::size_t n : {0, 1, 3, 1000, 1024, 5001, 40037})
          check(g, b, {kind, Type::f32, Op::sum, payload::Kind::fused, n, 1e-3, n % 2 == 0}, g.size() - 1);
    });
  }
}

TEST_P(Slots, TypesOperationsAndPayloadsEqualTheCodecs) {
  on_bounded(3, GetParam(), [](Group& g, Bounded& b) {
    for (const Collective kind : {Collective::allreduce, Collective::reduce, Collective::reduce_scatter})
      for (const Type type : {Type::f32, Type::f64, Type::f16, Type::bf16})
        for (const Op op : {Op::sum, Op::mean, Op::min, Op::max})
          for (const payload::Kind travels : {payload::Kind::fused, payload::Kind::homomorphic})
            check(g, b, {kind, type, op, travels, 9001, 1e-3, kind == Collective::reduce_scatter}, 0);
    for (const Type type : {Type::f64, Type::f16, Type::bf16})
      for (const Collective kind : {Collective::bcast, Collective::allgather})
        check(g, b, {kind, type, Op::sum, payload::Kind::homomorphic, 9001}, 1);
  });
}

// Sums of such values have little room: they are held exactly, many bytes each.
TEST_P(Slots, OffGridValuesAndWideningCodesAreAddedExactly) {
  on_bounded(5, GetParam(), [](Group& g, Bounded& b) {
    for (const Collective kind : kKinds)
      for (const Type type : {Type::f32, Type::f64}) {
        check(g, b, {kind, type, Op::sum, payload::Kind::fused, 7003, 1e-4, false, true}, 2);
        check(g, b, {kind, type, Op::mean, payload::Kind::homomorphic, 7003, 1e-4, false, true}, 2);
        check(g, b, {kind, type, Op::sum, payload::Kind::fused, 7003, type == Type::f64 ? 4e-10 : 3e-7}, 2);
        check(g, b, {kind, type, Op::max, payload::Kind::fused, 7003, 1e-4, false, true}, 2);
      }
  });
}

TEST(Bounded, SumKeepsItsBound) {
  on_bounded(3, 128 * 1024, [](Group& g, Bounded& b) {
    const Case c{Collective::allreduce, Type::f64, Op::sum, payload::Kind::fused, 30011, 1e-5};
    std::vector<double> y(c.count);
    const Vector mine = values(c, g.rank(), c.count);
    StreamCounts streamed;
    ASSERT_EQ(b.run({c.kind, mine.data(), y.data(), c.count, 0, spec_of(c)}, &streamed), Status::ok) << message();
    std::vector<double> sum(c.count, 0);
    for (int r = 0; r < g.size(); ++r) {
      const Vector v = values(c, r, c.count);
      for (std::size_t i = 0; i < c.count; ++i) {
        double x = 0;
        std::memcpy(&x, v.data() + i * sizeof x, sizeof x);
        sum[i] += x;
      }
    }
    for (std::size_t i = 0; i < c.count; ++i)
      ASSERT_LE(std::fabs(y[i] - sum[i]), 3 * c.eps + 4 * std::numeric_limits<double>::epsilon()) << i;
    // Two thirds of the contribution, and a third of the result, of which streams are a part.
    EXPECT_NEAR(static_cast<double>(streamed.raw_bytes), c.count * sizeof(double), 2.0 * 1024 * sizeof(double));
    EXPECT_LT(streamed.stream_bytes, streamed.raw_bytes / 2);
  });
}

TEST(Bounded, AllRanksLearnBothDifferentBounds) {
  on_bounded(3, 128 * 1024, [](Group& g, Bounded& b) {
    std::vector<float> x(5000, 1), y(5000);
    payload::Spec spec = spec_of({Collective::allreduce, Type::f32, Op::sum, payload::Kind::fused, 0});
    if (g.rank() == 1) spec.eps = 0.25;
    StreamCounts streamed;
    EXPECT_EQ(b.run({Collective::allreduce, x.data(), y.data(), x.size(), 0, spec}, &streamed), Status::incompatible);
    EXPECT_NE(std::string(message()).find("eps 0.25"), std::string::npos) << message();
    EXPECT_NE(std::string(message()).find("eps 0.001"), std::string::npos) << message();
  });
}

TEST(Bounded, CallsWithoutStreamsAreRefusedWithTheReason) {
  on_bounded(1, 128 * 1024, [](Group&, Bounded& b) {
    const auto refused = [&](const Case& c, Status with, const char* why) {
      std::vector<double> x(10), y(10);
      StreamCounts streamed;
      EXPECT_EQ(b.run({c.kind, x.data(), y.data(), 1, 0, spec_of(c)}, &streamed), with) << why;
      EXPECT_NE(std::string(message()).find(why), std::string::npos) << message();
    };
    const auto fused = payload::Kind::fused;
    refused({Collective::alltoall, Type::f32, Op::sum, fused, 1}, Status::unsupported, "alltoall");
    refused({Collective::allreduce, Type::i32, Op::sum, fused, 1}, Status::unsupported, "i32");
    refused({Collective::allreduce, Type::f32, Op::prod, fused, 1}, Status::unsupported, "prod");
    refused({Collective::allreduce, Type::f32, Op::difference, fused, 1}, Status::unsupported, "difference");
    refused({Collective::allreduce, Type::f32, Op::sum, payload::Kind::recompress, 1}, Status::unsupported,
            "recompress");
    refused({Collective::allreduce, Type::f32, Op::sum, fused, 1, -1}, Status::invalid_bound, "-1");
    std::vector<float> x(1);
    StreamCounts streamed;
    EXPECT_EQ(
        b.run({Collective::bcast, nullptr, x.data(), 1, 3, spec_of({Collective::bcast, Type::f32, Op::sum, fused, 1})},
              &streamed),
        Status::invalid_argument);
  });
}

TEST(Bounded, SlotTooSmallForAGroupOfValuesIsNamed) {
  on_bounded(2, 4096, [](Group&, Bounded& b) {
    std::vector<float> x(5000, 1), y(5000);
    const payload::Spec spec = spec_of({Collective::allreduce, Type::f32, Op::sum, payload::Kind::fused, 0});
    StreamCounts streamed;
    EXPECT_EQ(b.run({Collective::allreduce, x.data(), y.data(), x.size(), 0, spec}, &streamed), Status::unsupported);
    EXPECT_NE(std::string(message()).find("4096 bytes"), std::string::npos) << message();
  });
}

TEST(Bounded, ProcessesHaveTheResultsOfThreads) {
  constexpr int ranks = 3;
  Inherited memory(ranks);
  const auto body = [](Exchange& exchange) {
    std::unique_ptr<Group> g;
    if (Group::create(exchange, {}, &g) != Status::ok) return 2;
    Bounded b(*g);
    for (const Collective kind : kKinds) check(*g, b, {kind, Type::f32, Op::sum, payload::Kind::fused, 20011}, 1);
    return testing::Test::HasFailure() ? 3 : 0;
  };
  const auto ends = on_processes(ranks, memory, body, [](const std::vector<pid_t>&) {});
  for (const int end : ends) EXPECT_TRUE(WIFEXITED(end) && WEXITSTATUS(end) == 0) << end;
}

}  // namespace
}  // namespace stretto::node
