// Every predefined operation on every type it is defined on, raw; and user operations that keep order.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <mutex>

#include <fmt/core.h>

#include "engine/binding.hpp"
#include "payload/half.hpp"
#include "ranks.hpp"
#include "schedule/floors.hpp"
#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::tests {
namespace {

using payload::Op;
using payload::Type;

constexpr Op all_ops[] = {Op::sum,  Op::prod, Op::min,  Op::max,    Op::land,   Op::lor,        Op::lxor,
                          Op::band, Op::bor,  Op::bxor, Op::minloc, Op::maxloc, Op::difference, Op::mean};
constexpr Type all_types[] = {Type::i8,  Type::i16,  Type::i32,     Type::i64,     Type::u8,      Type::u16,
                              Type::u32, Type::u64,  Type::f16,     Type::bf16,    Type::f32,     Type::f64,
                              Type::c64, Type::c128, Type::f32_i32, Type::f64_i32, Type::i32_i32, Type::i64_i32};

// Small integers, of which every type holds sums and products exactly.
int number(int rank, std::size_t i) {
  return static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 5) % 3) - (i % 2 == 0 ? 1 : 0);
}

struct Complex {
  long re, im;
};

// One element as numbers: its value (or real part), and its second part: imaginary, or index.
struct Pair {
  double first = 0;
  double second = 0;
  friend bool operator==(const Pair&, const Pair&) = default;
};

bool is_complex(Type t) { return t == Type::c64 || t == Type::c128; }
bool is_located(Type t) { return t == Type::f32_i32 || t == Type::f64_i32 || t == Type::i32_i32 || t == Type::i64_i32; }

template <class A, class B = A>
void put(std::byte* at, Pair v, std::size_t second_at) {
  const A a = static_cast<A>(v.first);
  std::memcpy(at, &a, sizeof(A));
  if (second_at == 0) return;
  const B b = static_cast<B>(v.second);
  std::memcpy(at + second_at, &b, sizeof(B));
}

template <class A, class B = A>
Pair get(const std::byte* at, std::size_t second_at) {
  A a;
  B b{};
  std::memcpy(&a, at, sizeof(A));
  if (second_at != 0) std::memcpy(&b, at + second_at, sizeof(B));
  return {static_cast<double>(a), static_cast<double>(b)};
}

void store(Type t, std::byte* at, Pair v) {
  switch (t) {
    case Type::i8: return put<std::int8_t>(at, v, 0);
    case Type::i16: return put<std::int16_t>(at, v, 0);
    case Type::i32: return put<std::int32_t>(at, v, 0);
    case Type::i64: return put<std::int64_t>(at, v, 0);
    case Type::u8:
      return put<std::uint8_t>(at, {static_cast<double>(static_cast<std::uint8_t>(static_cast<int>(v.first))), 0}, 0);
    case Type::u16:
      return put<std::uint16_t>(at, {static_cast<double>(static_cast<std::uint16_t>(static_cast<int>(v.first))), 0}, 0);
    case Type::u32:
      return put<std::uint32_t>(at, {static_cast<double>(static_cast<std::uint32_t>(static_cast<int>(v.first))), 0}, 0);
    case Type::u64: {
      const auto x = static_cast<std::uint64_t>(static_cast<std::int64_t>(v.first));
      std::memcpy(at, &x, sizeof x);
      return;
    }
    case Type::f16: {
      const auto h = payload::narrow_f16(static_cast<float>(v.first));
      std::memcpy(at, &h, 2);
      return;
    }
    case Type::bf16: {
      const auto h = payload::narrow_bf16(static_cast<float>(v.first));
      std::memcpy(at, &h, 2);
      return;
    }
    case Type::f32: return put<float>(at, v, 0);
    case Type::f64: return put<double>(at, v, 0);
    case Type::c64: return put<float>(at, v, 4);
    case Type::c128: return put<double>(at, v, 8);
    case Type::f32_i32: return put<float, std::int32_t>(at, v, 4);
    case Type::f64_i32: return put<double, std::int32_t>(at, v, 8);
    case Type::i32_i32: return put<std::int32_t, std::int32_t>(at, v, 4);
    case Type::i64_i32: return put<std::int64_t, std::int32_t>(at, v, 8);
  }
}

