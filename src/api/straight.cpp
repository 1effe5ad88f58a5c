#include "api/straight.hpp"

#include <chrono>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "api/agreement.hpp"
#include "api/arguments.hpp"
#include "api/communicator.hpp"
#include "api/plan.hpp"
#include "api/report.hpp"

namespace stretto::api {
namespace {

using Clock = std::chrono::steady_clock;

template <class Key>
std::size_t place_of(const Key& k, std::size_t lines) noexcept {
  const Shape& s = k.shape;
  const std::uint64_t kinds = std::uint64_t{static_cast<std::uint8_t>(s.collective)} |
                              static_cast<std::uint64_t>(s.type) << 8 | static_cast<std::uint64_t>(s.op) << 16 |
                              std::uint64_t{k.buffers} << 24 | static_cast<std::uint64_t>(s.root) << 32;
  const std::uint64_t h =
      (kinds ^ s.count * 0xD6E8FEB86659FD93u ^ static_cast<std::uint64_t>(k.bound_kind)) * 0x9E3779B97F4A7C15u;
  return (h >> 40) % lines;
}

bool fit(const stretto_options& o) noexcept {
  return o.size == sizeof o && !std::isnan(o.timeout) && o.ignore_above >= 0 &&
         (!o.report || o.report->size >= sizeof o.report->size);
}

double seconds_since(Clock::time_point t) noexcept { return std::chrono::duration<double>(Clock::now() - t).count(); }

void tell(const char* algorithm, bool bytes_known, Why why, Collective collective, int ranks, Clock::time_point begun,
          double agree_seconds, stretto_report* out) {
  stretto_report r = STRETTO_REPORT_INIT;
  set_name(r.algorithm, algorithm);
  set_name(r.payload, "raw");
  r.contributions = reduces(collective) ? static_cast<std::uint64_t>(ranks) : 1;
  r.ratio = r.expected_ratio = 1;
  r.agree_seconds = agree_seconds;
  set_name(r.reason, name(why.reason));
  r.predicted_seconds = why.seconds;
  r.mpi_seconds = why.mpi;
  r.bytes_known = bytes_known;
  r.seconds = seconds_since(begun);
  deliver(r, out);
}

// An agreement is a barrier already, here as in Operation.
bool was_all(Collective c, bool forced) noexcept { return c == Collective::barrier && !forced; }

// Runs `collective`, and reports where that is asked for. With a digest the ranks first agree on it: true when they do, or when that failed.
template <class Run>
[[gnu::noinline]] bool run_and_tell(stretto_comm_s& comm, const Native& native, const Why& why, Collective collective,
                                    const stretto_options& o, bool forced, std::uint64_t digest, const Run& run,
                                    Status* ended) noexcept {
  const Clock::time_point begun = o.report ? Clock::now() : Clock::time_point{};
  bool same = true;
  Status s = digest != 0 ? comm.carriers.natives.node->agree(digest, timeout_of(o), &same) : Status::ok;
  const bool other_forms = s == Status::incompatible && !comm.carriers.natives.node->differed();
  if (other_forms || (s == Status::ok && !same)) return false;  // the exchange tells what differs
  const double agree_seconds = o.report && digest != 0 ? seconds_since(begun) : 0;
  const bool all = digest != 0 && was_all(collective, forced);
  if (s == Status::ok && !all) s = run();
  if (s != Status::ok) {
    comm.give_up(s, message());  // what the others have done is uncertain
  } else if (o.report) {
    tell(all ? agreement_name : native.name(), all, all ? Why{.reason = Reason::agreement} : why, collective, comm.size,
         begun, agree_seconds, o.report);
  }
  *ended = s;
  return true;
}

}  // namespace

// Timeout and report are each call's own.
[[gnu::always_inline]] inline Straight::Key Straight::key_of(const Shape& shape, std::uint8_t buffers,
                                                             const stretto_options& o, bool forced) noexcept {
  const double bound = o.bound_kind == STRETTO_BOUND_NONE ? 0 : o.bound;
  const bool reproducible = o.reproducible != 0;
  const double ignore_above = o.bound_kind == STRETTO_BOUND_RELATIVE ? o.ignore_above : 0;
  Key key{shape,     buffers, forced,   reproducible, o.bound_kind, o.scope,
          o.payload, o.check, o.trials, bound,        o.segment,    ignore_above};
  key.shape.rank_by_rank = rank_by_rank(shape.collective, shape.type, shape.op, o);
  return key;
}

[[gnu::hot]] bool Straight::again(stretto_comm_s& comm, Collective collective, stretto_type type, stretto_op op,
                                  int root, std::size_t count, const void* send, void* recv,
                                  const stretto_options* options, Status* ended, bool* met) noexcept {
  static constexpr stretto_options defaults = STRETTO_OPTIONS_INIT;
  const stretto_options& o = options ? *options : defaults;
  if (!lines_ || !fit(o)) return false;
  const Key key = key_of({collective, false, type, op, root, count}, kind_of(send, recv), o, o.schedule != nullptr);
  const Line& line = (*lines_)[place_of(key, lines_->size())];
  if (!line.call || !(line.key == key) || comm.broken || !comm.live.empty()) return false;
  if (key.forced && std::strcmp(o.schedule, line.native->name()) != 0) return false;
  if (o.bound_kind != STRETTO_BOUND_NONE && line.ratios != comm.ratios.changes()) return false;
  Course* const course = line.course;
  if (course && course->looks() != line.looks) return false;
  const auto run = [&] { return line.call->run(send, recv, timeout_of(o)); };
  if (line.digest == 0 && !o.report) [[likely]] {
    *ended = run();
    if (*ended != Status::ok) comm.give_up(*ended, message());  // what the others have done is uncertain
  } else if (!run_and_tell(comm, *line.native, line.why, collective, o, key.forced, line.digest, run, ended)) {
    *met = true;
    return false;
  }
  if (course) course->ran();
  last_ = *ended == Status::ok ? &line : nullptr;
  return true;
}

Straight::Last Straight::last() const noexcept {
  if (!last_ || last_->digest != 0) return {};
  return {last_->native, last_->key.shape, last_->course, last_->looks};
}

void Straight::keep(const stretto_comm_s& comm, const Call& call, Native& native, std::uint64_t digest) noexcept {
  if (!call.counts.empty() || !call.inputs.empty() || (reduces(call.collective) && call.op == STRETTO_USER)) return;
  if (!lines_) lines_.reset(new (std::nothrow) std::array<Line, 64>);
  if (!lines_) return;  // it goes without
  Course* const course = call.prospect.unasked.course;
  const Key key =
      key_of(shape_of(call), kind_of(call.send, call.recv), call.settings.options, !call.settings.schedule.empty());
  std::unique_ptr<Native::Repeated> repeated = native.repeat(key.shape);
  if (!repeated) return;
  (*lines_)[place_of(key, lines_->size())] = {.key = key,
                                              .call = std::move(repeated),
                                              .course = course,
                                              .looks = course ? course->looks() : 0,
                                              .why = call.prospect.why,
                                              .digest = digest,
                                              .ratios = comm.ratios.changes(),
                                              .native = &native};
}

bool go_straight(stretto_comm_s& comm, Call& call, Status* ended) noexcept {
  Native* native = call.prospect.straight;
  if (!native || call.nonblocking || comm.broken || !comm.live.empty()) return false;
  const std::uint64_t agreed =
      agrees_near(call, comm) ? digest(signature_of(call, Status::ok, comm.rank, comm.size)) : 0;
  const Unasked unasked = call.prospect.unasked;
  if (unasked.first == 0)
    comm.straight.keep(comm, call, *native, agreed);  // else the next call like it may be one of a trial
  const bool ran = run_and_tell(
      comm, *native, call.prospect.why, call.collective, call.settings.options, !call.settings.schedule.empty(), agreed,
      [&] { return native->run(call); }, ended);
  if (ran) comm.choices.ran(unasked);
  call.met = !ran;
  return ran;
}

}  // namespace stretto::api
