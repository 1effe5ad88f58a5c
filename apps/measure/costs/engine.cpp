#include <algorithm>
#include <bit>
#include <memory>
#include <stdexcept>

#include "api/communicator.hpp"
#include "costs/exchange.hpp"
#include "costs/parts.hpp"
#include "engine/engine.hpp"
#include "schedule/registry.hpp"

namespace stretto::measure {
namespace {

constexpr int kTag = 300;           // tag of this part's messages alone
constexpr std::size_t kValues = 2;  // floats of the smallest ring on two ranks: one per block

// Allreduce schedule between two of the ranks.
schedule::Schedule smallest_ring(const Ranks& ranks, std::pair<int, int> pair) {
  schedule::Request request;
  request.ranks = 2;
  request.rank = ranks.rank == pair.first ? 0 : 1;
  schedule::Schedule ring = schedule::find(schedule::Collective::allreduce, "ring")->build(request);
  ring.ranks = ranks.size;
  ring.rank = ranks.rank;
  for (schedule::Step& step : ring.steps)
    if (step.peer >= 0) step.peer = step.peer == 0 ? pair.first : pair.second;
  return ring;
}

// Seconds of the smallest ring allreduce between this rank and `peer`. Uses its own engine on the communicator's
// carrier, which is otherwise idle, so that the communicator counts no runs unknown to other ranks.
double ring_seconds(const World& world, int peer, bool first, const schedule::Schedule& built, const Budget& budget) {
  engine::Engine engine(*world.comm()->carriers.data);
  const float in[kValues] = {1, 2};
  float out[kValues] = {};
  engine::Work call;
  call.schedule = std::make_shared<const schedule::Schedule>(built);
  call.payload.type = payload::Type::f32;
  for (int b = 0; b < built.blocks; ++b)
    call.blocks.push_back({kValues / static_cast<std::size_t>(built.blocks), &in[b], &out[b]});
  // The first rank chooses the number of repetitions for both.
  const auto once = [&] { must(engine.run(call)); };
  once();
  double start = now();
  once();
  const int mine = budget.samples(now() - start);
  int theirs = 0;
  world.shift(peer, &mine, peer, &theirs, sizeof mine, kTag);
  const int count = first ? mine : theirs;
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) {
    start = now();
    once();
    samples.push_back(now() - start);
  }
  return summary(samples).median;
}

// Cost of a step beside its bytes: the smallest ring's time less that of its messages, divided by the steps of a rank.
void step(const Job& job) {
  const Ranks& ranks = job.ranks;
  auto [a, b] = ranks.pair_inside();
  if (a < 0) std::tie(a, b) = ranks.pair_between();
  const bool first = ranks.rank == a, active = first || ranks.rank == b;
  const Budget budget{job.seconds(0.3), 50, 20000};
  double message = 0, ring = 0;
  const schedule::Schedule built = smallest_ring(ranks, {a, b});
  ranks.while_quiet(active, [&] {
    const auto cpus = job.machine.cpus();
    const Bound bound(job.machine, cpus.size() < 2 || ranks.hosts > 1 ? -1 : cpus[first ? 0 : 1]);
    PingPong pingpong(ranks.world, first ? b : a, first, sizeof(float), 0);
    message = pingpong.measure(sizeof(float), Buffers::reused, budget).median;
    ring = ring_seconds(ranks.world, first ? b : a, first, built, budget);
  });
  message = ranks.from(a, message);
  ring = ranks.from(a, ring);
  const auto steps = static_cast<double>(built.steps.size());
  const double rounds = static_cast<double>(std::count_if(
      built.steps.begin(), built.steps.end(), [](const auto& s) { return s.kind == schedule::Kind::send; }));
  job.report.row({{"operation", "step"},
                  {"seconds", std::max(0.0, ring - rounds * message) / steps},
                  {"ring", ring},
                  {"message", message},
                  {"rounds", rounds},
                  {"steps", steps}});
  job.report.step();
}

// A stretto barrier is just the agreement; it has the rounds of recursive doubling.
void agreement(const Job& job) {
  const Ranks& ranks = job.ranks;
  const Budget budget{job.seconds(0.3), 20, 20000};
  const auto once = [&] { must(stretto_barrier(ranks.world.comm(), nullptr)); };
  once();
  double start = now();
  once();
  const int count = ranks.from(0, budget.samples(now() - start));
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) {
    start = now();
    once();
    samples.push_back(now() - start);
  }
  const double barrier = ranks.from(0, summary(samples).median);
  const auto size = static_cast<unsigned>(ranks.size);
  const int rounds = static_cast<int>(std::bit_width(size)) - 1 + (std::has_single_bit(size) ? 0 : 2);
  job.report.row({{"operation", "agreement"}, {"seconds", barrier / rounds}, {"barrier", barrier}, {"rounds", rounds}});
  job.report.step();
}

}  // namespace

void engine(const Job& job) {
  job.report.begin(Part::engine, 2);
  step(job);
  agreement(job);
}

}  // namespace stretto::measure
