#include "api/operation/prepared.hpp"

#include <chrono>
#include <cmath>
#include <cstring>

#include "api/communicator.hpp"
#include "api/report.hpp"
#include "api/rounding.hpp"
#include "call/agreement.hpp"
#include "select/signature.hpp"

namespace stretto::api {
namespace {

using Clock = std::chrono::steady_clock;

bool fit(const stretto_options& o) noexcept {
  return o.size == sizeof o && !std::isnan(o.timeout) && o.ignore_above == 0 && o.raw_below == 0 &&
         o.coding == STRETTO_CODING_AUTO && (!o.report || o.report->size >= sizeof o.report->size);
}

double seconds_since(Clock::time_point t) noexcept { return std::chrono::duration<double>(Clock::now() - t).count(); }

struct RunningCall {
  const backend::Backend& backend;
  select::Rationale why;
  const Shape& shape;
  bool forced;
  std::uint64_t digest;
};

// With a digest the ranks first compare it: false if it differs, and nothing ran; true if it is equal on all ranks, or
// the comparison failed.
template <class Run>
[[gnu::noinline]] bool compare_and_run(stretto_comm_s& comm, const RunningCall& running, const stretto_options& o,
                                       const void* recv, const Run& run, Status* ended) noexcept {
  const Collective collective = running.shape.collective;
  const Clock::time_point begun = o.report ? Clock::now() : Clock::time_point{};
  bool same = true;
  backend::NodeBackend* const node = comm.backends.node.get();
  Status s = running.digest != 0 ? node->agree(running.digest, o.timeout, &same) : Status::ok;
  const bool other_forms = s == Status::incompatible && !node->differed();
  if (other_forms || (s == Status::ok && !same)) return false;  // the exchange tells what differs
  const double agree_seconds = o.report && running.digest != 0 ? seconds_since(begun) : 0;
  const bool all = running.digest != 0 && collective == Collective::barrier && !running.forced;
  if (s != Status::ok)
    comm.give_up(s, message());
  else if (!all)
    s = run();
  if (s == Status::ok && o.report) {
    Outcome out;
    out.algorithm = all ? agreement_name : running.backend.name();
    out.collective = collective;
    out.contributions = reduces(collective) ? static_cast<std::uint64_t>(comm.size) : 1;
    if (asks_for_rounding(*o.report))
      out.rounding =
          rounding_of({running.shape, comm.rank, out.contributions, o.bound_kind != STRETTO_BOUND_NONE, false, recv},
                      unseen_additions(running.shape, out.contributions));
    out.bytes_known = all;
    out.why = all ? select::Rationale{.reason = select::Reason::agreement} : running.why;
    out.profile = comm.selector.choices().messages();
    out.agree_seconds = agree_seconds;
    out.seconds = seconds_since(begun);
    report(out, o.report);
  }
  *ended = s;
  return true;
}

}  // namespace

// Timeout and report are each call's own.
[[gnu::always_inline]] inline PreparedByCall::Key PreparedByCall::key_of(const Shape& shape, std::uint8_t buffers,
                                                                         const stretto_options& o,
                                                                         bool forced) noexcept {
  const double bound = o.bound_kind == STRETTO_BOUND_NONE ? 0 : o.bound;
  const bool reproducible = o.reproducible != 0;
  Key key{shape, buffers, forced, reproducible, o.bound_kind, o.scope, o.payload, o.check, bound, o.segment};
  key.shape.rank_by_rank = rank_by_rank(shape.collective, shape.type, shape.op, o);
  return key;
}

[[gnu::always_inline]] inline std::size_t PreparedByCall::hash_of(const Key& k) noexcept {
  const Shape& s = k.shape;
  const std::uint64_t kinds = std::uint64_t{static_cast<std::uint8_t>(s.collective)} |
                              static_cast<std::uint64_t>(s.type) << 8 | static_cast<std::uint64_t>(s.op) << 16 |
                              std::uint64_t{k.buffers} << 24 | static_cast<std::uint64_t>(s.root) << 32;
  const std::uint64_t h =
      (kinds ^ s.count * 0xD6E8FEB86659FD93u ^ static_cast<std::uint64_t>(k.bound_kind)) * 0x9E3779B97F4A7C15u;
  return h >> 40;
}

[[gnu::hot]] bool PreparedByCall::again(stretto_comm_s& comm, Collective collective, stretto_type type, stretto_op op,
                                        int root, std::size_t count, const void* send, void* recv,
                                        const stretto_options* options, Status* ended, bool* compared) noexcept {
  static constexpr stretto_options defaults = STRETTO_OPTIONS_INIT;
  const stretto_options& o = options ? *options : defaults;
  if (!lines_ || !fit(o)) return false;
  const Key key =
      key_of({collective, false, type, op, root, count}, buffers_kind(send, recv), o, o.schedule != nullptr);
  const Line& line = *lines_.at(hash_of(key));
  if (!line.call || !(line.key == key) || !line.call.is_current(comm)) return false;
  if (key.forced && std::strcmp(o.schedule, comm.backends.of(line.provider).name()) != 0) return false;
  if (o.bound_kind != STRETTO_BOUND_NONE && line.ratios != comm.selector.ratios().changes()) return false;
  if (o.report && line.why.lacks_prediction()) return false;
  if (line.digest != 0 || o.report) [[unlikely]] {
    *compared = !run_line(comm, line, send, recv, o, ended);
    if (*compared) return false;
  } else {
    *ended = line.call.run(comm, send, recv, o.timeout);
  }
  last_ = *ended == Status::ok ? &line : nullptr;
  return true;
}

[[gnu::noinline]] bool PreparedByCall::run_line(stretto_comm_s& comm, const Line& line, const void* send, void* recv,
                                                const stretto_options& o, Status* ended) noexcept {
  const RunningCall running{comm.backends.of(line.provider), line.why, line.key.shape, line.key.forced, line.digest};
  return compare_and_run(
      comm, running, o, recv, [&] { return line.call.run(comm, send, recv, o.timeout); }, ended);
}

Prepared PreparedByCall::last(const stretto_comm_s& comm) const noexcept {
  if (!last_ || last_->digest != 0) return {};
  return {comm.backends.of(last_->provider).prepare(last_->key.shape), generation_};
}

void PreparedByCall::keep(const stretto_comm_s& comm, const Call& call, const select::Decision& d,
                          std::uint64_t digest) noexcept {
  if (!fit(call.settings.options)) return;
  if (!call.counts.empty() || !call.inputs.empty() || (reduces(call.collective) && call.op == STRETTO_USER)) return;
  const Key key = key_of(shape_of(call), buffers_kind(call.send, call.recv), call.settings.options,
                         !call.settings.schedule.empty());
  Line* const line = lines_.make(hash_of(key));
  if (!line) return;
  std::unique_ptr<backend::PreparedCall> prepared = comm.backends.of(d.choice.provider).prepare(key.shape);
  if (!prepared) return;
  *line = {.key = key,
           .call = {std::move(prepared), generation_},
           .why = d.choice.why,
           .provider = d.choice.provider,
           .digest = digest,
           .ratios = comm.selector.ratios().changes()};
}

bool compares_words(const Call& call, const stretto_comm_s& comm) noexcept {
  return call.settings.options.check && comm.size > 1 && comm.backends.node && !call.nonblocking;
}

bool run_at_once(stretto_comm_s& comm, const Call& call, const select::Decision& d, Status* ended,
                 bool* compared) noexcept {
  const bool decided = d.made && d.choice.provider != Provider::schedules && !d.choice.through_nodes() && !d.streams();
  if (!decided || !comm.is_free() || (d.needs.check && !compares_words(call, comm))) return false;
  backend::Backend& backend = comm.backends.of(d.choice.provider);
  const std::uint64_t digest =
      d.needs.check ? call::digest(select::signature_of(call, d.needs, Status::ok, comm.rank, comm.size)) : 0;
  comm.prepared.keep(comm, call, d, digest);
  const Shape shape = shape_of(call);
  const RunningCall running{backend, d.choice.why, shape, !call.settings.schedule.empty(), digest};
  const auto run = [&] {
    engine::Report ran;
    const Status s = backend.run(call, d, &ran);
    if (s != Status::ok) comm.give_up(s, message());
    return s;
  };
  *compared = !compare_and_run(comm, running, call.settings.options, call.recv, run, ended);
  return !*compared;
}

}  // namespace stretto::api
