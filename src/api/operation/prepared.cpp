#include "api/operation/prepared.hpp"

#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <new>

#include "api/operation/form.hpp"
#include "api/operation/operation.hpp"
#include "api/operation/words.hpp"
#include "api/report.hpp"
#include "call/agreement.hpp"
#include "select/signature.hpp"

namespace stretto::api {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point t) noexcept { return std::chrono::duration<double>(Clock::now() - t).count(); }

// Timeout and report are each call's own. False: such calls are not kept.
[[gnu::always_inline]] inline bool key_of(const Shape& s, std::uint8_t buffers, const stretto_options& o,
                                          PreparedKey* key) noexcept {
  const auto number = [](auto e) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(e)); };
  const std::uint64_t type = number(s.type), op = number(s.op), bound = number(o.bound_kind), scope = number(o.scope),
                      payload = number(o.payload);
  if (o.size != sizeof o || std::isnan(o.timeout) || o.ignore_above != 0 || o.raw_below != 0 ||
      o.coding != STRETTO_CODING_AUTO || o.parts != nullptr || o.part_count != 0 ||
      (o.report && o.report->size < sizeof o.report->size) || (type | op | bound | scope | payload) > 0xFF)
    return false;
  const auto bit = [](bool b, int at) { return std::uint64_t{b} << at; };
  const std::uint64_t kinds = PreparedKey::kOfOptions | bit(rank_by_rank(s.collective, s.type, s.op, o), 2) |
                              bit(o.schedule != nullptr, 3) | bit(o.reproducible != 0, 4) | bit(o.check != 0, 5);
  key->words = {kinds | number(s.collective) << 8 | type << 16 | op << 24 | std::uint64_t{buffers} << 32 | bound << 40 |
                    scope << 48 | payload << 56,
                number(s.root), s.count, o.bound_kind == STRETTO_BOUND_NONE ? 0 : std::bit_cast<std::uint64_t>(o.bound),
                o.segment};
  return true;
}

// A decided call that blocks in its backend, and the word that its ranks compare first (0: none).
struct AtOnce {
  const Shape& shape;
  const stretto_options& options;
  select::Provider provider;
  select::Rationale why;
  std::uint64_t digest;
  bool carried = false;
};

Status compare_by_messages(stretto_comm_s& comm, const AtOnce& c, const void* send, void* recv, bool* same,
                           engine::Report* ran) noexcept {
  engine::Request request;
  const Status s = comm.agreement.start({.what = schedule::name(c.shape.collective),
                                         .word = word_of(c.digest, {.check = true}, c.carried, comm.unchecked()),
                                         .load = c.carried ? load_of(c.shape, send, recv) : engine::Load{},
                                         .timeout = timeout_of(c.options.timeout),
                                         .same = same},
                                        &request);
  return s == Status::ok ? request.wait(ran) : s;
}

// False: the ranks' words differ, and nothing ran; true: it ran, or the comparison failed.
template <class Run>
[[gnu::noinline]] bool compare_and_run(stretto_comm_s& comm, const AtOnce& c, const Run& run, const void* send,
                                       void* recv, Status* ended) noexcept {
  const stretto_options& o = c.options;
  const Clock::time_point begun = o.report ? Clock::now() : Clock::time_point{};
  bool same = true;
  backend::NodeBackend* const node = comm.backends.node.get();
  engine::Report ran;
  Status s = Status::ok;
  if (c.digest == 0)
    comm.count_unchecked();
  else
    s = node ? node->agree(c.digest, o.timeout, &same) : compare_by_messages(comm, c, send, recv, &same, &ran);
  const bool other_forms = node && s == Status::incompatible && !node->differed();
  if (other_forms || (s == Status::ok && !same)) return false;  // the exchange tells what differs
  const double agree_seconds = o.report && c.digest != 0 && !c.carried ? seconds_since(begun) : 0;
  const bool moves = c.digest == 0 || c.shape.collective != Collective::barrier || o.schedule != nullptr;
  if (s == Status::ok && moves && !c.carried) s = run();
  if (s != Status::ok) comm.give_up(s, message());
  if (s == Status::ok && o.report) {
    select::Decision d;
    d.choice.provider = c.provider;
    d.choice.why = c.why;
    complete_raw(comm, c.shape, c.carried, &d, &ran);
    report({.comm = comm,
            .shape = c.shape,
            .options = o,
            .decision = d,
            .moved = moves,
            .ran = c.carried ? &ran : nullptr,
            .result = recv,
            .agree_seconds = agree_seconds,
            .seconds = seconds_since(begun)});
  }
  *ended = s;
  return true;
}

