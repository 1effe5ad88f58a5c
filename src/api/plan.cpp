#include "api/plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "api/arguments.hpp"
#include "api/payloads.hpp"
#include "api/types.hpp"
#include "base/float_environment.hpp"
#include "codec/format.hpp"
#include "engine/binding.hpp"
#include "schedule/registry.hpp"

namespace stretto::api {

namespace {

// Bytes of the whole vector, the same on every rank; of a row where each pair of ranks has a block.
std::size_t vector_bytes(const Call& c, int ranks) noexcept {
  if (c.collective == Collective::barrier) return 0;
  std::size_t n = c.count;
  if (counts_by_pair(c.collective))
    n = c.largest;
  else if (!c.counts.empty())
    n = std::accumulate(c.counts.begin(), c.counts.end(), std::size_t{0});
  else if (c.collective != Collective::allreduce && c.collective != Collective::allreduce_multi &&
           c.collective != Collective::reduce && c.collective != Collective::bcast)
    n *= static_cast<std::size_t>(ranks);
  return n * stretto_type_size(c.type);
}

// Streams may travel: a bound allows it, or a payload of streams asks for it where types are lossless. A native collective that is forced
// moves values as they are, unless it is the node's and a payload is forced with it.
bool may_compress(const Call& c) noexcept {
  const stretto_options& o = c.settings.options;
  if (c.collective == Collective::barrier || o.payload == STRETTO_PAYLOAD_RAW) return false;
  const auto forced = forced_native(c);
  if (forced && (*forced != model::Provider::node || o.payload == STRETTO_PAYLOAD_AUTO)) return false;
  return o.bound_kind != STRETTO_BOUND_NONE || o.payload > STRETTO_PAYLOAD_RAW;
}

payload::Spec spec_of(const Call& call, const Terms& terms, const Agreed& agreed, double eps) noexcept {
  payload::Spec spec;
  spec.kind = terms.kind;
  spec.type = payload_type(call.type);
  spec.op = reduces(call.collective) ? payload_op(call.op) : payload::Op::sum;
  spec.eps = eps;
  if (call.settings.options.bound_kind == STRETTO_BOUND_RELATIVE && eps > 0) {
    const codec::Interval range = codec::bounded_range(agreed.values);
    spec.magnitude = std::max(std::fabs(range.lo), std::fabs(range.hi));
  }
  return spec;
}

// Of sums of as many values as each host has ranks.
double roundings_inside(const schedule::Groups& groups) noexcept {
  double n = 0;
  for (const auto& members : groups.members) n += roundings(static_cast<double>(members.size()));
  return n;
}

// Enumerations and the root are what they should be.
bool fit_to_choose(const Call& c, int ranks) noexcept {
  const auto payload = int(c.settings.options.payload);
  return is_type(c.type) && (!reduces(c.collective) || is_op(c.op)) &&
         (!rooted(c.collective) || (c.root >= 0 && c.root < ranks)) && payload >= STRETTO_PAYLOAD_AUTO &&
         payload <= STRETTO_PAYLOAD_MIXED;
}

// Of blocks that are far from equal, from where on one is worth a ring in segments; and how long these are.
constexpr std::size_t uneven = 4, ring_segment = std::size_t{64} << 10;

// The engine keeps a few hundred bytes for each segment, and posts the receives of all that land where they belong at once.
constexpr std::size_t most_segments = std::size_t{1} << 12;

// The model takes blocks to be of one length. What it chose among ours gives way to what does well with these counts.
void suit_counts(const Call& c, std::size_t bytes, Choice* choice) {
  if (choice->native || !c.settings.schedule.empty()) return;
  // A rank knows the lengths of its own blocks alone.
  if (counts_by_pair(c.collective) && schedule::passes_blocks_on(schedule_collective(c.collective), choice->schedule))
    choice->schedule = "linear", choice->why = {.reason = Reason::counts};
  // Whatever the counts, a ring in segments takes what its busiest link has to carry, and once around.
  if ((c.collective != Collective::allgatherv && c.collective != Collective::reduce_scatter) || needs_order(c)) return;
  const std::size_t p = c.counts.size(), most = *std::max_element(c.counts.begin(), c.counts.end());
  if (rank_by_rank(c) && choice->kind == payload::Kind::raw) return;
  if (choice->raw_inside || most * stretto_type_size(c.type) < bytes / p * uneven || bytes < p * ring_segment * uneven)
    return;
  choice->schedule = "ring";
  choice->why = {.reason = Reason::counts};
  choice->segment = c.settings.options.segment > 0 ? c.settings.options.segment : ring_segment;
}

}  // namespace

std::size_t segment_for(const Call& call, const Choice& choice, payload::Kind kind, std::size_t bytes,
                        std::size_t ranks, std::size_t eager_limit) noexcept {
  const bool fits = choice.segment > 0 && choice.segment <= eager_limit;
  if (kind != payload::Kind::raw || eager_limit == 0 || fits || call.settings.options.segment > 0)
    return choice.segment;
  // Of an alltoall `bytes` is what one rank sends, and all ranks' blocks are cut.
  const std::size_t rows = counts_by_pair(call.collective) || call.collective == Collective::alltoall ? ranks : 1;
  return bytes / eager_limit < most_segments / rows ? eager_limit : choice.segment;
}

Status fit_segment(const Call& call, std::size_t bytes, std::size_t grain, std::uint32_t messages,
                   std::size_t* segment) noexcept {
  const std::size_t most = messages / most_passes;
  const std::size_t piece = std::max(*segment - *segment % grain, grain);
  if (*segment == 0 || bytes / piece < most) return Status::ok;
  const std::size_t least = (bytes / most / grain + 1) * grain;
  if (call.settings.options.segment > 0)
    return fail(Status::invalid_argument, "segments of {} bytes of {}: too many to be numbered; at least {} bytes each",
                call.settings.options.segment, bytes, least);
  *segment = least;
  return Status::ok;
}

Prospect prospect_of(const Call& call, stretto_comm_s& comm) noexcept {
  const FloatEnvironment environment;
  const stretto_options& o = call.settings.options;
  const bool open_counts = counts_at_root(call.collective) || counts_by_pair(call.collective);
  Prospect p;
  // One rank agrees with itself.
  const bool checks = o.check && comm.size > 1;
  p.exchange = open_counts || call.collective == Collective::allreduce_multi;
  bool meets = false;
  const bool streams = may_compress(call);
  const bool relative = o.bound_kind == STRETTO_BOUND_RELATIVE && is_floating(call.type);
  p.ratio = streams ? usual_ratio : 1;
  const bool rounded = rounds(call, comm.size);
  p.range = (streams && relative) || rounded;
  try {
    if (!open_counts && fit_to_choose(call, comm.size)) {
      const Served serves = comm.carriers.natives.serve(call);
      const std::size_t bytes = vector_bytes(call, comm.size);
      const auto may_stream = [&](double ratio) { return comm.choices.may_stream(call, bytes, ratio, serves); };
      const std::optional<double> known = streams ? comm.ratios.recall(call, bytes) : std::nullopt;
      const bool open = streams && o.payload == STRETTO_PAYLOAD_AUTO && call.collective != Collective::allreduce_multi;
      if (open && !may_stream(best_ratio)) {
        p.ratio = best_ratio;  // not even then a stream
        p.range = rounded;
      } else if (open) {
        p.sample = o.check || !known;
        p.ratio = known.value_or(usual_ratio);
        p.range = rounded || (p.range && (p.sample || may_stream(p.ratio)));
      }
      p.exchange = p.exchange || p.range || p.sample;
      Trial trial = 0;
      const Choice& c = call.nonblocking
                            ? comm.choices.choose(call, bytes, streams, p.ratio, serves)
                            : comm.choices.turn(call, bytes, streams, p.ratio, serves, false, &trial, &p.unasked);
      // The ranks begin a turn of a trial together: who comes early would measure the others.
      meets = comm.choices.meets(trial);
      const bool straight =
          !p.exchange && trial == 0 && c.native && c.kind == payload::Kind::raw && (!checks || agrees_near(call, comm));
      if (straight) {
        p.straight = comm.carriers.natives.of(c.provider, c.otherwise);
        p.why = c.why;
      }
    } else {
      p.exchange = p.exchange || p.range;
    }
    p.only_alike = checks && !p.exchange;
    p.exchange = p.exchange || checks || meets;
  } catch (...) {
    p.known = false;
  }
  return p;
}

bool agrees_near(const Call& call, const stretto_comm_s& comm) noexcept {
  return call.settings.options.check && comm.size > 1 && comm.carriers.natives.node && !call.nonblocking && !call.met;
}

void remember(const Call& call, double ratio, stretto_comm_s& comm) noexcept {
  if (ratio > 0 && !call.nonblocking) comm.ratios.remember(call, vector_bytes(call, comm.size), ratio);
}

Status make_plan(const Call& call, const Agreed& agreed, stretto_comm_s& comm, Plan* plan) noexcept {
  const FloatEnvironment environment;
  try {
    const int rank = comm.rank, ranks = comm.size;
    const stretto_options& o = call.settings.options;
    const bool multi = call.collective == Collective::allreduce_multi;
    plan->contributions =
        reduces(call.collective) ? (multi ? agreed.contributions : static_cast<std::uint64_t>(ranks)) : 1;
    if (multi && plan->contributions == 0)
      return fail(Status::invalid_argument, "no rank gives a contribution: k is 0 on all {} ranks", ranks);
    if (plan->contributions > 0x7fffffffu)
      return fail(Status::unsupported, "{} contributions; at most 2147483647", plan->contributions);

    bool streams = may_compress(call);
    const std::size_t bytes = vector_bytes(call, ranks);
    const Served serves = comm.carriers.natives.serve(call);
    plan->ratio = agreed.ratio > 0 ? agreed.ratio : call.prospect.ratio;
    const auto terms_of = [&](const Choice& c) {
      const int hosts = c.raw_inside ? comm.choices.hosts() : 0;
      return Terms{hosts == 1 ? payload::Kind::raw : c.kind,
                   plan->contributions,
                   ranks,
                   hosts,
                   c.raw_below > 0,
                   hosts > 1 ? roundings_inside(comm.choices.groups()) : 0};
    };
    const bool codes = streams && adds_codes_alone(call, agreed, plan->contributions, ranks);
    const auto chosen = [&](double ratio) {
      const Streaming may{streams, codes};
      Choice c = call.nonblocking ? comm.choices.choose(call, bytes, may, ratio, serves)
                                  : comm.choices.turn(call, bytes, may, ratio, serves, true, &plan->trial);
      // One addition is within any bound, however large the values are; short raw messages beside streams would round once more.
      if (bounds_sum(call) && !call.prospect.range) c.raw_below = 0;
      return c;
    };
    Choice choice = chosen(plan->ratio);
    Terms terms = terms_of(choice);
    if (Status s = eps_of(call, terms, agreed, &plan->eps); s != Status::ok) return s;
    if (terms.kind != payload::Kind::raw && is_floating(call.type) && plan->eps == 0) {
      streams = false;  // only exact values will do
      choice = chosen(1);
      terms = terms_of(choice);
    }
    suit_counts(call, bytes, &choice);
    plan->why = choice.why;
    if (plan->trial) plan->why.reason = Reason::turn;
    if (!streams || terms.kind == payload::Kind::raw) plan->ratio = 1;
    if (terms.kind == payload::Kind::raw) plan->eps = 0;
    plan->promised = promised(call, terms, agreed, plan->eps);
    if (choice.native) {
      plan->native = comm.carriers.natives.of(choice.provider, choice.otherwise);
      plan->payload = payload_of(terms.kind);
      if (terms.kind != payload::Kind::raw) plan->call.payload = spec_of(call, terms, agreed, plan->eps);
      if (terms.kind == payload::Kind::raw ? serves.by(choice.provider) : serves.streams) return Status::ok;
      return fail(Status::unsupported, "{} has no {} of these counts",
                  choice.provider == model::Provider::node ? "the host's memory" : "the MPI",
                  collective_name(call.collective));
    }
    plan->mixed = terms.kind != payload::Kind::raw && terms.hosts > 0;
    plan->payload = plan->mixed ? STRETTO_PAYLOAD_MIXED : payload_of(terms.kind);
    if (plan->mixed && reduces(call.collective)) plan->contributions = static_cast<std::uint64_t>(terms.hosts);

    plan->raw_below = terms.kind != payload::Kind::raw ? choice.raw_below : 0;

    engine::Call& e = plan->call;
    e.payload = spec_of(call, terms, agreed, plan->eps);
    e.payload.nodes = plan->mixed ? terms.hosts : 0;
    e.payload.raw_below = plan->raw_below;
    e.options.segment_bytes =
        segment_for(call, choice, terms.kind, bytes, static_cast<std::size_t>(comm.size), comm.choices.eager_limit());
    const std::size_t grain = (terms.kind == payload::Kind::raw ? 1 : codec::kGroup) * stretto_type_size(call.type);
    if (const Status s =
            fit_segment(call, bytes, grain, engine::most_messages(*comm.carriers.data), &e.options.segment_bytes);
        s != Status::ok)
      return s;
    e.options.timeout = timeout_of(o);
    schedule::Request request;
    request.collective = schedule_collective(call.collective);
    request.ranks = ranks;
    request.rank = rank;
    request.root = rooted(call.collective) ? call.root : 0;
    request.blocks = choice.blocks;
    request.radix = choice.radix;
    request.groups = &comm.choices.groups();
    if (const Status s = schedule::check_ranks(request.collective, ranks); s != Status::ok) return s;
    e.schedule = comm.schedules.get(choice.schedule, request);
    if (!e.schedule) return fail(Status::internal, "schedule {} cannot be built", choice.schedule);
    if (Status s = engine::bind(*e.schedule, e.payload.type, engine_arguments(call, rank), &e.blocks); s != Status::ok)
      return s;
    if (multi) {
      e.several = true;
      e.inputs = call.inputs;
      e.contributions = static_cast<std::uint32_t>(plan->contributions);
    }
    return Status::ok;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory to prepare the collective"));
  }
}

}  // namespace stretto::api
