// Blocks in device memory. The worker enqueues operations on lanes (device/device.hpp), and the host polls the device:
//
//   a send      is packed, copied to pinned memory once its lengths are known, and begins when the copy is complete
//   a receive   arrives in pinned memory and is copied to the device: done when enqueued
//   others      are done when enqueued
//
// Messages between devices (run_crossings.cpp) bypass pinned memory. The run ends when the device has executed all
// work, or, if it leaves early, when all is enqueued.
#include <algorithm>

#include "engine/run.hpp"

namespace stretto::engine {

using device::Device;

Status Run::begin_on_device(const Work& call) {
  Device& d = *call.device;
  if (const Status s = d.usable(); s != Status::ok) return s;
  if (const Status s = device::check(spec_, reduces_); s != Status::ok) return s;
  const std::size_t lanes = call.lanes > 0 ? static_cast<std::size_t>(call.lanes) : device::usual_lanes;
  if (lanes > device::most_lanes)
    return fail(Status::invalid_argument, "segments on {} streams of a device; at most {}", lanes, device::most_lanes);
  if (const Status s = d.make_lanes(lanes); s != Status::ok) return s;
  if (const Status s = d.begin(); s != Status::ok) return s;
  device_ = std::make_unique<device::Executor>(d);
  device_->begin(spec_, lanes);
  if (between_ == nullptr) pool_ = &d.pinned();
  stream_ = call.stream;
  leaves_early_ = call.leaves_early;
  departures_.clear();
  last_ = {};
  ending_ = false;
  codec_seconds_ = 0;
  looked_ = Clock::now();
  return stream_ ? d.start_after(*stream_, lanes) : Status::ok;
}

// Blocks without a home and copied inputs are in the first lane's memory.
Status Run::share_homes() noexcept {
  return scratch_ || inputs_copy_ ? device_->device().join(0, device_->lanes()) : Status::ok;
}

Status Run::quantise_ahead() noexcept {
  if (!reduces_ || spec_.codes != payload::Codes::ahead) return Status::ok;
  executor_->unit = 0;
  for (std::uint32_t c = 0; c < cells_.size(); ++c) {
    if (cells_[c].value.raw == nullptr || unloaded_[c] != 0) continue;
    if (const Status s = worker_.quantise(cells_[c]); s != Status::ok) return s;
  }
  return Status::ok;
}

// Blocks that meet are cut alike, so segments have one lane.
Status Run::enter_lanes() noexcept {
  for (std::uint32_t c = 0; c < cells_.size(); ++c) cells_[c].lane = &device_->lane_of(plan_.segment(c));
  for (const Unit& unit : plan_.units) {
    if (unit.task != Task::copy && unit.task != Task::combine) continue;
    for (std::uint32_t i = 0; i < unit.cells; ++i) {
      if (at(unit.src + i).lane != at(unit.dst + i).lane)
        return fail(Status::internal, "a step names segments of two lanes of a device");
    }
  }
  return Status::ok;
}

std::uint32_t Run::lanes_of(const Unit& unit) const noexcept {
  std::uint32_t lanes = 0;
  const std::uint32_t first = unit.task == Task::send ? unit.src : unit.dst;
  for (std::uint32_t i = 0; i < unit.cells; ++i) lanes |= 1u << cells_[plan_.cell(first + i)].lane->number;
  return lanes;
}

Status Run::collect(const Unit& unit, Departure* departure) noexcept {
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    payload::Cell& cell = at(unit.src + i);
    Status s = load(cell, plan_.cell(unit.src + i));
    if (s == Status::ok)
      s = unit.raw ? worker_.pack_raw(cell, from_stream_ && plan_.is_final(unit, unit.src + i)) : worker_.pack(cell);
    if (s != Status::ok) return s;
    Part part;
    part.lane = cell.lane;
    departure->fixed = departure->fixed && (!unit.raw || cell.value.raw_fixed);
    if (unit.raw) {
      part.data = cell.value.raw;
      part.keeps = cell.value.raw_store;
      part.bytes = worker_.raw_bytes(cell.count);
    } else if (cell.value.absent) {
      part.bytes = 1;
    } else {
      part.data = cell.value.stream.buffer.data() + cell.value.stream.offset;
      part.keeps = cell.value.stream.buffer;
      part.bytes = payload::Buffer::unknown;
    }
    try {
      departure->parts.push_back(std::move(part));
    } catch (const std::bad_alloc&) {
      return fail(Status::out_of_memory, "no memory for a message of {} blocks", unit.cells);
    }
  }
  return Status::ok;
}

// Begins later (advance_departure), or at once as a mark.
Status Run::depart(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  if (status_ == Status::ok && unit.cells > 0) {
    Departure departure;
    departure.unit = u;
    Status s = collect(unit, &departure);
    const Status marked = device_->mark(lanes_of(unit), &departure.staged);
    if (s == Status::ok) s = marked;
    try {
      if (s == Status::ok) departures_.push_back(std::move(departure));
    } catch (const std::bad_alloc&) {
      s = fail(Status::out_of_memory, "no memory for a message");
    }
    if (s == Status::ok) {
      live_[u].state = State::moving;
      return s;
    }
    failed(s, &unit);
  }
  if (status_ == Status::ok) return send_bytes(u, nullptr, 0, true);
  skip_crossing(u);
  return send_mark(u);
}

