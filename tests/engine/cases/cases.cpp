#include "cases.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/binding.hpp"
#include "mix.hpp"
#include "schedule/floors.hpp"
#include "schedule/names.hpp"

namespace stretto::tests {
namespace {

using payload::Kind;
using payload::Op;
using payload::Type;
using schedule::Collective;

template <class T>
std::vector<T> values(int rank, std::size_t first, std::size_t count) {
  std::vector<T> v(count);
  for (std::size_t i = 0; i < count; ++i) v[i] = static_cast<T>(input(rank, first + i));
  return v;
}

double reduce(double a, double b, Op op) {
  if (op == Op::min) return std::min(a, b);
  if (op == Op::max) return std::max(a, b);
  if (op == Op::difference) return a - b;
  return a + b;
}

// A rank's input and expected result, element by element (almost exact, in double).
template <class T>
struct Arrangement {
  std::vector<T> in, out;
  std::vector<double> expected;     // of `out`, where `checked`
  std::vector<std::size_t> counts;  // by rank, for collectives that have them
  bool expects = true;
  bool same_everywhere = false;  // all ranks hold the same at the end
};

template <class T>
Arrangement<T> arrange(const Case& c, int p, int rank) {
  Arrangement<T> a;
  const auto collective = c.algorithm->collective;
  for (int r = 0; r < p; ++r) {
    a.counts.push_back(c.count / static_cast<std::size_t>(p) +
                       (static_cast<std::size_t>(r) < c.count % static_cast<std::size_t>(p) ? 1 : 0));
  }
  std::swap(a.counts.front(), a.counts.back());
  const auto first = [&](int r) { return std::accumulate(a.counts.begin(), a.counts.begin() + r, std::size_t{0}); };
  const auto reduced = [&](std::size_t begin, std::size_t n, int ranks) {
    std::vector<double> sum(n);
    for (std::size_t i = 0; i < n; ++i) {
      double s = static_cast<T>(input(0, begin + i));
      for (int r = 1; r < ranks; ++r) s = reduce(s, static_cast<T>(input(r, begin + i)), c.op);
      sum[i] = c.op == Op::mean ? s / p : s;
    }
    return sum;
  };
  const auto as_double = [](const std::vector<T>& v) { return std::vector<double>(v.begin(), v.end()); };
  const std::size_t mine = a.counts[static_cast<std::size_t>(rank)];
  switch (collective) {
    case Collective::allreduce:
    case Collective::allreduce_multi:
    case Collective::reduce:
      a.in = values<T>(rank, 0, c.count);
      a.expects = collective == Collective::allreduce || rank == c.root;
      a.same_everywhere = collective == Collective::allreduce;
      if (a.expects) a.expected = reduced(0, c.count, p);
      break;
    case Collective::scan:
    case Collective::exscan:
      a.in = values<T>(rank, 0, c.count);
      a.expects = collective == Collective::scan || rank > 0;
      if (a.expects) a.expected = reduced(0, c.count, collective == Collective::scan ? rank + 1 : rank);
      break;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      a.in = values<T>(rank, 0, c.count);
      a.expected = reduced(first(rank), mine, p);
      break;
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::gather:
    case Collective::gatherv:
      a.in = values<T>(rank, first(rank), mine);
      a.expects = collective == Collective::allgather || rank == c.root;
      a.same_everywhere = collective == Collective::allgather;
      for (int r = 0; r < p && a.expects; ++r) {
        const auto part = as_double(values<T>(r, first(r), a.counts[static_cast<std::size_t>(r)]));
        a.expected.insert(a.expected.end(), part.begin(), part.end());
      }
      break;
    case Collective::scatter:
    case Collective::scatterv:
      if (rank == c.root) a.in = values<T>(rank, 0, c.count);
      a.expected = as_double(values<T>(c.root, first(rank), mine));
      break;
    case Collective::bcast:
      if (rank == c.root) a.in = values<T>(rank, 0, c.count);
      a.expected = as_double(values<T>(c.root, 0, c.count));
      break;
    case Collective::alltoall:
    case Collective::alltoallv: {
      const std::size_t n = c.count / static_cast<std::size_t>(p);
      a.counts.clear();
      a.in = values<T>(rank, 0, n * static_cast<std::size_t>(p));
      for (int r = 0; r < p; ++r) {
        const auto part = as_double(values<T>(r, static_cast<std::size_t>(rank) * n, n));
        a.expected.insert(a.expected.end(), part.begin(), part.end());
      }
      break;
    }
    case Collective::barrier:
    case Collective::agreement: a.counts.clear(); break;
  }
  a.out.assign(a.expected.size(), static_cast<T>(-77));
  return a;
}

// Puts the input where in place wants it; *in and *out are what to call with.
template <class T>
void put_in_place(const Case& c, int p, int rank, Arrangement<T>& a, const void** in, void** out) {
  *in = a.in.data();
  *out = a.out.data();
  if (!c.in_place || !a.expects) return;
  switch (c.algorithm->collective) {
    case Collective::allreduce:
    case Collective::allreduce_multi:
    case Collective::reduce:
    case Collective::scan:
    case Collective::exscan:
    case Collective::alltoall:
    case Collective::alltoallv:
      a.out = a.in;
      *in = nullptr;
      break;
    case Collective::bcast:
      if (rank == c.root) a.out = a.in;
      *in = nullptr;
      break;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      a.out = a.in;
      *in = nullptr;
      break;
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::gather:
    case Collective::gatherv: {
      const std::size_t at = std::accumulate(a.counts.begin(), a.counts.begin() + rank, std::size_t{0});
      std::copy(a.in.begin(), a.in.end(), a.out.begin() + static_cast<std::ptrdiff_t>(at));
      *in = nullptr;
      break;
    }
    case Collective::scatter:
    case Collective::scatterv:
    case Collective::barrier:
    case Collective::agreement: break;
  }
  *out = a.out.data();
  static_cast<void>(p);
}

// Half the distance of the neighbours of y in T.
template <class T>
double half_ulp(T y) {
  const T next = std::nextafter(std::abs(y), std::numeric_limits<T>::infinity());
  return (static_cast<double>(next) - static_cast<double>(std::abs(y))) / 2;
}

template <class T>
std::string compare(const Case& c, int p, const Arrangement<T>& a, double promised) {
  const bool reduces = schedule::reduces(c.algorithm->collective);
  const bool adds = reduces && c.op != Op::min && c.op != Op::max;
  const bool mixes = c.raw_below > 0 || c.groups != nullptr;
  const bool raw_sums = adds && (mixes || !payload::traits(c.kind).adds_codes);
  for (std::size_t i = 0; i < a.expected.size(); ++i) {
    const double error = std::abs(static_cast<double>(a.out[i]) - a.expected[i]);
    // The result's own rounding; sums of p floats round p - 1 times more, each at a magnitude of at most p.
    double allowed = promised + (c.kind == Kind::raw && !adds ? 0 : half_ulp(a.out[i]));
    if (raw_sums) allowed += p * half_ulp(static_cast<T>(p));
    allowed += 1e-15 * p;  // of the reference, in double
    // Inputs of at most 1, whose sums round to bfloat16 before each of at most p meetings, and at the end.
    if (c.kind == Kind::bfloat16) allowed += adds ? (p + 1) * 0x1.1p-8 * (c.op == Op::mean ? 1 : p) : 0x1p-9;
    if (c.kind == Kind::raw && !adds) allowed = 0;
    if (!(error <= allowed))
      return fmt::format("element {}: {} where {} was expected, off by {} > {}", i, static_cast<double>(a.out[i]),
                         a.expected[i], error, allowed);
  }
  return {};
}

std::uint64_t fingerprint_of(const void* data, std::size_t bytes) {
  std::uint64_t h = mix(bytes + 1);
  const auto* p = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) h = (h ^ p[i]) * 0x100000001b3ULL;
  return mix(h) | 1;
}

// The smallest and largest of a number over all ranks (the two's complement turns one into the other).
Status extremes(engine::Engine& engine, std::uint64_t mine, std::uint64_t* low, std::uint64_t* high) {
  const int p = engine.carrier().size();
  const schedule::Algorithm* algorithm = schedule::find(Collective::allreduce, "recursive_doubling");
  schedule::Request request;
  request.collective = Collective::allreduce;
  request.ranks = p;
  request.rank = engine.carrier().rank();
  std::uint64_t pair[2] = {mine, ~mine};
  engine::Work call;
  call.schedule = std::make_shared<schedule::Schedule>(algorithm->build(request));
  call.payload.type = Type::u64;
  call.payload.op = Op::max;
  engine::Arguments arguments;
  arguments.out = pair;
  arguments.count = 2;
  if (const Status s = engine::bind(*call.schedule, Type::u64, arguments, &call.blocks); s != Status::ok) return s;
  const Status s = engine.run(call);
  *high = pair[0];
  *low = ~pair[1];
  return s;
}

schedule::Groups groups_for(const Case& c, int p) {
  std::vector<std::int32_t> host;
  for (int r = 0; r < p; ++r) host.push_back(c.hosts > 0 ? r / c.hosts : r % -c.hosts);
  return schedule::groups_of(host);
}

void link_by(const schedule::Groups& groups, schedule::Schedule* s) {
  const auto node = [&](std::int32_t r) { return groups.group_of[static_cast<std::size_t>(r)]; };
  for (auto& step : s->steps) {
    if (step.peer >= 0) step.link = node(step.peer) == node(s->rank) ? schedule::Link::node : schedule::Link::network;
  }
}

template <class T>
std::string run_typed(engine::Engine& engine, const Case& c, std::uint64_t* fingerprint) {
  const int p = engine.carrier().size();
  const int rank = engine.carrier().rank();
  *fingerprint = 0;
  schedule::Request request;
  request.collective = c.algorithm->collective;
  request.ranks = p;
  request.rank = rank;
  request.root = c.root;
  request.blocks = c.blocks;
  const schedule::Groups groups = c.hosts != 0 ? groups_for(c, p) : schedule::Groups{};
  request.groups = c.groups != nullptr ? c.groups : c.hosts != 0 ? &groups : nullptr;
  engine::Work call;
  schedule::Schedule built = c.algorithm->build(request);
  if (c.groups != nullptr && !c.algorithm->uses_groups) link_by(*c.groups, &built);
  call.schedule = std::make_shared<schedule::Schedule>(std::move(built));
  call.payload.raw_below = c.raw_below;
  if (c.groups != nullptr) call.payload.nodes = static_cast<int>(c.groups->members.size());
  call.payload.kind = c.kind;
  call.payload.type = c.type;
  call.payload.op = c.op;
  call.payload.eps = c.eps;
  call.options.segment_bytes = c.segment_bytes;
  call.options.timeout = 60;

  Arrangement<T> a = arrange<T>(c, p, rank);
  engine::Arguments arguments;
  put_in_place(c, p, rank, a, &arguments.in, &arguments.out);
  const std::vector<T> before = a.in;
  arguments.counts = a.counts;
  arguments.grain = c.grain;
  switch (c.algorithm->collective) {
    case Collective::allreduce:
    case Collective::allreduce_multi:
    case Collective::reduce:
    case Collective::bcast:
    case Collective::scan:
    case Collective::exscan:
      arguments.count = c.count;
      arguments.counts = {};
      break;
    case Collective::alltoall:
    case Collective::alltoallv: arguments.count = c.count / static_cast<std::size_t>(p); break;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::gather:
    case Collective::gatherv:
    case Collective::scatter:
    case Collective::scatterv:
    case Collective::barrier:
    case Collective::agreement: break;
  }
  if (const Status s = engine::bind(*call.schedule, c.type, arguments, &call.blocks); s != Status::ok) return message();
  engine::Report report;
  if (const Status s = engine.run(call, &report); s != Status::ok) return fmt::format("{}: {}", name(s), message());

  std::string wrong;
  if (a.in != before) wrong = "the input was written to";
  if (wrong.empty() && a.expects) wrong = compare(c, p, a, report.promised_error);
  if (a.expects) *fingerprint = fingerprint_of(a.out.data(), a.expected.size() * sizeof(T));
  if (a.same_everywhere) {
    std::uint64_t low = 0, high = 0;
    if (const Status s = extremes(engine, *fingerprint, &low, &high); s != Status::ok) return message();
    if (wrong.empty() && low != high) wrong = "ranks hold different bytes";
  }
  return wrong;
}

}  // namespace