Pair fetch(Type t, const std::byte* at) {
  switch (t) {
    case Type::i8: return get<std::int8_t>(at, 0);
    case Type::i16: return get<std::int16_t>(at, 0);
    case Type::i32: return get<std::int32_t>(at, 0);
    case Type::i64: return get<std::int64_t>(at, 0);
    case Type::u8: return get<std::uint8_t>(at, 0);
    case Type::u16: return get<std::uint16_t>(at, 0);
    case Type::u32: return get<std::uint32_t>(at, 0);
    case Type::u64: return get<std::uint64_t>(at, 0);
    case Type::f16: {
      payload::F16 h;
      std::memcpy(&h, at, 2);
      return {payload::widen(h), 0};
    }
    case Type::bf16: {
      payload::BF16 h;
      std::memcpy(&h, at, 2);
      return {payload::widen(h), 0};
    }
    case Type::f32: return get<float>(at, 0);
    case Type::f64: return get<double>(at, 0);
    case Type::c64: return get<float>(at, 4);
    case Type::c128: return get<double>(at, 8);
    case Type::f32_i32: return get<float, std::int32_t>(at, 4);
    case Type::f64_i32: return get<double, std::int32_t>(at, 8);
    case Type::i32_i32: return get<std::int32_t, std::int32_t>(at, 4);
    case Type::i64_i32: return get<std::int64_t, std::int32_t>(at, 8);
  }
  return {};
}

// The number of bits of an integer type; 0 for others. Unsigned types compute on what store() made of the number.
int bits_of(Type t) {
  switch (t) {
    case Type::i8:
    case Type::u8: return 8;
    case Type::i16:
    case Type::u16: return 16;
    case Type::i32:
    case Type::u32: return 32;
    case Type::i64:
    case Type::u64: return 64;
    case Type::f16:
    case Type::bf16:
    case Type::f32:
    case Type::f64:
    case Type::c64:
    case Type::c128:
    case Type::f32_i32:
    case Type::f64_i32:
    case Type::i32_i32:
    case Type::i64_i32: return 0;
  }
  return 0;
}

bool is_unsigned(Type t) { return t == Type::u8 || t == Type::u16 || t == Type::u32 || t == Type::u64; }

// Reduction over the integers, modulo 2^bits where the type is an integer.
Pair expected(Op op, Type t, int p, std::size_t i) {
  const auto operand = [&](int r) {
    std::int64_t x = number(r, i);
    if (is_unsigned(t) && bits_of(t) < 64) x &= (std::int64_t{1} << bits_of(t)) - 1;
    return x;
  };
  std::int64_t s = operand(0);
  Complex z{number(0, i), 1};
  int at = 0;
  for (int r = 1; r < p; ++r) {
    const std::int64_t x = operand(r);
    const bool below = is_unsigned(t) ? static_cast<std::uint64_t>(x) < static_cast<std::uint64_t>(s) : x < s;
    switch (op) {
      case Op::sum:
      case Op::mean:
        s += x;
        z = {z.re + number(r, i), z.im + r + 1};
        break;
      case Op::difference:
        s -= x;
        z = {z.re - number(r, i), z.im - r - 1};
        break;
      case Op::prod:
        s *= x;
        z = {z.re * number(r, i) - z.im * (r + 1), z.re * (r + 1) + z.im * number(r, i)};
        break;
      case Op::min:
      case Op::minloc:
        at = below ? r : at;
        s = below ? x : s;
        break;
      case Op::max:
      case Op::maxloc:
        at = !below && x != s ? r : at;
        s = below ? s : x;
        break;
      case Op::land: s = s != 0 && x != 0; break;
      case Op::lor: s = s != 0 || x != 0; break;
      case Op::lxor: s = (s != 0) != (x != 0); break;
      case Op::band: s &= x; break;
      case Op::bor: s |= x; break;
      case Op::bxor: s ^= x; break;
      case Op::user: break;
    }
  }
  if (p == 1 && (op == Op::land || op == Op::lor || op == Op::lxor)) s = number(0, i);  // nothing was combined
  if (is_complex(t)) return {static_cast<double>(z.re), static_cast<double>(z.im)};
  if (is_located(t)) return {static_cast<double>(s), static_cast<double>(at)};
  switch (t) {
    case Type::i8: s = static_cast<std::int8_t>(s); break;
    case Type::u8: s = static_cast<std::uint8_t>(s); break;
    case Type::u16: s = static_cast<std::uint16_t>(s); break;
    case Type::u32: s = static_cast<std::uint32_t>(s); break;
    case Type::u64: return {static_cast<double>(static_cast<std::uint64_t>(s)), 0};
    case Type::i16:
    case Type::i32:
    case Type::i64:
    case Type::f16:
    case Type::bf16:
    case Type::f32:
    case Type::f64:
    case Type::c64:
    case Type::c128:
    case Type::f32_i32:
    case Type::f64_i32:
    case Type::i32_i32:
    case Type::i64_i32: break;
  }
  return {static_cast<double>(s), 0};
}

