// Which forms there are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>

#include "call/record.hpp"
#include "forms.hpp"
#include "schedule/registry.hpp"

namespace api_test {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_() % n; }
  bool one_of(std::size_t n) { return below(n) == 0; }
  template <class T, std::size_t n>
  const T& any(const T (&of)[n]) {
    return of[below(n)];
  }
  std::uint64_t number() { return random_(); }

 private:
  std::mt19937_64 random_;
};

std::string any_schedule(stretto_collective c, Draw& draw) {
  std::vector<std::string> names;
  for (const auto& a : stretto::schedule::algorithms()) {
    // Blocks that pass through ranks whose counts do not tell their lengths.
    if (c == STRETTO_ALLTOALLV && a.passes_blocks_on) continue;
    if (a.collective == stretto::schedule::family(stretto::call::collective_of(c))) names.emplace_back(a.name);
  }
  return names[draw.below(names.size())];
}

bool has_counts(stretto_collective c) {
  return c == STRETTO_REDUCE_SCATTER || c == STRETTO_ALLGATHERV || c == STRETTO_SCATTERV || c == STRETTO_GATHERV ||
         c == STRETTO_ALLTOALLV;
}

bool is_prefix(stretto_collective c) { return c == STRETTO_SCAN || c == STRETTO_EXSCAN; }

void draw_bound(Form* f, stretto_bound kind, Draw& draw) {
  constexpr double bounds[] = {1e-1, 1e-2, 1e-3, 1e-4};
  constexpr stretto_payload payloads[] = {STRETTO_PAYLOAD_AUTO,       STRETTO_PAYLOAD_RAW,
                                          STRETTO_PAYLOAD_RECOMPRESS, STRETTO_PAYLOAD_HOMOMORPHIC,
                                          STRETTO_PAYLOAD_FUSED,      STRETTO_PAYLOAD_CPRP2P};
  f->options.bound_kind = kind;
  f->options.bound = draw.any(bounds);
  f->options.scope = draw.one_of(3) ? STRETTO_SCOPE_RESULT : STRETTO_SCOPE_CONTRIBUTION;
  f->options.payload = draw.any(payloads);
}

Form draw_form(stretto_collective c, bool in_place, bool started, stretto_bound kind, int ranks, Draw& draw) {
  constexpr stretto_type types[] = {STRETTO_F32, STRETTO_F32, STRETTO_F64, STRETTO_I32, STRETTO_I64};
  constexpr stretto_op ops[] = {STRETTO_SUM, STRETTO_SUM, STRETTO_MIN, STRETTO_MAX, STRETTO_DIFFERENCE, STRETTO_MEAN};
  constexpr std::size_t counts[] = {0, 1, 2, 7, 100, 1023, 1025, 5000, 5000, 12007};
  constexpr std::size_t segments[] = {0, 0, 0, 1024, 4096, 65536};
  Form f;
  f.collective = c;
  f.in_place = in_place;
  f.started = started;
  f.tested = draw.one_of(2);
  f.wavy = draw.one_of(2);
  f.seed = draw.number();
  f.count = draw.any(counts);
  f.root = static_cast<int>(draw.below(static_cast<std::size_t>(ranks)));
  f.type = draw.any(types);
  do {
    f.op = draw.any(ops);
  } while ((f.op == STRETTO_MEAN && (f.type == STRETTO_I32 || f.type == STRETTO_I64)) ||
           (f.op == STRETTO_DIFFERENCE && c == STRETTO_ALLREDUCE_MULTI) ||
           ((f.op == STRETTO_MEAN || f.op == STRETTO_DIFFERENCE) && is_prefix(c)));
  if (has_counts(c)) {
    const std::size_t own[] = {0, 1, f.count / 2, f.count, f.count + 3, 17};
    for (int r = 0; r < ranks; ++r) f.counts.push_back(draw.any(own));
    f.gap = c != STRETTO_REDUCE_SCATTER && draw.one_of(2) ? 3 : 0;
  }
  if (kind != STRETTO_BOUND_NONE) draw_bound(&f, kind, draw);
  if (is_prefix(c) && f.options.payload > STRETTO_PAYLOAD_RAW) f.options.payload = STRETTO_PAYLOAD_AUTO;
  if (draw.one_of(2)) f.schedule = any_schedule(c, draw);
  f.options.segment = c == STRETTO_BARRIER ? 0 : draw.any(segments);
  f.options.check = draw.one_of(4) ? 0 : 1;
  f.options.timeout = 60;
  f.options.reproducible = f.schedule.empty() && f.options.payload == STRETTO_PAYLOAD_AUTO && draw.one_of(3) ? 1 : 0;
  f.prepared = started && draw.one_of(2);
  f.recorded = draw.one_of(2);
  return f;
}

}  // namespace

bool reduces(stretto_collective c) { return stretto::schedule::reduces(stretto::call::collective_of(c)); }

std::vector<Form> draw_forms(int ranks, std::uint64_t seed) {
  Draw draw(seed * 100 + static_cast<std::uint64_t>(ranks));
  std::vector<Form> forms;
  for (int i = STRETTO_ALLREDUCE; i <= STRETTO_EXSCAN; ++i) {
    const auto c = static_cast<stretto_collective>(i);
    for (const bool in_place : {false, true}) {
      if (in_place && (c == STRETTO_BCAST || c == STRETTO_ALLREDUCE_MULTI || c == STRETTO_BARRIER)) continue;
      for (const bool started : {false, true}) {
        for (const auto kind : {STRETTO_BOUND_NONE, STRETTO_BOUND_ABSOLUTE, STRETTO_BOUND_RELATIVE}) {
          if (c == STRETTO_BARRIER && kind != STRETTO_BOUND_NONE) continue;
          forms.push_back(draw_form(c, in_place, started, kind, ranks, draw));
        }
      }
    }
  }
  return forms;
}

std::string describe(const Form& f) {
  return fmt::format(
      "{}{}{}{}{}, type {}, op {}, count {}, counts {}, gap {}, root {}, schedule '{}', bound {} of kind {} and scope "
      "{}, "
      "payload {}, segment {}, "
      "check {}, reproducible {}, {}",
      f.recorded ? "recorded " : "", f.started ? f.tested ? "tested " : "waited for " : "",
      f.prepared  ? "prepared "
      : f.started ? "i"
                  : "",
      stretto::schedule::name(stretto::call::collective_of(f.collective)), f.in_place ? " in place" : "",
      static_cast<int>(f.type), static_cast<int>(f.op), f.count, f.counts, f.gap, f.root, f.schedule, f.options.bound,
      static_cast<int>(f.options.bound_kind), static_cast<int>(f.options.scope), static_cast<int>(f.options.payload),
      f.options.segment, f.options.check, f.options.reproducible, f.wavy ? "a wave" : "noise");
}

}  // namespace api_test
