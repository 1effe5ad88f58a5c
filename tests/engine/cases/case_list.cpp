#include "case_list.hpp"

#include "mix.hpp"
#include "schedule/names.hpp"

namespace stretto::tests {
namespace {

using payload::Kind;
using payload::Op;

constexpr Op kOperations[] = {Op::sum, Op::mean, Op::min, Op::max, Op::difference};

struct Shape {
  std::size_t count;
  int root;
};

std::vector<Shape> shapes(const schedule::Algorithm& algorithm, int ranks, std::initializer_list<std::size_t> counts) {
  std::vector<int> roots{0};
  const bool rooted = schedule::rooted(algorithm.collective);
  if (rooted && ranks > 1) roots.push_back(ranks - 1);
  if (rooted && ranks > 2) roots.push_back(ranks / 2);
  std::vector<Shape> all;
  for (const std::size_t count : counts) {
    for (const int root : roots) all.push_back({count, root});
  }
  return all;
}

// Properties that do not multiply the number of cases: each is drawn separately, so that no stride through the cases
// omits any.
void draw(Case* c, std::uint64_t turn) {
  constexpr int hosts[] = {2, -2, 3, 0};
  const auto drawn = [turn](std::uint64_t what, std::size_t of) { return mix(turn * 16 + what) % of; };
  c->in_place = drawn(0, 2) == 0;
  c->type = drawn(1, 3) == 0 ? payload::Type::f64 : payload::Type::f32;
  c->blocks = c->algorithm->uses_blocks ? static_cast<int>(drawn(3, 4)) : 0;
  c->hosts = c->algorithm->uses_groups ? hosts[drawn(4, std::size(hosts))] : 0;
  c->segment_bytes = drawn(5, 7) == 0 ? 0 : 4096 * (1 + drawn(6, 3));
}

}  // namespace

std::vector<Case> all_cases(int ranks, Each each, std::size_t stride) {
  std::vector<Case> cases;
  std::uint64_t turn = 0;
  for (const auto& algorithm : schedule::algorithms()) {
    const std::size_t few = ranks > 1 ? static_cast<std::size_t>(ranks) - 1 : 2;
    const auto tiny = shapes(algorithm, ranks, {0, 1, few});
    const auto large = shapes(algorithm, ranks, {1023, 4 * 2048 + 7, 13 * 1024 + 513});
    const std::size_t ops = schedule::reduces(algorithm.collective) ? std::size(kOperations) : 1;
    for (const payload::Traits& travels : payload::kAllTraits) {
      const Kind kind = travels.kind;
      // Which operation meets which shape differs between schedules, payloads and numbers of ranks.
      const std::uint64_t first = mix(turn * 16 + static_cast<std::uint64_t>(ranks));
      const std::size_t of_large = std::max(ops, large.size()), always = each == Each::operation ? ops : 1;
      for (std::size_t i = 0; i < of_large + tiny.size(); ++i) {
        const Shape shape = i < of_large ? large[(i + first / 8) % large.size()] : tiny[i - of_large];
        Case c;
        c.algorithm = &algorithm;
        c.kind = kind;
        c.op = kOperations[(i + first) % ops];
        c.count = shape.count;
        c.root = shape.root;
        c.grain = payload::is_compressed(kind) ? 1024 : 1;
        draw(&c, ++turn);
        if (travels.form == payload::Form::halves) c.type = payload::Type::f32;
        if (i < always || turn % stride == 0) cases.push_back(c);
      }
    }
  }
  return cases;
}

std::vector<Case> mixed_cases(const schedule::Groups& groups, std::size_t stride) {
  std::vector<Case> cases;
  std::size_t turn = 0;
  for (Case c : all_cases(static_cast<int>(groups.group_of.size()), Each::payload, 1)) {
    if (c.kind == Kind::raw) continue;
    if (++turn % stride != 0) continue;
    const std::size_t which = turn / stride % 3;
    if (which != 0) c.raw_below = turn % 2 == 0 ? 3000 : 9000;
    // A sum must have been made inside its node before it leaves: flat reductions do not see to that.
    const bool floors = c.algorithm->uses_groups || !schedule::reduces(c.algorithm->collective);
    if (which != 1 && floors) c.groups = &groups;
    if (c.groups == nullptr && c.raw_below == 0) continue;
    cases.push_back(c);
  }
  return cases;
}

}  // namespace stretto::tests