// Copies the message, of known lengths, to pinned memory.
Status Run::stage(Departure& d) noexcept {
  std::size_t total = 0;
  for (const Part& p : d.parts) total += p.bytes;
  if (const Status s = pool_->take(total, &d.staging); s != Status::ok) return s;
  Status s = Status::ok;
  std::byte* to = d.staging.data();
  for (const Part& p : d.parts) {
    if (p.data == nullptr) {
      *to = absent_mark;
    } else if (s == Status::ok) {
      device_->enter(*p.lane);
      s = device_->copy(to, p.data, p.bytes);
    }
    to += p.bytes;
  }
  const Status marked = device_->mark(lanes_of(plan_.units[d.unit]), &d.staged);
  d.bytes = total;
  return s == Status::ok ? marked : s;
}

bool Run::advance_departure(Departure& d) noexcept {
  const Unit& unit = plan_.units[d.unit];
  const bool crosses = live_[d.unit].crossing != none;
  if (status_ == Status::ok && !d.staging) {
    for (Part& p : d.parts) {
      if (p.bytes == payload::Buffer::unknown) p.bytes = p.keeps.content();
      if (p.bytes == payload::Buffer::unknown) return false;
    }
    if (const Status s = crosses ? Status::ok : stage(d); s != Status::ok) failed(s, &unit);
  }
  if (status_ == Status::ok && !device_->device().passed(d.staged)) return false;
  Status s = Status::ok;
  if (status_ == Status::ok && crosses) {
    s = announce(d);
  } else if (status_ == Status::ok) {
    live_[d.unit].hold.buffer = d.staging;
    s = send_bytes(d.unit, d.staging.data(), d.bytes, true);
  } else {
    static_cast<void>(device_->device().keep(d.staging, d.staged));
    skip_crossing(d.unit);
    s = send_mark(d.unit);
  }
  if (s == Status::ok) return true;
  strand(s, &unit);
  if (live_[d.unit].transfers == 0) {
    release(d.unit);
    done(d.unit);
  }
  return true;
}

// The device uses `arrived` for some time after.
Status Run::close_unit(Status so_far, const Unit& unit, const payload::Buffer& arrived,
                       device::LanePositions* after) noexcept {
  Status s = device_->mark(lanes_of(unit), after);
  if (s == Status::ok) s = device_->device().keep(arrived, *after);
  return so_far != Status::ok ? so_far : s;
}

Status Run::bring(payload::Stream* stream) noexcept {
  payload::Buffer on_device;
  const codec::Bytes bytes = stream->bytes();
  if (const Status s = device_->upload(bytes.data(), bytes.size(), &on_device); s != Status::ok) return s;
  on_device.set_content(bytes.size());
  *stream = {on_device, 0, bytes.size()};
  return Status::ok;
}

Status Run::take_raw(payload::Cell& cell, const std::byte* arrived, const Unit& unit) noexcept {
  const std::size_t bytes = worker_.raw_bytes(cell.count);
  if (unit.task == Task::receive_replace && cell.home != nullptr) {
    if (const Status s = device_->copy(cell.home, arrived, bytes); s != Status::ok) return s;
    worker_.landed(cell);
    return Status::ok;
  }
  payload::Buffer on_device;
  if (const Status s = device_->upload(arrived, bytes, &on_device); s != Status::ok) return s;
  return unit.task == Task::receive_combine ? worker_.meet(cell, on_device.data(), on_device, unit.incoming_first)
                                            : worker_.replace(cell, on_device.data(), on_device);
}

bool Run::advance_device() noexcept {
  Device& device = device_->device();
  const std::size_t left = left_, departing = departures_.size();
  const std::uint64_t open = device_->open();
  const Clock::time_point now = Clock::now();
  if (open > 0) codec_seconds_ += std::chrono::duration<double>(now - looked_).count();
  looked_ = now;
  Status lost = device_->mark_rest();
  if (lost == Status::ok) lost = device_->poll();
  if (lost != Status::ok) failed(lost, nullptr);
  std::uint32_t unit = 0;
  if (const Status s = device_->failed(&unit); s != Status::ok) failed(s, &plan_.units[unit]);
  std::erase_if(departures_, [this](Departure& d) { return advance_departure(d); });
  std::erase_if(returning_, [this](std::uint32_t u) { return return_loans(u); });
  const bool began = begin_crossings();
  if (left_ == 1 && departures_.empty()) end_on_device(lost == Status::ok ? device.usable() : lost);
  return began || left_ != left || departures_.size() != departing || device_->open() != open;
}

// The device may still be at work.
void Run::end_on_device(Status usable) noexcept {
  Device& device = device_->device();
  if (!ending_ && usable == Status::ok) {
    ending_ = true;
    if (stream_) usable = device.end_before(*stream_);
    if (usable == Status::ok) usable = device.mark((1u << device_->lanes()) - 1, &last_);
    if (usable != Status::ok) failed(usable, nullptr);
  }
  const bool leaves = leaves_early_ && status_ == Status::ok;
  if (usable != Status::ok || leaves || device.passed(last_)) left_ = 0;
}

// Keeps memory until the device has passed it.
void Run::leave_device() noexcept {
  Device& device = device_->device();
  const Device::Visit visit(device);
  for (const Departure& d : departures_) static_cast<void>(device.keep(d.staging, d.staged));
  departures_.clear();
  static_cast<void>(device.keep(scratch_, last_));
  static_cast<void>(device.keep(inputs_copy_, last_));
  device_.reset();
}

}  // namespace stretto::engine
