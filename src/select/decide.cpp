#include "select/decide.hpp"

#include <algorithm>
#include <cmath>

#include "base/float_environment.hpp"
#include "base/guarded.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"
#include "call/schedule_names.hpp"
#include "codec/stream/format.hpp"
#include "select/error_bound.hpp"
#include "select/forced.hpp"
#include "select/part_eps.hpp"

namespace stretto::select {

using namespace call;

namespace {

constexpr std::size_t kOftenSampled = std::size_t{256} << 10;      // bytes: a sample is a sixteenth at most
constexpr std::size_t kLongestRawAtFirst = std::size_t{16} << 10;  // bytes: a sample may take as long as the call

// A bound allows streams; for lossless types a payload of streams requests them. A forced native collective moves raw
// values, unless it is the node's with a forced payload. Prefix sums have no streams.
bool may_compress(const Call& c) noexcept {
  const stretto_options& o = c.settings.options;
  if (c.collective == Collective::barrier || schedule::is_prefix(c.collective) || o.payload == STRETTO_PAYLOAD_RAW)
    return false;
  const auto forced = forced_provider(c);
  if (forced && (*forced != Provider::node || o.payload == STRETTO_PAYLOAD_AUTO)) return false;
  return o.bound_kind != STRETTO_BOUND_NONE || o.payload > STRETTO_PAYLOAD_RAW;
}

payload::Spec spec_of(const Call& call, payload::Kind kind, const AgreedValues& agreed, double eps) noexcept {
  payload::Spec spec;
  spec.kind = kind;
  spec.type = payload_type(call.type);
  spec.op = reduces(call.collective) ? payload_op(call.op) : payload::Op::sum;
  spec.eps = eps;
  if (call.settings.options.bound_kind == STRETTO_BOUND_RELATIVE && eps > 0) {
    const codec::Interval& range = agreed.values.below;
    spec.magnitude = std::max(std::fabs(range.lo), std::fabs(range.hi));
  }
  return spec;
}

double roundings_inside(const schedule::Groups& groups) noexcept {
  double n = 0;
  for (const auto& members : groups.members) n += roundings(static_cast<double>(members.size()));
  return n;
}

bool fit_to_choose(const Call& c, int ranks) noexcept {
  return is_type(c.type) && (!reduces(c.collective) || is_op(c.op)) &&
         (!rooted(c.collective) || (c.root >= 0 && c.root < ranks)) && is_payload(c.settings.options.payload) &&
         c.settings.options.coding >= STRETTO_CODING_AUTO && c.settings.options.coding <= STRETTO_CODING_DENSE;
}

Terms terms_of(const Decision& d, int ranks, const schedule::Groups& groups) noexcept {
  Terms t;
  t.hosts = d.choice.raw_inside ? static_cast<int>(groups.members.size()) : 0;
  t.kind = t.hosts == 1 ? payload::Kind::raw : d.choice.payload;
  t.contributions = d.inputs;
  t.ranks = ranks;
  t.inside = t.hosts > 1 ? roundings_inside(groups) : 0;
  t.some_raw = d.choice.raw_below > 0;
  return t;
}

}  // namespace

Selector::Selector(std::shared_ptr<SharedChooser> chooser, int ranks, std::uint32_t messages)
    : choices_(chooser), splits_(std::move(chooser)), ranks_(ranks), limits_{choices_.eager_limit(), messages} {}

// Unfit arguments set only the needs that all ranks have.
Decision Selector::decide(const Call& call, Support support) noexcept {
  const FloatEnvironment environment;
  const stretto_options& o = call.settings.options;
  Decision d;
  Needs& needs = d.needs;
  needs.check = o.check && ranks_ > 1;  // a single rank agrees with itself
  const bool multi = call.collective == Collective::allreduce_multi;
  const bool open_counts = counts_at_root(call.collective) || counts_by_pair(call.collective);
  needs.counts = open_counts || multi;
  const bool streams = may_compress(call), rounded = rounds(call, ranks_);
  const bool relative = o.bound_kind == STRETTO_BOUND_RELATIVE && is_floating(call.type);
  needs.range = (streams && relative) || rounded;
  d.ratio = streams ? kUsualRatio : 1;
  d.shrinks = {kUsualRatio, 0};  // a forced payload takes no sample: the gain of dense streams is unknown
  if (streams && is_compressed(o.payload) && !keeps_bound(o.payload)) d.ratio = d.shrinks.fixed = kHalfRatio;
  if (open_counts || !fit_to_choose(call, ranks_)) return d;
  d.known = attempt([&] {
    const std::size_t bytes = vector_bytes(call, ranks_);
    if (bounded_by_lines(call, support)) {
      needs.range = false;
      d.shrinks = kUsualRatios;
    } else if (streams && o.payload == STRETTO_PAYLOAD_AUTO && !multi) {
      const auto may_stream = [&](const Shrinks& ratios) {
        return choices_.choose(call, bytes, {true}, ratios, support).payload != payload::Kind::raw;
      };
      if (!may_stream(kBestRatios)) {
        d.ratio = kBestRatio;  // not even this ratio makes streams worthwhile
        d.shrinks = kBestRatios;
        needs.range = rounded;
      } else {
        const std::optional<Shrinks> known = ratios_.recall(call, bytes);
        d.raw_at_first = bytes <= kLongestRawAtFirst && !rounded && !call.nonblocking && ratios_.has_room(call, bytes);
        d.shrinks = known.value_or(kUsualRatios);
        needs.sample = !d.raw_at_first &&
                       (!known || (o.check && (call.nonblocking || samples_again(call, bytes, support, d.shrinks))));
        d.samples_later = d.raw_at_first || (o.check && !needs.sample);
        d.ratio = d.raw_at_first ? 1 : d.shrinks.fixed;
        needs.range = rounded || (needs.range && !d.raw_at_first && (needs.sample || may_stream(d.shrinks)));
      }
    }
    d.made = !needs.values();
    if (d.made) choose(call, bytes, {streams && !d.raw_at_first}, support, &d);
  });
  return d;
}

bool Selector::bounded_by_lines(const Call& call, Support support) {
  if (!support.nodes_streams || reduces(call.collective) || !may_compress(call)) return false;
  return choices_.choose(call, vector_bytes(call, ranks_), {true}, kUsualRatios, support).through_nodes();
}

// A sample of a short vector takes as long as its stream. Trials need samples.
bool Selector::samples_again(const Call& call, std::size_t bytes, Support support, const Shrinks& known) {
  return bytes >= kOftenSampled || ratios_.is_due(call, bytes) ||
         choices_.choose(call, bytes, {true}, known, support).coding == codec::Coding::dense;
}

void Selector::choose(const Call& call, std::size_t bytes, Streaming streaming, Support support, Decision* d) {
  // Started calls run in the node's memory in their order, but agreements end in any order.
  if (call.nonblocking && d->needs.values()) support.node = support.streams = false;
  // Without an exchange another rank may have a device, whose streams are fixed unless forced.
  const bool forced = call.settings.options.coding == STRETTO_CODING_DENSE;
  if (forced && d->shrinks.dense <= 0) d->shrinks = kUsualRatios;
  Shrinks ratios = d->shrinks;
  if (!forced && !d->needs.any()) ratios.dense = 0;
  d->choice = choices_.choose(call, bytes, streaming, ratios, support);
  const stretto_options& o = call.settings.options;
  d->trial = d->needs.sample && !call.nonblocking && o.coding == STRETTO_CODING_AUTO && !o.reproducible &&
             d->choice.coding == codec::Coding::dense && d->streams();
  if (!d->trial) return;
  constexpr double much = 0.75;  // of the time of fixed streams
  bool measured = false, warms_up = false;
  const codec::Coding coding = trials_.next(call, bytes, &measured, &warms_up);
  if (coding == codec::Coding::fixed || warms_up) {
    ratios.dense = 0;
    const Choice fixed = choices_.choose(call, bytes, streaming, ratios, support);
    if (coding == codec::Coding::fixed || d->choice.seconds > much * fixed.seconds) d->choice = fixed;
  }
  if (measured) d->choice.why.reason = Reason::measured;
}

Status Selector::complete(const Call& call, const AgreedValues& agreed, Support support, Decision* d) noexcept {
  const FloatEnvironment environment;
  return guarded("to choose how the collective runs", [&] {
    const bool multi = call.collective == Collective::allreduce_multi;
    if (reduces(call.collective)) d->inputs = multi ? agreed.contributions : static_cast<std::uint64_t>(ranks_);
    if (d->inputs == 0)
      return fail(Status::invalid_argument, "no rank gives a contribution: k is 0 on all {} ranks", ranks_);
    if (d->inputs > 0x7fffffffu) return fail(Status::unsupported, "{} contributions; at most 2147483647", d->inputs);
    const std::size_t bytes = vector_bytes(call, ranks_);
    if (agreed.ratios.fixed > 0) {
      d->shrinks = agreed.ratios;
      d->ratio = agreed.ratios.fixed;
    }
    const bool relative = call.settings.options.bound_kind == STRETTO_BOUND_RELATIVE && is_floating(call.type);
    bool streams = may_compress(call) && !d->raw_at_first && (d->needs.range || !relative);
    d->bound.absolute = absolute_bound(call, agreed);
    if (streams && d->needs.range && d->bound.absolute == 0 && is_floating(call.type)) {  // exact values
      streams = false;
      d->ratio = 1;
    }
    if (!d->made || !support.by(d->choice.provider))  // the node's memory may have ended since
      choose(call, bytes, {streams, streams && adds_codes_alone(call, agreed, d->bound.absolute, d->inputs, ranks_)},
             support, d);
    d->made = true;
    suit_counts(call, bytes, &d->choice);
    return settle(call, agreed, support, bytes, d);
  });
}

Status Selector::settle(const Call& call, const AgreedValues& agreed, Support support, std::size_t bytes, Decision* d) {
  Choice& c = d->choice;
  const Terms terms = terms_of(*d, ranks_, choices_.groups());
  if (const Status s = divide(call, terms, agreed, d->needs.range, &d->bound); s != Status::ok) return s;
  c.payload = terms.kind;
  const bool raw = !d->streams();
  if (!raw) {
    const std::vector<stretto_part>& parts = call.settings.parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!(eps_of_part(d->bound.eps, call.settings.options.bound, parts[i].bound) > 0))
        return fail(Status::invalid_bound, "bound {} of part {} leaves nothing for each of {} contributions",
                    parts[i].bound, i, terms.contributions);
    }
  }
  if (raw) {
    d->ratio = 1;
    c.raw_below = 0;
  }
  d->contributions = d->inputs;
  d->payload = payload_of(c.payload);
  d->spec = spec_of(call, c.payload, agreed, d->bound.eps);
  const bool through_nodes = c.through_nodes();
  if (through_nodes && !(raw ? support.nodes : support.nodes_streams))
    return fail(Status::unsupported, "the memory of several hosts has no {} of these values", name(call.collective));
  if (c.provider != Provider::schedules && !through_nodes) {
    if (call.nonblocking && c.provider == Provider::node && d->needs.values())
      return fail(Status::unsupported, "{} starts no {} whose ranks exchange values first", call::kNodeName,
                  name(call.collective));
    if (raw ? support.by(c.provider) : support.streams) return Status::ok;
    return fail(Status::unsupported, "{} has no {} of these counts",
                c.provider == Provider::node ? "the host's memory" : "the MPI", name(call.collective));
  }
  if (!raw && terms.hosts > 0) {
    d->hosts = terms.hosts;
    const bool bounded = payload::keeps_bound(c.payload);
    if (bounded) d->payload = STRETTO_PAYLOAD_MIXED;
    if (bounded && reduces(call.collective)) d->contributions = static_cast<std::uint64_t>(terms.hosts);
  }
  d->spec.codes = codes_;
  d->spec.coding = raw ? codec::Coding::fixed : c.coding;
  if (d->spec.coding == codec::Coding::dense) d->ratio = d->shrinks.dense;
  d->spec.nodes = d->hosts;
  d->spec.raw_below = c.raw_below;
  // A device's segment costs more than a rendezvous.
  const std::size_t eager_limit = support.device ? 0 : limits_.eager_limit;
  c.segment = segment_for(call, c, bytes, static_cast<std::size_t>(ranks_), eager_limit);
  const std::size_t grain = (raw ? 1 : codec::kGroup) * stretto_type_size(call.type);
  return fit_segment(call, bytes, grain, limits_.messages, &c.segment);
}

int Selector::split(const Call& call, const Choice& choice, int comm_cores) noexcept {
  return splits_.of(call, vector_bytes(call, ranks_), choice, comm_cores);
}

std::uint64_t Selector::took(const Call& call) const noexcept { return trials_.took(call, vector_bytes(call, ranks_)); }

void Selector::ran(const Call& call, double seconds) noexcept {
  trials_.ran(call, vector_bytes(call, ranks_), seconds);
}

void Selector::learn(const Call& call, std::uint64_t nanoseconds) noexcept {
  if (!call.nonblocking) trials_.learn(call, vector_bytes(call, ranks_), nanoseconds);
}

void Selector::remember(const Call& call, const Shrinks& ratios, const Decision& decision) noexcept {
  if (!call.nonblocking) ratios_.remember(call, vector_bytes(call, ranks_), ratios, decision.samples_later);
}

}  // namespace stretto::select
