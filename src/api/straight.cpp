#include "api/straight.hpp"

#include <chrono>
#include <cmath>
#include <cstring>

#include "api/agreement.hpp"
#include "api/arguments.hpp"
#include "api/communicator.hpp"
#include "api/plan.hpp"
#include "api/report.hpp"

namespace stretto::api {
namespace {

using Clock = std::chrono::steady_clock;

// All that the checks of buffers look at: which are null, which stand for "in place", and whether they are the same.
std::uint8_t kind_of(const void* send, const void* recv) noexcept {
  const auto bit = [](bool b, int at) { return static_cast<std::uint8_t>(std::uint8_t{b} << at); };
  return bit(send == nullptr, 0) | bit(recv == nullptr, 1) | bit(send == STRETTO_IN_PLACE, 2) |
         bit(recv == STRETTO_IN_PLACE, 3) | bit(send == recv, 4);
}

std::size_t place_of(const Shape& s, std::uint8_t buffers, stretto_bound bound, std::size_t lines) noexcept {
  const std::uint64_t kinds = std::uint64_t{static_cast<std::uint8_t>(s.collective)} |
                              static_cast<std::uint64_t>(s.type) << 8 | static_cast<std::uint64_t>(s.op) << 16 |
                              std::uint64_t{buffers} << 24 | static_cast<std::uint64_t>(s.root) << 32;
  const std::uint64_t h =
      (kinds ^ s.count * 0xD6E8FEB86659FD93u ^ static_cast<std::uint64_t>(bound)) * 0x9E3779B97F4A7C15u;
  return (h >> 40) % lines;
}

// What choices depend on besides; timeout and report are this call's own.
bool decide_alike(const stretto_options& a, const stretto_options& b) noexcept {
  return a.bound_kind == b.bound_kind && a.payload == b.payload && a.check == b.check && a.trials == b.trials &&
         a.segment == b.segment && a.scope == b.scope && (a.bound_kind == STRETTO_BOUND_NONE || a.bound == b.bound);
}

bool fit(const stretto_options& o) noexcept {
  return o.size == sizeof o && !std::isnan(o.timeout) && (!o.report || o.report->size >= sizeof o.report->size);
}

double seconds_since(Clock::time_point t) noexcept { return std::chrono::duration<double>(Clock::now() - t).count(); }

void tell(const char* algorithm, Collective collective, int ranks, Clock::time_point begun, double agree_seconds,
          stretto_report* out) {
  stretto_report r = STRETTO_REPORT_INIT;
  set_name(r.algorithm, algorithm);
  set_name(r.payload, "raw");
  r.contributions = reduces(collective) ? static_cast<std::uint64_t>(ranks) : 1;
  r.ratio = r.expected_ratio = 1;
  r.agree_seconds = agree_seconds;
  r.seconds = seconds_since(begun);
  deliver(r, out);
}

// An agreement is a barrier already, here as in Operation.
bool was_all(Collective c, bool forced) noexcept { return c == Collective::barrier && !forced; }

// Runs `collective`, and reports where that is asked for. With a digest the ranks first agree on it: true when they do, or when that failed.
template <class Run>
bool run_and_tell(stretto_comm_s& comm, const Native& native, Collective collective, const stretto_options& o,
                  bool forced, std::uint64_t digest, const Run& run, Status* ended) noexcept {
  const Clock::time_point begun = o.report ? Clock::now() : Clock::time_point{};
  bool same = true;
  Status s = digest != 0 ? comm.carriers.natives.node->agree(digest, timeout_of(o), &same) : Status::ok;
  if (s == Status::incompatible || (s == Status::ok && !same)) return false;  // the exchange tells what differs
  const double agree_seconds = o.report && digest != 0 ? seconds_since(begun) : 0;
  const bool all = digest != 0 && was_all(collective, forced);
  if (s == Status::ok && !all) s = run();
  if (s != Status::ok) {
    comm.give_up(message());  // what the others have done is uncertain
  } else if (o.report) {
    tell(all ? agreement_name : native.name(), collective, comm.size, begun, agree_seconds, o.report);
  }
  *ended = s;
  return true;
}

}  // namespace

bool Straight::again(stretto_comm_s& comm, const Shape& shape, const void* send, void* recv,
                     const stretto_options* options, Status* ended, bool* met) noexcept {
  static constexpr stretto_options defaults = STRETTO_OPTIONS_INIT;
  if (!lines_) return false;
  const stretto_options& o = options ? *options : defaults;
  const std::uint8_t buffers = kind_of(send, recv);
  const Line& line = (*lines_)[place_of(shape, buffers, o.bound_kind, lines_->size())];
  if (!line.native || line.buffers != buffers || !(line.shape == shape) || !fit(o) || !decide_alike(line.options, o))
    return false;
  if (line.forced ? !o.schedule || std::strcmp(o.schedule, line.native->name()) != 0 : o.schedule != nullptr)
    return false;
  if (o.bound_kind != STRETTO_BOUND_NONE && line.ratios != comm.ratios.changes()) return false;
  if (comm.broken || !comm.live.empty()) return false;
  Course* const course = line.course;
  if (course && course->looks() != line.looks) return false;
  Native& native = *line.native;
  const bool ran = run_and_tell(
      comm, native, shape.collective, o, line.forced, line.digest,
      [&] { return native.run_plain(shape, send, recv, timeout_of(o)); }, ended);
  if (ran && course) course->ran();
  *met = !ran;
  return ran;
}

void Straight::keep(const stretto_comm_s& comm, const Call& call, Native* native, std::uint64_t digest) noexcept {
  if (!call.counts.empty() || !call.inputs.empty() || (reduces(call.collective) && call.op == STRETTO_USER)) return;
  if (!lines_) lines_.reset(new (std::nothrow) std::array<Line, 64>);
  if (!lines_) return;  // it goes without
  const std::uint8_t buffers = kind_of(call.send, call.recv);
  const stretto_options& o = call.settings.options;
  Course* const course = call.prospect.unasked.course;
  (*lines_)[place_of(shape_of(call), buffers, o.bound_kind, lines_->size())] = {
      shape_of(call), buffers, !call.settings.schedule.empty(), native, comm.ratios.changes(),
      digest,         course,  course ? course->looks() : 0,    o};
}

bool go_straight(stretto_comm_s& comm, Call& call, Status* ended) noexcept {
  Native* native = call.prospect.straight;
  if (!native || call.nonblocking || comm.broken || !comm.live.empty()) return false;
  const std::uint64_t agreed =
      agrees_near(call, comm) ? digest(signature_of(call, Status::ok, comm.rank, comm.size)) : 0;
  const Unasked unasked = call.prospect.unasked;
  if (unasked.first == 0)
    comm.straight.keep(comm, call, native, agreed);  // else the next call like it may be one of a trial
  const bool ran = run_and_tell(
      comm, *native, call.collective, call.settings.options, !call.settings.schedule.empty(), agreed,
      [&] { return native->run(call); }, ended);
  if (ran) comm.choices.ran(unasked);
  call.met = !ran;
  return ran;
}

}  // namespace stretto::api
