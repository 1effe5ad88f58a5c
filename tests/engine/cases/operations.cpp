#include "operations.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include <fmt/core.h>

#include "elements.hpp"
#include "engine/binding.hpp"
#include "schedule/floors.hpp"
#include "schedule/names.hpp"

namespace stretto::tests {
namespace {

using payload::Op;
using payload::Type;
using schedule::Collective;

constexpr Op kAllOps[] = {Op::sum,  Op::prod, Op::min,  Op::max,    Op::land,   Op::lor,        Op::lxor,
                          Op::band, Op::bor,  Op::bxor, Op::minloc, Op::maxloc, Op::difference, Op::mean};
constexpr Type kAllTypes[] = {Type::i8,  Type::i16,  Type::i32,     Type::i64,     Type::u8,      Type::u16,
                              Type::u32, Type::u64,  Type::f16,     Type::bf16,    Type::f32,     Type::f64,
                              Type::c64, Type::c128, Type::f32_i32, Type::f64_i32, Type::i32_i32, Type::i64_i32};

// One reduction of `count` elements a rank.
struct Reduction {
  const schedule::Algorithm* algorithm = nullptr;
  const schedule::Groups* groups = nullptr;
  int root = 0;
  bool in_place = false;
  payload::Spec spec;
  std::size_t count = 0;
  std::size_t segment_bytes = 256;
};

// This rank's part of the result: elements [first, first + count).
struct Share {
  std::size_t first = 0, count = 0;
};

Share share_of(const Reduction& r, int p, int rank, std::vector<std::size_t>* counts) {
  if (r.algorithm->collective == Collective::allreduce) return {0, r.count};
  if (r.algorithm->collective == Collective::scan) return {0, r.count};
  if (r.algorithm->collective == Collective::exscan) return {0, rank > 0 ? r.count : 0};
  if (r.algorithm->collective == Collective::reduce) return {0, rank == r.root ? r.count : 0};
  const std::size_t each = r.count / static_cast<std::size_t>(p);
  counts->assign(static_cast<std::size_t>(p), each);
  counts->back() += r.count % static_cast<std::size_t>(p);
  return {each * static_cast<std::size_t>(rank), (*counts)[static_cast<std::size_t>(rank)]};
}

// Ranks whose contributions are in this rank's share.
int contributors(const Reduction& r, int p, int rank) {
  if (r.algorithm->collective == Collective::scan) return rank + 1;
  return r.algorithm->collective == Collective::exscan ? rank : p;
}

// Runs it; *out is this rank's share.
Status reduce(engine::Engine& engine, const Reduction& r, const std::vector<std::byte>& in, std::vector<std::byte>* out,
              Share* share) {
  const int p = engine.carrier().size(), rank = engine.carrier().rank();
  schedule::Request request;
  request.collective = r.algorithm->collective;
  request.ranks = p;
  request.rank = rank;
  request.root = r.root;
  request.groups = r.groups;
  engine::Work call;
  call.schedule = std::make_shared<schedule::Schedule>(r.algorithm->build(request));
  call.payload = r.spec;
  call.options.segment_bytes = r.segment_bytes;
  std::vector<std::size_t> counts;
  *share = share_of(r, p, rank, &counts);
  const bool here = r.in_place && share->count > 0;
  *out = here ? in : std::vector<std::byte>(in.size());
  engine::Arguments arguments;
  arguments.in = here ? nullptr : in.data();
  arguments.out = out->data();
  arguments.count = r.count;
  arguments.counts = counts;
  arguments.grain = 1;
  if (const Status s = engine::bind(*call.schedule, r.spec.type, arguments, &call.blocks); s != Status::ok) return s;
  const Status s = engine.run(call);
  out->resize(share->count * payload::size_of(r.spec.type));
  return s;
}

void fail(Walk* walk, const Reduction& r, int p, const std::string& what) {
  if (walk->failures.size() >= 5) return;
  walk->failures.push_back(fmt::format("{} {}, {} of {}, {} ranks, root {}{}{}: {}",
                                       schedule::name(r.algorithm->collective), r.algorithm->name,
                                       payload::name(r.spec.op), payload::name(r.spec.type), p, r.root,
                                       r.groups != nullptr ? ", groups" : "", r.in_place ? ", in place" : "", what));
}

// How far a mean may be from the exact one: it is rounded to its type once.
double rounding_of(Type t) {
  return t == Type::f64 ? 0x1p-53 : t == Type::f32 ? 0x1p-24 : t == Type::f16 ? 0x1p-11 : 0x1p-8;
}

void run_operation(engine::Engine& engine, const Reduction& r, Walk* walk) {
  const int p = engine.carrier().size(), rank = engine.carrier().rank();
  const Type t = r.spec.type;
  const std::size_t size = payload::size_of(t);
  std::vector<std::byte> in(r.count * size), out;
  for (std::size_t i = 0; i < r.count; ++i) store(t, &in[i * size], contribution(t, rank, i));
  Share share;
  const Status status = reduce(engine, r, in, &out, &share);
  if (!payload::defined(r.spec.op, t)) {
    ++walk->refused;
    if (status != Status::unsupported) fail(walk, r, p, "not refused");
    return;
  }
  ++walk->done;
  walk->grouped += r.groups != nullptr;
  if (status != Status::ok) return fail(walk, r, p, message());
  for (std::size_t i = 0; i < share.count; ++i) {
    const Pair got = fetch(t, &out[i * size]);
    Pair want = reduced(r.spec.op, t, contributors(r, p, rank), share.first + i);
    bool right = got == want;
    if (r.spec.op == Op::mean) {
      want.first /= p;
      right = std::abs(got.first - want.first) <= rounding_of(t) * std::abs(want.first);
    }
    if (right) continue;
    return fail(walk, r, p,
                fmt::format("element {}: {}, {} not {}, {}", i, got.first, got.second, want.first, want.second));
  }
}

// Ranks on hosts: so many in a row, or (negative) dealt out to so many.
schedule::Groups hosts_of(int p, int ranks_a_host) {
  std::vector<std::int32_t> host;
  for (std::int32_t r = 0; r < p; ++r) host.push_back(ranks_a_host > 0 ? r / ranks_a_host : r % -ranks_a_host);
  return schedule::groups_of(host);
}

// Hosts of five ranks in a row, in them sockets of two.
schedule::Groups sockets_of(int p) {
  std::vector<std::vector<std::int32_t>> levels(2);
  for (std::int32_t r = 0; r < p; ++r) {
    levels[0].push_back(r / 5);
    levels[1].push_back(r % 5 / 2);
  }
  return schedule::groups_of(levels);
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

std::vector<std::uint32_t> maps(int rank, std::size_t count) {
  std::vector<std::uint32_t> v(2 * count);
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = static_cast<std::uint32_t>(rank) * 2654435761u + static_cast<std::uint32_t>(i) * 40503u;
  return v;
}

// want[k]: of the first k ranks.
void run_user_operation(engine::Engine& engine, Reduction r, const std::vector<std::vector<std::uint32_t>>& want,
                        Walk* walk) {
  const int p = engine.carrier().size(), rank = engine.carrier().rank();
  int calls = 0;
  r.spec.type = Type::i32_i32;
  r.spec.op = Op::user;
  r.spec.user = {compose, &calls, false};
  const auto mine = maps(rank, r.count);
  std::vector<std::byte> in(mine.size() * sizeof mine[0]), out;
  std::memcpy(in.data(), mine.data(), in.size());
  Share share;
  const Status status = reduce(engine, r, in, &out, &share);
  if (!schedule::keeps_order(*r.algorithm, r.groups)) {
    ++walk->refused;
    if (status != Status::unsupported) fail(walk, r, p, "not refused");
    return;
  }
  ++walk->done;
  walk->grouped += r.groups != nullptr;
  if (status != Status::ok) return fail(walk, r, p, message());
  const auto& right = want[static_cast<std::size_t>(contributors(r, p, rank))];
  if (std::memcmp(out.data(), right.data() + 2 * share.first, out.size()) != 0) fail(walk, r, p, "not in rank order");
}

}  // namespace

Walk walk_operations(engine::Engine& engine, std::size_t most_types) {
  const int p = engine.carrier().size();
  const schedule::Groups groups[] = {hosts_of(p, 2), hosts_of(p, -2), hosts_of(p, 3)};
  Walk walk;
  auto turn = static_cast<std::size_t>(p);
  for (const auto& algorithm : schedule::algorithms()) {
    if (!schedule::reduces(algorithm.collective)) continue;
    for (const Op op : kAllOps) {
      std::vector<Type> types;
      for (const Type t : kAllTypes) {
        if (payload::defined(op, t) || most_types >= std::size(kAllTypes)) types.push_back(t);
      }
      ++turn;
      const std::size_t some = std::min(types.size(), most_types);
      for (std::size_t i = 0; i < some; ++i) {
        Reduction r;
        r.algorithm = &algorithm;
        r.groups = algorithm.uses_groups ? &groups[turn % std::size(groups)] : nullptr;
        r.root = static_cast<int>(turn % static_cast<std::size_t>(p));
        r.in_place = turn % 2 == 1;
        // Two types, one from either half of the list: integers come first.
        r.spec.type = types[(turn + i * types.size() / some) % types.size()];
        r.spec.op = op;
        r.count = 101;
        run_operation(engine, r, &walk);
      }
    }
  }
  return walk;
}

Walk walk_user_operation(engine::Engine& engine) {
  const int p = engine.carrier().size();
  constexpr std::size_t count = 77;
  std::vector<std::vector<std::uint32_t>> want{std::vector<std::uint32_t>(2 * count), maps(0, count)};
  for (int r = 1, calls = 0; r < p; ++r) {
    auto next = maps(r, count);
    compose(want.back().data(), next.data(), count, &calls);
    want.push_back(std::move(next));
  }
  const schedule::Groups groups[] = {hosts_of(p, 2), hosts_of(p, 3), sockets_of(p), hosts_of(p, -2)};
  Walk walk;
  for (const auto& algorithm : schedule::algorithms()) {
    if (!schedule::reduces(algorithm.collective)) continue;
    std::vector<const schedule::Groups*> kinds{nullptr};
    for (const auto& g : groups) {
      if (algorithm.uses_groups) kinds.push_back(&g);
    }
    for (const auto* kind : kinds) {
      for (const int root : {0, p - 1}) {
        if (root > 0 && !schedule::rooted(algorithm.collective)) continue;
        for (const bool in_place : {false, true}) {
          Reduction r;
          r.algorithm = &algorithm;
          r.groups = kind;
          r.root = root;
          r.in_place = in_place;
          r.count = count;
          r.segment_bytes = 128;
          run_user_operation(engine, r, want, &walk);
        }
      }
    }
  }
  return walk;
}

}  // namespace stretto::tests