double input(int rank, std::size_t i) {
  const double smooth = std::sin(0.01 * static_cast<double>(i) + rank) / 2;
  const double noise = static_cast<double>(mix(i * 977 + static_cast<std::uint64_t>(rank)) >> 11) * 0x1p-53 - 0.5;
  return smooth + (i / 512 % 2 == 0 ? noise : noise / 64);
}

std::string describe(const Case& c, int ranks) {
  return fmt::format("{} {}, {} of {} {}, {} blocks, segments of {} bytes, root {} of {} ranks, hosts {}{}",
                     schedule::name(c.algorithm->collective), c.algorithm->name, payload::name(c.kind), c.count,
                     payload::name(c.op), c.blocks, c.segment_bytes, c.root, ranks, c.hosts,
                     c.in_place ? ", in place" : "") +
         (c.raw_below > 0 ? fmt::format(", raw below {} bytes", c.raw_below) : "") +
         (c.groups != nullptr ? fmt::format(", nodes of ranks {}", fmt::join(c.groups->group_of, " ")) : "");
}

std::string run_case(engine::Engine& engine, const Case& c, std::uint64_t* fingerprint) {
  return c.type == Type::f64 ? run_typed<double>(engine, c, fingerprint) : run_typed<float>(engine, c, fingerprint);
}

std::vector<std::string> run_all(engine::Engine& engine, const std::vector<Case>& cases, std::size_t* done) {
  const int p = engine.carrier().size();
  std::vector<std::string> failures;
  // By collective, count, type and operation: all algorithms, both payloads that add codes, any cut.
  std::map<std::string, std::uint64_t> sums;
  *done = 0;
  for (const Case& c : cases) {
    std::uint64_t fingerprint = 0;
    std::string wrong = run_case(engine, c, &fingerprint);
    const bool codes =
        (c.kind == Kind::homomorphic || c.kind == Kind::fused) && c.raw_below == 0 && c.groups == nullptr;
    if (wrong.empty() && codes && schedule::reduces(c.algorithm->collective) && fingerprint != 0) {
      const auto key = fmt::format("{} {} {} {}", schedule::name(c.algorithm->collective), c.count,
                                   payload::name(c.type), payload::name(c.op));
      const auto [at, fresh] = sums.emplace(key, fingerprint);
      if (!fresh && at->second != fingerprint) wrong = "other bytes than another algorithm or payload gave";
    }
    ++*done;
    if (!wrong.empty() && failures.size() < 5) failures.push_back(describe(c, p) + ": " + wrong);
  }
  return failures;
}

}  // namespace stretto::tests