Status reduce(engine::Engine& engine, const schedule::Algorithm& algorithm, payload::Spec spec, const void* in,
              void* out, std::size_t count) {
  schedule::Request request;
  request.collective = schedule::Collective::allreduce;
  request.ranks = engine.carrier().size();
  request.rank = engine.carrier().rank();
  std::vector<std::int32_t> host;
  for (std::int32_t r = 0; r < request.ranks; ++r) host.push_back(r / 2);
  const schedule::Groups groups = schedule::groups_of(host);
  if (algorithm.uses_groups) request.groups = &groups;
  engine::Call call;
  call.schedule = std::make_shared<schedule::Schedule>(algorithm.build(request));
  call.payload = spec;
  call.options.segment_bytes = 256;
  engine::Arguments arguments;
  arguments.in = in;
  arguments.out = out;
  arguments.count = count;
  arguments.grain = 1;
  if (const Status s = engine::bind(*call.schedule, spec.type, arguments, &call.blocks); s != Status::ok) return s;
  return engine.run(call);
}

TEST(RawOperations, MatchTheIntegersOnEveryTypeTheyAreDefinedOn) {
  constexpr std::size_t count = 101;
  std::size_t pairs = 0;
  for (const Op op : all_ops) {
    for (const Type t : all_types) pairs += payload::defined(op, t);
  }
  EXPECT_EQ(pairs, 8u * 11 + 3 * 6 + 2 * 4 + 4 +
                       2 * 4);  // integers; sum, prod, difference of six; min, max of four; mean; loc
  for (const int p : {1, 2, 3, 5}) {
    for (const auto& algorithm : schedule::algorithms()) {
      if (algorithm.collective != schedule::Collective::allreduce) continue;
      on_ranks(p, [&](int rank, engine::Engine& engine) {
        for (const Op op : all_ops) {
          for (const Type t : all_types) {
            const std::size_t size = payload::size_of(t);
            std::vector<std::byte> in(count * size), out(count * size);
            for (std::size_t i = 0; i < count; ++i) {
              store(t, &in[i * size],
                    {static_cast<double>(number(rank, i)), static_cast<double>(is_complex(t) ? rank + 1 : rank)});
            }
            payload::Spec spec;
            spec.type = t;
            spec.op = op;
            const Status status = reduce(engine, algorithm, spec, in.data(), out.data(), count);
            const std::string where =
                fmt::format("{} of {}, {}, {} ranks", payload::name(op), payload::name(t), algorithm.name, p);
            if (!payload::defined(op, t)) {
              EXPECT_EQ(status, Status::unsupported) << where;
              continue;
            }
            ASSERT_EQ(status, Status::ok) << where << ": " << message();
            for (std::size_t i = 0; i < count; ++i) {
              Pair want = expected(op, t, p, i);
              const Pair got = fetch(t, &out[i * size]);
              if (op == Op::mean) {
                EXPECT_NEAR(got.first, want.first / p, 0.02) << where << ", element " << i;  // a bfloat16 has 8 bits
                continue;
              }
              ASSERT_EQ(got, want) << where << ", element " << i << ": " << got.first << ", " << got.second << " not "
                                   << want.first << ", " << want.second;
            }
          }
        }
      });
    }
  }
}

