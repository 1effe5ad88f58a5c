#include <algorithm>

#include "engine/run.hpp"

namespace stretto::engine {
namespace {

double seconds_between(Clock::time_point a, Clock::time_point b) noexcept {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

std::size_t Run::elements(const Unit& unit) const noexcept {
  std::size_t sum = 0;
  const std::uint32_t first = unit.task == Task::send ? unit.src : unit.dst;
  for (std::uint32_t i = 0; i < unit.cells; ++i) sum += plan_.places[first + i].count;
  return sum;
}

Status Run::load(payload::Cell& cell, std::uint32_t index) noexcept {
  if (unloaded_[index] == 0) return Status::ok;
  unloaded_[index] = 0;
  const Place& place = plan_.places[index];
  if (several_) {
    for (std::size_t j = 0; j < inputs_.size(); ++j) {
      parts_[j] = static_cast<const std::byte*>(inputs_[j]) + worker_.raw_bytes(place.before);
    }
    return worker_.load(cell, parts_.data(), parts_.size(), false);
  }
  const std::byte* input = cell.value.raw;
  return worker_.load(cell, &input, 1, negates_);
}

void Run::make_ready(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  Live& live = live_[u];
  if (unit.task == Task::deliver) {
    live.state = State::ready;
    deliveries_.add(u);
    return;
  }
  if (receives(unit.task) && !lands_in_place(unit)) {
    if (live.state != State::arrived) return;
  } else {
    live.state = State::ready;
  }
  if (unit.task == Task::send)
    send_in_turn(u);
  else
    push_ready(u);
}

bool Run::advance(int budget, Lanes taken) noexcept {
  if (device_ == nullptr) return advance_units(budget, taken);
  const device::Device::Visit visit(device_->device());
  const bool some = advance_device();
  return advance_units(budget, taken) || some;
}

bool Run::advance_units(int budget, Lanes taken) noexcept {
  auto& [before, beside, after] = ready_;
  bool some = false;
  for (; going_ && budget > 0; --budget) {
    Ready* const from = taken.before && before.some()        ? &before
                        : taken.beside && beside.some()      ? &beside
                        : taken.after && after.some()        ? &after
                        : taken.beside && deliveries_.some() ? &deliveries_
                                                             : nullptr;
    if (from == nullptr) break;
    execute(from->take());
    some = true;
  }
  if (some) moved_ = Clock::now();
  return some;
}

void Run::execute(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  Status s = Status::ok;
  executor_->unit = u;
  switch (unit.task) {
    case Task::send: s = device_ != nullptr ? depart(u) : execute_send(u); break;
    case Task::receive_replace:
      if (lands_in_place(unit)) {
        s = carrier_->start_recv(unit.peer, tag_of(unit), at(unit.dst).home, worker_.raw_bytes(elements(unit)),
                                 id_of(u));
        if (s == Status::ok) {
          live_[u].state = State::moving;
          return;
        }
        strand(s, &unit);
        break;
      }
      [[fallthrough]];
    case Task::receive_combine: s = execute_receive(u); break;
    case Task::copy:
    case Task::combine:
    case Task::deliver: s = execute_local(unit); break;
  }
  if (s != Status::ok) failed(s, &unit);
  if (unit.task == Task::send) {
    if (s != Status::ok) strand(s, &unit);
    if (s != Status::ok && live_[u].state != State::moving) {
      if (!live_[u].early) release(u);
      done(u);
    }
    return;
  }
  release(u);
  if (live_[u].state != State::returns) done(u);
}

Status Run::execute_local(const Unit& unit) noexcept {
  if (status_ != Status::ok) return Status::ok;
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    payload::Cell& dst = at(unit.dst + i);
    if (unit.task == Task::deliver) {
      if (const Status s = load(dst, plan_.cell(unit.dst + i)); s != Status::ok) return s;
      const std::uint32_t divisor = reduces_ && spec_.op == payload::Op::mean ? contributions_ : 1;
      if (const Status s = worker_.finish(dst, from_stream_, divisor); s != Status::ok) return s;
      continue;
    }
    payload::Cell& src = at(unit.src + i);
    if (const Status s = load(src, plan_.cell(unit.src + i)); s != Status::ok) return s;
    if (unit.task == Task::copy) {
      if (&dst != &src) unloaded_[plan_.cell(unit.dst + i)] = 0;
      if (const Status s = worker_.copy(dst, src); s != Status::ok) return s;
      continue;
    }
    if (const Status s = load(dst, plan_.cell(unit.dst + i)); s != Status::ok) return s;
    if (const Status s = worker_.meet(dst, src, unit.incoming_first); s != Status::ok) return s;
  }
  return Status::ok;
}

void Run::complete(std::uint32_t id, const carrier::Completion& completion) noexcept {
  const std::uint32_t u = id & ~(notice_bit | crossing_bit);
  if ((id & crossing_bit) != 0) {
    crossed(u, completion);
    return;
  }
  const Unit& unit = plan_.units[u];
  Live& live = live_[u];
  moved_ = Clock::now();
  if (live.crossing != none) crossings_[live.crossing].announced = true;
  if (completion.status != Status::ok) {
    if (completion.status == Status::incompatible && receives(unit.task)) {
      failed(fail(Status::incompatible, "a message of {} bytes from rank {} is longer than the {} expected",
                  completion.bytes, unit.peer, room_for(unit)),
             &unit);
    } else {
      failed(completion.status, &unit);
    }
  }
  if (receives(unit.task) && !lands_in_place(unit)) {
    live.bytes = completion.bytes;
    live.state = State::arrived;
    if (live.crossing != none ? land(u) : completion.status == Status::ok && expect_long(u)) return;
    if (live.waits_for == 0) make_ready(u);
    return;
  }
  if (unit.task == Task::receive_replace && status_ == Status::ok) {
    const Status s = check_arrival(unit, at(unit.dst).home, completion.bytes);
    if (s != Status::ok) failed(s, &unit);
    for (std::uint32_t i = 0; i < unit.cells; ++i) {
      worker_.landed(at(unit.dst + i));
    }
  }
  if (unit.task == Task::send && --live.transfers > 0) return;
  sent(u);
}

void Run::sent(std::uint32_t u) noexcept {
  live_[u].hold = {};
  if (!live_[u].early) release(u);
  done(u);
}

void Run::release(std::uint32_t u) noexcept {
  for (std::uint32_t e = plan_.units[u].followers; e != none; e = plan_.edges[e].next) {
    const std::uint32_t follower = plan_.edges[e].unit;
    if (--live_[follower].waits_for == 0) make_ready(follower);
  }
}

void Run::done(std::uint32_t u) noexcept {
  live_[u].state = State::done;
  --left_;
  if (plan_.units[u].lane == schedule::Lane::before) --left_before_;
}

bool Run::overdue(Clock::time_point now) const noexcept {
  return options_.timeout > 0 && seconds_between(moved_, now) > options_.timeout;
}

void Run::pause(Clock::duration time) noexcept {
  if (std::chrono::duration<double>(time).count() > options_.timeout / 8) moved_ += time;
}

Status Run::finish(Report* report) noexcept {
  if (report != nullptr && status_ == Status::ok) {
    const payload::Seconds& spent = worker_.seconds();
    const std::string& name = schedule_->algorithm;
    report->algorithm = {};
    std::copy_n(name.begin(), std::min(name.size(), report->algorithm.size() - 1), report->algorithm.begin());
    report->payload = spec_.kind;
    report->raw_bytes = raw_bytes_;
    report->bytes_sent = bytes_sent_;
    report->messages_sent = messages_;
    report->segments = plan_.segments;
    report->compress_seconds = spent.compress;
    report->decompress_seconds = spent.decompress;
    report->combine_seconds = spent.combine;
    if (device_ != nullptr) report->compress_seconds += codec_seconds_;
    report->wait_seconds = wait_seconds_;
    report->total_seconds = seconds_between(begun_, Clock::now());
    report->contributions = contributions_;
    report->promised_error = payload::error_factor(spec_, reduces_, static_cast<int>(contributions_)) * spec_.eps;
    if (spec_.kind == payload::Kind::raw) report->promised_error = 0;
  }
  for (payload::Cell& cell : cells_) cell.value.clear();
  crossings_.clear();
  if (device_ != nullptr) leave_device();
  scratch_ = {};
  inputs_copy_ = {};
  schedule_.reset();
  active_ = false;
  return status_ == Status::ok ? Status::ok : fail(status_, std::string_view(text_.data()));
}

}  // namespace stretto::engine
