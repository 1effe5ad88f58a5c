#include "mpi/calls/decide.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "api/profiling.hpp"
#include "call/enums.hpp"
#include "carrier/watchdog.hpp"
#include "mpi/calls/device.hpp"
#include "mpi/calls/recursion_guard.hpp"
#include "mpi/requests/started.hpp"
#include "mpi/settings/call_site.hpp"

namespace stretto::mpi {
namespace {

// Collectives in attribute functions belong to the MPI.
bool made(MPI_Comm comm, Communicator* c, const Settings& settings) {
  const RecursionGuard guard;
  return make(comm, c, settings.timeout);
}

// A rule that says how to serve the call needs no proof that serving pays.
bool used_enough(MPI_Comm comm, Communicator* c, const Decision& d, const Settings& settings) noexcept {
  if (c->use < kUseBeforeMaking) return false;
  const RecursionGuard guard;
  return is_due(comm, c, !d.ruled, settings.timeout);
}

// Streams make no shorter vector faster, and the MPI's sum needs no agreement on the magnitude of values.
constexpr std::int64_t kLongestBrief = 1024;
// Calls that a link between hosts passes while ranks agree stay exact, unless a rule gives the bound or sums are
// reproducible: a link's speed is measured anew in each run. Before it is known, the link is taken to pass so many
// bytes while ranks agree.
constexpr std::int64_t kBriefAtFirst = 16 << 10;

bool has_blocks(Function f) noexcept {
  return f == Function::allgather || f == Function::alltoall || f == Function::gather || f == Function::scatter;
}

// Calls that move blocks count those of all ranks, four times as many: so the MPI took less time with 2 to 8 ranks.
bool is_brief(const WrappedCall& call, const Communicator& c, std::int64_t bytes, bool by_link) noexcept {
  if (bytes <= kLongestBrief || !by_link) return bytes <= kLongestBrief;
  const std::int64_t most = c.comm ? static_cast<std::int64_t>(c.comm->longest_brief()) : kBriefAtFirst;
  return bytes <= most && (!has_blocks(call.operation) || bytes * c.size <= 4 * most);
}

// A bound for a call that is no sum. Ranks may name data of one signature by different types, so they compare the call
// first; the MPI moves data where some types are not floating-point.
void bound_others(const WrappedCall& call, bool wanted, Decision* d) noexcept {
  Shape& shape = d->shape;
  if (wanted && shape.floating_extreme) return;
  d->compares = wanted && shape.moves && call.form == Form::blocking;
  if (!d->compares || !shape.moved) d->kind = Action::Kind::exact;
}

// Messages between hosts state what they hold, so ranks need not compare how they name the data. Data that are not
// floating-point go as integers, which keep all bits.
bool goes_by_lines(const WrappedCall& call, const Settings& settings, Decision* d) {
  static constexpr Element kWords{Nature::integer, STRETTO_I32, 1};
  const Communicator& c = *d->communicator;
  const std::size_t word = stretto_type_size(kWords.type), bytes = static_cast<std::size_t>(d->shape.bytes);
  if (call.operation != Function::alltoall || call.form != Form::blocking || d->shape.bytes <= kLongestBrief ||
      bytes % word != 0 || settings.rules.looks_at_names())
    return false;
  d->may_shrink = !c.comm && d->payload == STRETTO_PAYLOAD_AUTO && d->coding != STRETTO_CODING_DENSE &&
                  bytes * static_cast<std::size_t>(c.size) <= schedule::kLongestCodedVector;
  if (!c.comm || c.memory != Memory::host) return false;
  call::Call as;
  as.collective = call::Collective::alltoall;
  as.type = kWords.type;
  as.count = bytes / word;
  if (d->schedule != nullptr) as.settings.schedule = d->schedule;
  as.settings.options.bound_kind = d->bound.kind;
  as.settings.options.payload = d->payload;
  as.settings.options.coding = d->coding;
  as.settings.options.raw_below = d->raw_below;
  if (!c.comm->bounded_by_lines(as)) return false;
  if (!d->shape.moved) d->shape.moved = &kWords;
  return true;
}

// Payloads without a bound serve float32 alone. Other types of moved data count as none: ranks may name them
// differently, and compare them.
bool takes_halves(Shape* shape) noexcept {
  if (shape->element) return shape->element->type == STRETTO_F32;
  if (shape->moved && shape->moved->type != STRETTO_F32) shape->moved = nullptr;
  return true;
}

bool is_prefix(Function f) noexcept { return f == Function::scan || f == Function::exscan; }

// Rules precede the communicator's bound, and this the bound for all.
void ask_rules(const WrappedCall& call, const Settings& settings, Decision* d) {
  const auto site = [&] { return name_of_site(call.site); };
  const auto comm = [&] { return name_of(call.comm); };
  const std::optional<Bound>& own = d->communicator->bound;
  const Action* rule =
      settings.rules.empty() ? nullptr : settings.rules.find(call.operation, d->shape.bytes, site, comm);
  if (rule) {
    d->kind = rule->kind;
    d->ruled = d->kind == Action::Kind::exact || d->kind == Action::Kind::native;
    d->line = rule->line;
    d->bound = rule->bound;
    d->payload = rule->payload;
    d->coding = rule->coding;
    d->raw_below = rule->raw_below;
    if (!rule->schedule.empty()) d->schedule = rule->schedule.c_str();
  }
  if (d->kind == Action::Kind::usual && (own || settings.bound)) {
    d->kind = Action::Kind::bounded;
    d->bound = own ? *own : *settings.bound;
  }
  if (d->kind != Action::Kind::bounded) return;
  if (is_prefix(call.operation)) {
    d->kind = Action::Kind::exact;
    return;
  }
  if (call::is_compressed(d->payload) && !call::keeps_bound(d->payload) && !takes_halves(&d->shape)) {
    d->kind = Action::Kind::exact;
    return;
  }
  const bool moves = settings.bounds_moves || (rule && rule->moves);
  d->by_lines = moves && goes_by_lines(call, settings, d);
  if (d->by_lines) return;
  const bool by_link = !settings.reproducible && !(rule && rule->kind == Action::Kind::bounded);
  d->brief = d->payload == STRETTO_PAYLOAD_AUTO && is_brief(call, *d->communicator, d->shape.bytes, by_link);
  if (d->brief)
    d->kind = Action::Kind::exact;
  else if (!d->shape.floating_sum)
    bound_others(call, moves, d);
}

// Exact calls on devices stay with the MPI: no measurement shows a gain.
bool wants_ours(const Decision& d) noexcept {
  return d.kind == Action::Kind::bounded || d.fixed || d.compares || (d.schedule && d.kind != Action::Kind::native);
}

// MPI allows GPU memory on some ranks only. Blocking calls agree on it. Started calls may not wait: they assume the
// largest kind, and check before data move.
const char* unless_memory_serves(const WrappedCall& call, const Settings& settings, Decision* d) noexcept {
  if (call.operation == Function::barrier) return nullptr;
  if (d->shape.bytes < kLeastAsked) return "a short call where GPUs are in use";
  Communicator& c = *d->communicator;
  Memory memory = c.memory;
  if (call.form == Form::blocking) {
    const carrier::Limited limited(&c.watchdog, "allreduce", settings.timeout);
    memory = last_of_ranks(memory_of(call, c), call.comm);
  }
  d->device = memory == Memory::device;
  if (d->device && std::exchange(d->compares, false)) d->kind = Action::Kind::exact;
  if (memory == Memory::host || (d->device && wants_ours(*d))) return nullptr;
  return call.form == Form::blocking ? "device memory" : "nonblocking, where GPUs are in use";
}

bool rounds(stretto_type type) noexcept { return type == STRETTO_F32 || type == STRETTO_F64; }

// A sum with equal bits at every call never runs in the MPI.
bool is_fixed(const Shape& shape, const Settings& settings) noexcept {
  return settings.reproducible && shape.element && rounds(shape.element->type);
}

const char* unless_it_may_start(const WrappedCall& call, Decision* d, const Runtime& runtime) {
  const bool names = runtime.settings.rules.looks_at_names();
  // Ranks compare rules by messages.
  if (names && !runtime.any_thread) return "nonblocking, where rules ask for names";
  if (d->communicator->memory != Memory::host)
    if (const char* why = unless_memory_serves(call, runtime.settings, d)) return why;
  return unless_driven(call, runtime.any_thread, d);
}

}  // namespace

Decision decide(const WrappedCall& call, Communicator* communicator, const Runtime& runtime) {
  const Settings& settings = runtime.settings;
  Decision d;
  d.communicator = communicator;
  if (!d.communicator) {
    d.why = "a communicator that the MPI does not know";
    return d;
  }
  Communicator& c = *d.communicator;
  d.why = shape_of(call, c, &d.shape);
  const bool blocks = call.form == Form::blocking;
  if (!blocks && !runtime.cores) d.why = call.form == Form::nonblocking ? "nonblocking" : "persistent";
  if (runtime.apart) d.why = kApartReason;
  if (d.why) return d;
  ask_rules(call, settings, &d);
  d.fixed = is_fixed(d.shape, settings);
  const bool native = d.kind == Action::Kind::native && !blocks;
  d.by_rule = d.kind == Action::Kind::off || native;
  if (d.by_rule) {
    d.why = "a rule";
    return d;
  }
  const bool compares = blocks && settings.rules.looks_at_names();
  if (is_prefix(call.operation) && !d.schedule && !d.fixed && !compares) {
    d.why = "a prefix sum, where neither a schedule nor reproducible sums are asked for";
    return d;
  }
  if (!blocks) {
    d.why = unless_it_may_start(call, &d, runtime);
    return d;
  }
  if (runtime.threads && !c.comm && c.refused.empty() && !c.ready.ready()) {
    d.why = "a communicator that stretto has not made its own for, with MPI_THREAD_MULTIPLE";
    return d;
  }
  // Rules with names may differ between ranks: the first call compares them.
  const bool at_once =
      d.kind == Action::Kind::bounded || d.schedule || d.fixed || d.compares || settings.rules.looks_at_names();
  d.early = !c.comm && c.refused.empty() && !at_once && !used_enough(call.comm, &c, d, settings);
  if (d.early) {
    d.why = d.brief && d.shape.bytes > kLongestBrief ? kBriefReason : "the first calls of a communicator";
  } else if (!made(call.comm, &c, settings)) {
    d.why = c.refused.c_str();
  } else if (c.memory != Memory::host) {
    d.why = unless_memory_serves(call, settings, &d);
  }
  if (d.kind != Action::Kind::bounded) d.shape.moved = nullptr;
  return d;
}

stretto_options options_of(const Decision& d, const Settings& settings, stretto_report* report) {
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.check = settings.rules.looks_at_names() || d.device || d.compares;
  o.timeout = settings.timeout;
  o.reproducible = settings.reproducible;
  o.report = report;
  o.schedule = d.kind == Action::Kind::native ? "native" : d.schedule;
  if (d.kind == Action::Kind::bounded) {
    o.bound_kind = d.bound.kind;
    o.bound = d.bound.value;
    o.scope = d.bound.scope;
    o.payload = d.payload;
    o.coding = d.coding;
    o.raw_below = d.raw_below;
    o.ignore_above = settings.ignore_above;
  }
  return o;
}

std::string rule_of(const Decision& d) { return "rule of line " + std::to_string(d.line); }

std::string asked_by(const Decision& d) {
  if (d.line > 0) return rule_of(d);
  if (d.kind == Action::Kind::bounded) return d.communicator->bound ? "the communicator's bound" : "STRETTO_BOUND";
  if (d.brief && d.shape.bytes > kLongestBrief) return kBriefReason;
  return d.fixed ? "STRETTO_REPRODUCIBLE" : "";
}

std::string path_of(const stretto_report& r) {
  const bool plain = std::string_view(r.payload) == "raw";
  if (plain) return r.algorithm;
  return std::string(r.algorithm) + ", " + r.payload + (r.coding == STRETTO_CODING_DENSE ? ", dense" : "");
}

Tally tally_of(const Decision& d, const stretto_report& r) {
  Tally t;
  t.raw_bytes = static_cast<double>(r.raw_bytes);
  t.sent_bytes = static_cast<double>(r.bytes_sent);
  t.known = r.bytes_known;
  t.promised_error = r.promised_error;
  if (d.kind == Action::Kind::bounded) t.error_with_rounding = r.error_with_rounding;
  t.predicted = r.predicted_seconds;
  t.predicted_mpi = r.mpi_seconds;
  if (r.ignored > 0) t.ignored = {1, r.ignored, r.range_lo, r.range_hi, r.ignored_lo, r.ignored_hi};
  return t;
}

}  // namespace stretto::mpi