// x -> a x + b modulo 2^32, composed from left to right: associative, and does not commute.
void compose(const void* left, void* right, std::size_t count, void* calls) {
  const auto* f = static_cast<const std::uint32_t*>(left);
  auto* g = static_cast<std::uint32_t*>(right);
  for (std::size_t i = 0; i < count; ++i) {
    g[2 * i + 1] = g[2 * i] * f[2 * i + 1] + g[2 * i + 1];
    g[2 * i] *= f[2 * i];
  }
  ++*static_cast<int*>(calls);
}

TEST(UserOperations, ThatDoNotCommuteMeetInRankOrderWhereTheScheduleKeepsIt) {
  constexpr std::size_t count = 77;
  int kept = 0, scattered = 0;
  for (const auto& algorithm : schedule::algorithms()) {
    if (!schedule::reduces(algorithm.collective)) continue;
    const bool scatters = algorithm.collective == schedule::Collective::reduce_scatter;
    for (const int p : {1, 2, 3, 4, 5, 7, 8, 13}) {
      for (const int root : {0, p - 1}) {
        for (const bool in_place : {false, true}) {
          on_ranks(p, [&](int rank, engine::Engine& engine) {
            const auto element = [](int r, std::size_t i) {
              return static_cast<std::uint32_t>(r * 2654435761u + i * 40503u);
            };
            std::vector<std::uint32_t> in(2 * count), out(2 * count), want(2 * count);
            std::vector<std::size_t> counts(static_cast<std::size_t>(p), count / static_cast<std::size_t>(p));
            counts.back() += count % static_cast<std::size_t>(p);
            int calls = 0;
            for (std::size_t i = 0; i < 2 * count; ++i) want[i] = element(0, i);
            for (int r = 1; r < p; ++r) {
              std::vector<std::uint32_t> next(2 * count);
              for (std::size_t i = 0; i < 2 * count; ++i) next[i] = element(r, i);
              compose(want.data(), next.data(), count, &calls);
              want = next;
            }
            for (std::size_t i = 0; i < 2 * count; ++i) in[i] = element(rank, i);
            calls = 0;
            schedule::Request request;
            request.collective = algorithm.collective;
            request.ranks = p;
            request.rank = rank;
            request.root = root;
            engine::Call call;
            call.schedule = std::make_shared<schedule::Schedule>(algorithm.build(request));
            call.payload.type = Type::i32_i32;
            call.payload.op = Op::user;
            call.payload.user = {compose, &calls, false};
            call.options.segment_bytes = 128;
            engine::Arguments arguments;
            const bool result = algorithm.collective != schedule::Collective::reduce || rank == root;
            const bool here = in_place && result;
            if (here) out = in;
            arguments.in = here ? nullptr : in.data();
            arguments.out = out.data();
            arguments.count = count;
            if (scatters) arguments.counts = counts;
            arguments.grain = 1;
            ASSERT_EQ(engine::bind(*call.schedule, Type::i32_i32, arguments, &call.blocks), Status::ok);
            const Status status = engine.run(call);
            if (!call.schedule->keeps_order) {
              EXPECT_EQ(status, Status::unsupported);
              return;
            }
            ASSERT_EQ(status, Status::ok) << message();
            if (!result) return;
            if (scatters) {
              const std::size_t own = counts[static_cast<std::size_t>(rank)],
                                first = counts[0] * static_cast<std::size_t>(rank);
              out.resize(2 * own);
              want = {want.begin() + static_cast<std::ptrdiff_t>(2 * first),
                      want.begin() + static_cast<std::ptrdiff_t>(2 * (first + own))};
            }
            EXPECT_EQ(out, want) << algorithm.name << " on " << p << " ranks, root " << root;
          });
        }
      }
      kept += algorithm.keeps_order;
      scattered += algorithm.keeps_order && scatters;
    }
  }
  EXPECT_GT(kept, 8);
  EXPECT_GT(scattered, 0);
}

}  // namespace
}  // namespace stretto::tests