// The arguments are checked. True: the call ran, and *ended is its status. False: an Operation must run it; only words
// may have been *compared.
bool run_at_once(stretto_comm_s& comm, const Call& call, const select::Decision& d, const PreparedName* as,
                 Status* ended, bool* compared) noexcept {
  const bool carried = travels_with_word(comm, call, d);
  const bool at_once = carried || (d.choice.through_nodes() ? comm.backends.nodes->runs_at_once(call, d)
                                                            : d.choice.provider != Provider::schedules);
  // Coded blocks need no bound of the decision's. An Operation reports what their streams saved.
  const bool streams = d.streams() && !(d.choice.through_nodes() && call.settings.options.report == nullptr);
  const bool decided = d.made && !d.samples_later && at_once && !streams;
  if (!decided || !comm.is_free()) return false;
  // Values are merged, or an Operation counts the messages.
  const bool waits = d.needs.values() || (d.choice.through_nodes() && !carried);
  if (waits && d.needs.check && agrees_by_messages(comm)) return false;
  const std::uint64_t digest =
      d.needs.check ? call::digest(select::signature_of(call, d.needs, Status::ok, comm.rank, comm.size)) : 0;
  const Shape shape = shape_of(call);
  stretto_options o = call.settings.options;
  o.schedule = call.settings.schedule.empty() ? nullptr : call.settings.schedule.c_str();
  PreparedName own;
  if (!as && key_of(shape, buffers_kind(call.send, call.recv), o, &own.key)) as = &own;
  if (as) comm.prepared.keep(comm, *as, call, d, digest, carried);
  const auto run = [&] {
    engine::Report ran;
    return comm.backends.of(d.choice.provider).run(call, d, &ran);
  };
  *compared = !compare_and_run(comm, {shape, o, d.choice.provider, d.choice.why, digest, carried}, run, call.send,
                               call.recv, ended);
  return !*compared;
}

}  // namespace

[[gnu::hot]] bool PreparedCalls::again(stretto_comm_s& comm, Collective collective, stretto_type type, stretto_op op,
                                       int root, std::size_t count, const void* send, void* recv,
                                       const stretto_options* options, Status* ended, bool* compared) noexcept {
  static constexpr stretto_options kDefaults = STRETTO_OPTIONS_INIT;
  const stretto_options& o = options ? *options : kDefaults;
  const Shape shape{collective, false, type, op, root, count};
  PreparedKey key;
  if (!comm.is_free() || !lines_ || !key_of(shape, buffers_kind(send, recv), o, &key)) return false;
  const Line* const line = find(key);
  if (!line) return false;
  if (o.schedule && std::strcmp(o.schedule, comm.backends.of(line->provider).name()) != 0) return false;
  if (o.bound_kind != STRETTO_BOUND_NONE && line->ratios != comm.selector.ratios().changes()) return false;
  if (o.report && (line->why.lacks_prediction() || o.bound_kind != STRETTO_BOUND_NONE)) return false;
  if (line->digest != 0 || o.report) [[unlikely]] {
    const auto run = [=, &o] { return line->call->run(send, recv, o.timeout); };
    *compared = !compare_and_run(comm, {shape, o, line->provider, line->why, line->digest, line->carried}, run, send,
                                 recv, ended);
    return !*compared;
  }
  *ended = line->run(comm, send, recv, o.timeout);
  return true;
}

void PreparedCalls::keep(const stretto_comm_s& comm, const PreparedName& as, const Call& call,
                         const select::Decision& d, std::uint64_t digest, bool carried) noexcept {
  if (!call.counts.empty() || !call.inputs.empty() || (reduces(call.collective) && call.op == STRETTO_USER)) return;
  if (!lines_) lines_.reset(new (std::nothrow) std::array<Line, kLines>);
  if (!lines_) return;
  std::unique_ptr<backend::PreparedCall> prepared;
  if (!carried) prepared = comm.backends.of(d.choice.provider).prepare(call, d);
  if (!carried && !prepared) return;
  const std::size_t at = as.key.hash();
  Line& first = (*lines_)[at];
  if (first.key.words[0] != 0 && !(first.key == as.key)) (*lines_)[at ^ 1] = std::move(first);
  first = {.key = as.key,
           .call = std::move(prepared),
           .extent = as.extent,
           .buffers = buffers_kind(call.send, call.recv),
           .provider = d.choice.provider,
           .digest = digest,
           .ratios = comm.selector.ratios().changes(),
           .carried = carried,
           .why = d.choice.why};
}

Status run_anew(stretto_comm_s* comm, const stretto_options* options, const stretto_call& record,
                const PreparedName* as, bool compared, std::optional<void*> stream) noexcept {
  if (const Status s = usable(comm); s != Status::ok) return s;
  Guard guard = comm->guard();
  if (stream) comm->prepared.ask_for_devices();
  Call call;
  call.stream = stream;
  select::Decision decision;
  const Status own = form(
      *comm, [&] { return read(*comm, options, record, &call); }, &call, &decision);
  if (Status s = own; own == Status::ok && !call.device && !stream && !compared &&
                      run_at_once(*comm, call, decision, as, &s, &compared))
    return s;
  Operation operation(*comm, compared);
  operation.state().call = std::move(call);
  operation.state().decision = std::move(decision);
  operation.start(own);
  return operation.wait(guard);
}

}  // namespace stretto::api
