#include "engine/device/staged.hpp"

#include <algorithm>

#include "base/guarded.hpp"

namespace stretto::engine {

using Clock = std::chrono::steady_clock;

Status Staged::begin(const Work& call, const payload::Spec& spec, const codec::Parallel*) noexcept {
  if (const Status s = device_.usable(); s != Status::ok) return s;
  if (const Status s = device::check(spec, schedule::reduces(call.schedule->collective)); s != Status::ok) return s;
  const std::size_t lanes = call.lanes > 0 ? static_cast<std::size_t>(call.lanes) : device::kUsualLanes;
  if (lanes > device::kMostLanes)
    return fail(Status::invalid_argument, "segments on {} streams of a device; at most {}", lanes, device::kMostLanes);
  if (const Status s = device_.make_lanes(lanes); s != Status::ok) return s;
  if (const Status s = device_.begin(); s != Status::ok) return s;
  executor_.begin(spec, lanes);
  if (call.messages == nullptr) run_.pool = &device_.pinned();
  stream_ = call.stream;
  leaves_early_ = call.leaves_early;
  looked_ = Clock::now();
  return stream_ ? device_.start_after(*stream_, lanes) : Status::ok;
}

// Blocks that meet are cut alike, so segments have one lane. Scratch and copied inputs are in the first lane's memory.
Status Staged::route() {
  Values& values = run_.values;
  for (std::uint32_t c = 0; c < values.cells().size(); ++c)
    values.cells()[c].lane = &executor_.lane_of(run_.plan.segment(c));
  for (std::uint32_t u = 0; u < run_.units.count(); ++u) {
    const Unit& unit = run_.plan.units[u];
    if (unit.peer >= 0 && unit.cells > 0) run_.units[u].way = Way::staged;
    if (unit.task != Task::copy && unit.task != Task::combine) continue;
    for (std::uint32_t i = 0; i < unit.cells; ++i) {
      if (values.at(unit.src + i).lane != values.at(unit.dst + i).lane)
        return fail(Status::internal, "a step names segments of two lanes of a device");
    }
  }
  run_.units.add_end();
  if (values.scratch || values.inputs_copy) {
    if (const Status s = device_.join(0, executor_.lanes()); s != Status::ok) return s;
  }
  const bool ahead = values.reduces() && values.spec().codes == payload::Codes::ahead;
  executor_.unit = 0;
  return ahead ? values.quantise() : Status::ok;
}

std::uint32_t Staged::lanes_of(const Unit& unit) const noexcept {
  std::uint32_t lanes = 0;
  for (std::uint32_t i = 0; i < unit.cells; ++i) lanes |= 1u << run_.values.at(unit.first_cell() + i).lane->number;
  return lanes;
}

Status Staged::depart(std::uint32_t u) noexcept {
  const Unit& unit = run_.plan.units[u];
  Departure d;
  d.unit = u;
  const Status packed = run_.values.pack(unit, &d.fixed);
  const Status s = guarded({"for a message of {} blocks", unit.cells}, [&] {
    for (std::uint32_t i = 0; i < unit.cells && packed == Status::ok; ++i) {
      d.parts.push_back({run_.values.packed(unit, i), {}});
      Part& part = d.parts.back();
      if (!unit.raw && part.data != nullptr) part.bytes = payload::Buffer::kUnknown;
    }
    const Status marked = executor_.mark(lanes_of(unit), &d.packed);
    const Status all = packed == Status::ok ? marked : packed;
    if (all == Status::ok) departures_.push_back(std::move(d));
    return all;
  });
  if (s == Status::ok) run_.units[u].phase = Units::Phase::moving;
  return s;
}

Status Staged::stage(Departure& d) noexcept {
  d.bytes = 0;
  for (const Part& p : d.parts) d.bytes += p.bytes;
  if (const Status s = run_.pool->take(d.bytes, &d.staging); s != Status::ok) return s;
  Status s = Status::ok;
  std::byte* to = d.staging.data();
  for (const Part& p : d.parts) {
    if (p.data == nullptr) {
      *to = kAbsentMark;
    } else if (s == Status::ok) {
      executor_.enter(*p.lane);
      s = executor_.copy(to, p.data, p.bytes);
    }
    to += p.bytes;
  }
  const Status marked = executor_.mark(lanes_of(run_.plan.units[d.unit]), &d.packed);
  return s == Status::ok ? marked : s;
}

Status Staged::leave(Departure& d) noexcept {
  run_.units[d.unit].hold = d.staging;
  return outbox_.send_bytes(d.unit, d.staging.data(), d.bytes, true);
}

bool Staged::advance_departure(Departure& d) noexcept {
  const Failure& failure = run_.failure;
  if (!failure.any() && !d.staging) {
    for (Part& p : d.parts) {
      if (p.bytes == payload::Buffer::kUnknown) p.bytes = p.keeps.content();
      if (p.bytes == payload::Buffer::kUnknown) return false;
    }
    if (const Status s = stage(d); s != Status::ok) run_.failure.record(s, &run_.plan.units[d.unit]);
  }
  if (!failure.any() && !device_.passed(d.packed)) return false;
  if (failure.any()) static_cast<void>(device_.keep(d.staging, d.packed));
  const Status s = failure.any() ? outbox_.send_mark(d.unit) : leave(d);
  if (s != Status::ok) outbox_.strand(d.unit, s);
  return true;
}

Status Staged::keep(const Unit& unit, const payload::Buffer& arrived) noexcept {
  device::LanePositions read;
  const Status s = executor_.mark(lanes_of(unit), &read);
  return s == Status::ok ? device_.keep(arrived, read) : s;
}

// Raw values that replace a block are copied to its home.
Status Staged::bring(const Unit& unit, const payload::Cell& cell, payload::Stream* arrived) noexcept {
  if (unit.raw && unit.task == Task::receive_replace && cell.home != nullptr) return Status::ok;
  payload::Buffer to;
  const codec::Bytes bytes = arrived->bytes();
  executor_.enter(*cell.lane);
  if (const Status s = executor_.upload(bytes.data(), bytes.size(), &to); s != Status::ok) return s;
  to.set_content(bytes.size());
  *arrived = {to, 0, bytes.size()};
  return Status::ok;
}

bool Staged::progress() noexcept {
  const std::size_t left = run_.units.left(), departing = departures_.size();
  const std::uint64_t open = executor_.open();
  const Clock::time_point now = Clock::now();
  if (open > 0) executor_.seconds.compress += std::chrono::duration<double>(now - looked_).count();
  looked_ = now;
  Status lost = executor_.mark_rest();
  if (lost == Status::ok) lost = executor_.poll();
  if (lost != Status::ok) run_.failure.record(lost, nullptr);
  std::uint32_t unit = 0;
  if (const Status s = executor_.failed(&unit); s != Status::ok) run_.failure.record(s, &run_.plan.units[unit]);
  std::erase_if(departures_, [this](Departure& d) { return advance_departure(d); });
  const bool began = advance();
  if (run_.units.left() == 1 && departures_.empty()) advance_end(lost == Status::ok ? device_.usable() : lost);
  return began || run_.units.left() != left || departures_.size() != departing || executor_.open() != open;
}

void Staged::executed() noexcept {
  if (const Status s = executor_.mark_rest(); s != Status::ok) run_.failure.record(s, nullptr);
}

void Staged::advance_end(Status usable) noexcept {
  if (!ending_ && usable == Status::ok) {
    ending_ = true;
    if (stream_) usable = device_.end_before(*stream_);
    if (usable == Status::ok) usable = device_.mark((1u << executor_.lanes()) - 1, &last_);
    if (usable != Status::ok) run_.failure.record(usable, nullptr);
  }
  const bool leaves = leaves_early_ && !run_.failure.any();
  if (usable != Status::ok || leaves || device_.passed(last_)) run_.units.end_all();
}

void Staged::end() noexcept {
  static_cast<void>(executor_.mark_rest());  // a run that ends early may have started work since the last turn
  for (const Departure& d : departures_) static_cast<void>(device_.keep(d.staging, d.packed));
  static_cast<void>(device_.keep(run_.values.scratch, last_));
  static_cast<void>(device_.keep(run_.values.inputs_copy, last_));
}

std::string Staged::diagnosis() const {
  bool returns = false;
  for (std::uint32_t u = 0; u < run_.units.count(); ++u) returns |= run_.units[u].phase == Units::Phase::returns;
  if (departures_.empty())
    return run_.units.left() == 1 || returns ? fmt::format(" device {} is still at work;", device_.number()) : "";
  return fmt::format(" device {} is still at work for step {};", device_.number(),
                     run_.plan.units[departures_.front().unit].step);
}

}  // namespace stretto::engine
