#include "engine/run.hpp"

#include <algorithm>

#include "base/guarded.hpp"
#include "engine/device/staged.hpp"
#include "schedule/names.hpp"

namespace stretto::engine {
namespace {

using device::Device;

double seconds_between(Clock::time_point a, Clock::time_point b) noexcept {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

Status Run::prepare(const Work& call, carrier::Carrier& carrier, const codec::Parallel* parallel, std::uint32_t slot,
                    std::uint64_t sequence) {
  state_.options = call.options;
  payload::Spec spec = call.payload;
  if (spec.nodes == 1) spec.kind = payload::Kind::raw;
  state_.traffic = choose_traffic(call, state_, outbox_, host_, &of_device_);
  const Device::Visit visit(state_.traffic->device);
  Status s = state_.traffic->begin(call, spec, parallel);
  if (s == Status::ok) s = state_.values.begin(call, spec, state_.traffic->executor());
  if (s == Status::ok) s = state_.values.make_plan(call.options, &state_.plan);
  if (s == Status::ok) s = state_.channel.begin(carrier, slot, sequence, call.options.segment_bytes);
  if (s == Status::ok) s = state_.values.bind();
  if (s != Status::ok) return s;
  state_.units.begin();
  s = state_.traffic->route();
  if (s == Status::ok) inbox_.begin();
  return s;
}

Status Run::begin(const Work& call, carrier::Carrier& carrier, payload::Pool& pool, const codec::Parallel* parallel,
                  std::uint32_t slot, std::uint64_t sequence) noexcept {
  begun_ = moved_ = Clock::now();
  going_ = false;
  state_.pool = &pool;
  state_.traffic = &host_;
  state_.failure.clear();
  state_.raw_bytes = state_.bytes_sent = state_.messages = 0;
  wait_seconds_ = 0;
  const Status s = guarded({"to plan a collective of {} blocks", call.blocks.size()},
                           [&] { return prepare(call, carrier, parallel, slot, sequence); });
  active_ = s == Status::ok;
  if (!active_) end();
  return s;
}

void Run::go() noexcept {
  going_ = true;
  moved_ = Clock::now();
  const Device::Visit visit(state_.traffic->device);
  inbox_.post_all();
  state_.units.start();
}

bool Run::advance(int budget, Lanes taken) noexcept {
  const Device::Visit visit(state_.traffic->device);
  const bool some = state_.traffic->progress();
  bool executed = false;
  for (; going_ && budget > 0; --budget, executed = true) {
    const std::uint32_t u = state_.units.take(taken);
    if (u == kNone) break;
    execute(u);
  }
  if (executed) {
    state_.traffic->executed();
    moved_ = Clock::now();
  }
  return some || executed;
}

void Run::execute(std::uint32_t u) noexcept {
  const Unit& unit = state_.plan.units[u];
  state_.values.executor().unit = u;
  if (unit.task == Task::send) {
    outbox_.send(u);
  } else if (receives(unit.task)) {
    inbox_.receive(u);
  } else {
    const Status s = state_.failure.any() ? Status::ok : state_.values.execute(unit);
    if (s != Status::ok) state_.failure.record(s, &unit);
    state_.units.release(u);
    state_.units.finish(u);
  }
}

void Run::complete(std::uint32_t id, const carrier::Completion& completion) noexcept {
  const std::uint32_t u = id & ~(kNoticeBit | kCrossingBit);
  const Unit& unit = state_.plan.units[u];
  moved_ = Clock::now();
  if ((id & kCrossingBit) != 0) {
    state_.traffic->crossed(u, completion);
    return;
  }
  --state_.units[u].transfers;
  if (receives(unit.task)) {
    inbox_.arrived(u, completion);
    return;
  }
  if (completion.status != Status::ok) state_.failure.record(completion.status, &unit);
  outbox_.completed(u);
}

bool Run::overdue(Clock::time_point now) const noexcept {
  return timeout() > 0 && seconds_between(moved_, now) > timeout();
}

void Run::pause(Clock::duration time) noexcept {
  if (std::chrono::duration<double>(time).count() > timeout() / 8) moved_ += time;
}

Status Run::compare_calls() noexcept {
  std::int32_t looked = -1;
  for (std::uint32_t u = 0; u < state_.units.count(); ++u) {
    const std::int32_t peer = state_.plan.units[u].peer;
    if (!state_.units[u].is_under_way() || peer == looked) continue;
    looked = peer;
    if (const Status s = state_.channel.compare_calls(peer, state_.failure); s != Status::ok) return s;
  }
  return Status::ok;
}

std::string Run::diagnosis() const {
  constexpr std::size_t most_lines = 4;
  const schedule::Schedule& schedule = state_.values.schedule();
  std::string text =
      fmt::format("{} {} ({}), rank {}: nothing came for {:.3g} s;{}", schedule::name(schedule.collective),
                  schedule.algorithm, payload::name(state_.values.spec().kind), schedule.rank,
                  seconds_between(moved_, Clock::now()), state_.traffic->diagnosis());
  std::size_t missing = 0;
  for (std::uint32_t u = 0; u < state_.units.count(); ++u) {
    const Unit& unit = state_.plan.units[u];
    if (!state_.units[u].is_under_way()) continue;
    if (++missing > most_lines) continue;
    text += fmt::format("{} step {} is missing rank {} ({}", missing > 1 ? "," : "", unit.step, unit.peer,
                        receives(unit.task) ? "its message" : "to take a message");
    if (unit.cells > 0) {
      const Place& place = state_.plan.places[unit.first_cell()];
      text += fmt::format(", block {} from element {}", place.block, place.first);
    }
    text += ")";
  }
  if (!going_) text += " it waits for an earlier collective of the communicator, which has not ended";
  if (missing > most_lines) text += fmt::format(", and {} more", missing - most_lines);
  return text;
}

int Run::missing() const noexcept {
  int takes_nothing = -1;
  for (std::uint32_t u = 0; going_ && u < state_.units.count(); ++u) {
    const Unit& unit = state_.plan.units[u];
    if (!state_.units[u].is_under_way()) continue;
    if (receives(unit.task)) return unit.peer;
    if (takes_nothing < 0) takes_nothing = unit.peer;
  }
  return takes_nothing;
}

void Run::give_up(Status status, const char* text, std::vector<payload::Buffer>* lost) noexcept {
  for (std::uint32_t u = 0; u < state_.units.count(); ++u) {
    UnitState& unit = state_.units[u];
    if (unit.transfers > 0) {
      const bool notice = unit.transfers > 1 && unit.notice.bytes > 0;
      if (notice) static_cast<void>(state_.channel.cancel(u, kNoticeBit));
      if (!state_.channel.cancel(u)) give_away(unit.hold, lost);
    }
    unit.hold = {};
    unit.phase = Units::Phase::done;
  }
  state_.traffic->abort(lost);
  state_.units.end_all();
  state_.failure.end(status, text);
}

void Run::fill(Report* report) const noexcept {
  const Values& values = state_.values;
  const payload::Spec& spec = values.spec();
  const payload::Seconds& spent = values.worker().seconds();
  const std::string& name = values.schedule().algorithm;
  report->algorithm = {};
  std::copy_n(name.begin(), std::min(name.size(), report->algorithm.size() - 1), report->algorithm.begin());
  report->payload = spec.kind;
  report->raw_bytes = state_.raw_bytes;
  report->bytes_sent = state_.bytes_sent;
  report->messages_sent = state_.messages;
  report->segments = state_.plan.segments;
  report->compress_seconds = spent.compress;
  report->decompress_seconds = spent.decompress;
  report->combine_seconds = spent.combine;
  report->wait_seconds = wait_seconds_;
  report->total_seconds = seconds_between(begun_, Clock::now());
  report->contributions = values.contributions();
  const int contributions = static_cast<int>(values.contributions());
  report->promised_error = payload::error_factor(spec, values.reduces(), contributions) * spec.eps;
  if (spec.kind == payload::Kind::raw) report->promised_error = 0;
}

Status Run::finish(Report* report) noexcept {
  if (report != nullptr && !state_.failure.any()) fill(report);
  end();
  return state_.failure.any() ? fail(status(), std::string_view(text())) : Status::ok;
}

void Run::end() noexcept {
  const Device::Visit visit(state_.traffic->device);
  state_.traffic->end();
  state_.values.end();
  state_.traffic = &host_;
  of_device_.reset();
  active_ = false;
}

}  // namespace stretto::engine
