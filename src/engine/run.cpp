#include "engine/run.hpp"

#include <algorithm>
#include <cstring>

#include "schedule/names.hpp"

namespace stretto::engine {
namespace {

// What a failed rank sends in place of a message is one byte, its status; where a proper message is itself one byte long,
// it is empty. An absent contribution travels as one zero byte in place of its stream.
constexpr std::byte absent_mark{0};

// First byte of a notice; streams begin with another.
constexpr std::uint64_t notice_mark = 0xFE;

double seconds_between(Clock::time_point a, Clock::time_point b) noexcept { return std::chrono::duration<double>(b - a).count(); }

bool receives(Task task) noexcept { return task == Task::receive_replace || task == Task::receive_combine; }

Status status_of(std::byte mark) noexcept {
  const int code = std::to_integer<int>(mark);
  return code >= 1 && code <= static_cast<int>(Status::internal) ? static_cast<Status>(code) : Status::internal;
}

}  // namespace

std::size_t Run::elements(const Unit& unit) const noexcept {
  std::size_t sum = 0;
  const std::uint32_t first = unit.task == Task::send ? unit.src : unit.dst;
  for (std::uint32_t i = 0; i < unit.cells; ++i) sum += plan_.places[first + i].count;
  return sum;
}

// Bytes that a receive is posted with; at least one, for the mark of a failed peer.
std::size_t Run::room_for(const Unit& unit) const noexcept {
  std::size_t bytes = 0;
  const std::uint32_t first = unit.task == Task::send ? unit.src : unit.dst;
  for (std::uint32_t i = 0; i < unit.cells; ++i) bytes += worker_.message_bound(plan_.places[first + i].count);
  return std::max(bytes, sizeof(Notice));
}

// Raw values that replace what neighbouring homes hold are received where they belong.
bool Run::lands_in_place(const Unit& unit) const noexcept {
  if (worker_.compressed() || unit.task != Task::receive_replace || unit.cells == 0) return false;
  for (std::uint32_t i = 0; i + 1 < unit.cells; ++i) {
    const payload::Cell& a = cells_[plan_.cell(unit.dst + i)];
    const payload::Cell& b = cells_[plan_.cell(unit.dst + i + 1)];
    if (a.home + worker_.raw_bytes(a.count) != b.home) return false;
  }
  return true;
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

void Run::queue_receives() {
  const auto ranks = static_cast<std::size_t>(schedule_->ranks);
  queues_.assign(ranks, Queue{});
  receives_.clear();
  std::size_t total = 0;
  for (const Unit& u : plan_.units) {
    if (!receives(u.task) || lands_in_place(u)) continue;
    ++queues_[static_cast<std::size_t>(u.peer)].end;
    ++total;
  }
  receives_.resize(total);
  std::uint32_t first = 0;
  for (Queue& q : queues_) {
    const std::uint32_t n = q.end;
    q.next = q.end = first;
    first += n;
  }
  for (std::uint32_t u = 0; u < plan_.units.size(); ++u) {
    const Unit& unit = plan_.units[u];
    if (!receives(unit.task) || lands_in_place(unit)) continue;
    receives_[queues_[static_cast<std::size_t>(unit.peer)].end++] = u;
  }
}

void Run::post_receives(std::int32_t peer) noexcept {
  Queue& q = queues_[static_cast<std::size_t>(peer)];
  while (q.next < q.end && q.open < std::max(options_.window, 1)) {
    const std::uint32_t u = receives_[q.next++];
    const Unit& unit = plan_.units[u];
    Live& live = live_[u];
    ++q.open;
    const std::size_t bytes = room_for(unit);
    Status s = pool_->take(bytes, &live.hold.buffer);
    if (s == Status::ok) s = carrier_->start_recv(peer, tag_of(unit), live.hold.buffer.data(), bytes, id_of(u));
    if (s == Status::ok) {
      live.state = State::posted;
      continue;
    }
    failed(s, &unit);
    complete(u, {id_of(u), 0, s});
  }
}

void Run::make_ready(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  Live& live = live_[u];
  if (unit.task == Task::deliver) {
    live.state = State::ready;
    deliveries_.push_back(u);
    return;
  }
  if (receives(unit.task) && !lands_in_place(unit)) {
    if (live.state != State::arrived) return;  // complete() comes back here
  } else {
    live.state = State::ready;
  }
  ready_.push_back(u);
}

bool Run::advance(int budget) noexcept {
  bool some = false;
  for (; budget > 0; --budget) {
    if (next_ready_ < ready_.size()) {
      execute(ready_[next_ready_++]);
    } else if (next_delivery_ < deliveries_.size()) {
      execute(deliveries_[next_delivery_++]);
    } else {
      break;
    }
    some = true;
  }
  if (some) moved_ = Clock::now();
  return some;
}

void Run::execute(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  Status s = Status::ok;
  switch (unit.task) {
    case Task::send: s = execute_send(u); break;
    case Task::receive_replace:
      if (lands_in_place(unit)) {
        s = carrier_->start_recv(unit.peer, tag_of(unit), at(unit.dst).home, worker_.raw_bytes(elements(unit)), id_of(u));
        if (s == Status::ok) {
          live_[u].state = State::moving;
          return;
        }
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
    if (s != Status::ok && live_[u].state != State::moving) {
      if (!live_[u].early) release(u);
      done(u);
    }
    return;
  }
  release(u);
  done(u);
}

Status Run::send_bytes(std::uint32_t u, const void* data, std::size_t bytes, bool early) noexcept {
  Live& live = live_[u];
  const Unit& unit = plan_.units[u];
  live.early = early;
  live.state = State::moving;
  Status s = Status::ok;
  if (worker_.compressed() && unit.cells > 0 && bytes > room_for(unit)) {
    live.notice = {notice_mark, bytes};
    s = carrier_->start_send(unit.peer, tag_of(unit), &live.notice, sizeof(Notice), id_of(u) | notice_bit);
    live.transfers += s == Status::ok;
  }
  if (s == Status::ok) {
    s = carrier_->start_send(unit.peer, tag_of(unit), data, bytes, id_of(u));
    live.transfers += s == Status::ok;
  }
  if (s != Status::ok) {
    // Nothing is on its way, or only the notice: then the unit ends with that.
    if (live.transfers == 0) live.state = State::ready;
    live.early = false;
    return s;
  }
  bytes_sent_ += bytes;
  ++messages_;
  raw_bytes_ += worker_.raw_bytes(elements(unit));
  if (early) release(u);
  return s;
}

// A notice came in place of a stream: receive what it announces. False when what came is the message itself.
bool Run::expect_long(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  Live& live = live_[u];
  Notice notice;
  if (!worker_.compressed() || unit.cells == 0 || live.bytes != sizeof(Notice)) return false;
  std::memcpy(&notice, live.hold.buffer.data(), sizeof(Notice));
  if (notice.mark != notice_mark) return false;
  std::size_t most = 0;
  for (std::uint32_t i = 0; i < unit.cells; ++i) most += worker_.longest(plan_.places[unit.dst + i].count);
  if (notice.bytes > most) return false;
  Status s = pool_->take(static_cast<std::size_t>(notice.bytes), &live.hold.buffer);
  if (s == Status::ok) {
    s = carrier_->start_recv(unit.peer, tag_of(unit), live.hold.buffer.data(), static_cast<std::size_t>(notice.bytes), id_of(u));
  }
  if (s == Status::ok) {
    live.state = State::posted;
    return true;
  }
  failed(s, &unit);
  return false;
}

Status Run::execute_send(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  Live& live = live_[u];
  Hold hold;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool early = true;
  if (status_ == Status::ok && unit.cells > 0) {
    Status s = Status::ok;
    if (worker_.compressed()) {
      s = pack_streams(unit, &hold, &data, &bytes);
    } else {
      bytes = worker_.raw_bytes(elements(unit));
      s = pack_raw(unit, &hold, &data, &early);
    }
    if (s != Status::ok) failed(s, &unit);
  }
  if (status_ != Status::ok) {
    const bool one_byte = !worker_.compressed() && worker_.raw_bytes(elements(unit)) == 1;
    live.hold = {};
    return send_bytes(u, &mark_, one_byte ? 0 : 1, true);
  }
  live.hold = std::move(hold);
  return send_bytes(u, data, bytes, early);
}

// *early: what is sent is nobody's to write, so that units which wait for this one need not wait for the transfer.
Status Run::pack_raw(const Unit& unit, Hold* hold, const std::byte** data, bool* early) noexcept {
  bool adjacent = true;
  *early = true;
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    payload::Cell& cell = at(unit.src + i);
    if (const Status s = load(cell, plan_.cell(unit.src + i)); s != Status::ok) return s;
    if (const Status s = worker_.pack(cell); s != Status::ok) return s;
    *early = *early && cell.value.raw_fixed;
    adjacent = adjacent && (unit.cells == 1 || !cell.value.raw_store);
    if (i > 0) {
      const payload::Cell& last = at(unit.src + i - 1);
      adjacent = adjacent && last.value.raw + worker_.raw_bytes(last.count) == cell.value.raw;
    }
  }
  if (adjacent) {
    *data = at(unit.src).value.raw;
    hold->buffer = at(unit.src).value.raw_store;
    return Status::ok;
  }
  if (const Status s = pool_->take(worker_.raw_bytes(elements(unit)), &hold->buffer); s != Status::ok) return s;
  std::byte* to = hold->buffer.data();
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    const payload::Cell& cell = at(unit.src + i);
    std::memcpy(to, cell.value.raw, worker_.raw_bytes(cell.count));
    to += worker_.raw_bytes(cell.count);
  }
  *early = true;
  *data = hold->buffer.data();
  return Status::ok;
}

Status Run::pack_streams(const Unit& unit, Hold* hold, const std::byte** data, std::size_t* bytes) noexcept {
  std::size_t total = 0;
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    payload::Cell& cell = at(unit.src + i);
    if (const Status s = load(cell, plan_.cell(unit.src + i)); s != Status::ok) return s;
    if (const Status s = worker_.pack(cell); s != Status::ok) return s;
    total += cell.value.absent ? 1 : cell.value.stream.size;
  }
  *bytes = total;
  const payload::Value& only = at(unit.src).value;
  if (unit.cells == 1) {
    hold->stream = only.stream;
    *data = only.absent ? &absent_mark : only.stream.bytes().data();
    return Status::ok;
  }
  if (const Status s = pool_->take(total, &hold->buffer); s != Status::ok) return s;
  std::byte* to = hold->buffer.data();
  *data = to;
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    const payload::Value& value = at(unit.src + i).value;
    const std::byte* from = value.absent ? &absent_mark : value.stream.bytes().data();
    const std::size_t n = value.absent ? 1 : value.stream.size;
    std::memcpy(to, from, n);
    to += n;
  }
  return Status::ok;
}

// A message of the length that its unit expects, or a mark, or one that cannot be right.
Status Run::check_arrival(const Unit& unit, const std::byte* data, std::size_t bytes) noexcept {
  const std::size_t raw = worker_.raw_bytes(elements(unit));
  const bool streams = worker_.compressed() && unit.cells > 0;
  const bool marked = streams ? bytes == 1 && data[0] != absent_mark : raw == 1 ? bytes == 0 : bytes == 1;
  if (marked) {
    const Status s = bytes == 1 ? status_of(data[0]) : Status::internal;
    return fail(s, "rank {} had failed ({})", unit.peer, name(s));
  }
  if (!streams && bytes != raw) {
    return fail(Status::incompatible, "{} bytes came from rank {} where {} were expected", bytes, unit.peer, raw);
  }
  return Status::ok;
}

Status Run::parse(const Unit& unit, const payload::Buffer& buffer, std::size_t bytes, std::size_t* offset, std::uint32_t i,
                  payload::Stream* stream) noexcept {
  const std::size_t count = plan_.places[unit.dst + i].count;
  if (*offset >= bytes) return fail(Status::corrupt_stream, "rank {} sent {} streams where {} were expected", unit.peer, i, unit.cells);
  const codec::Bytes rest{buffer.data() + *offset, bytes - *offset};
  if (rest[0] == absent_mark) {
    *stream = {};
    ++*offset;
  } else {
    codec::Info info;
    if (const Status s = codec::inspect(rest, &info); s != Status::ok) return s;
    if (info.count != count || info.type != payload::codec_type(spec_.type)) {
      return fail(Status::incompatible, "rank {} sent {} values of {} where {} of {} were expected", unit.peer, info.count,
                  codec::name(info.type), count, payload::name(spec_.type));
    }
    *stream = {buffer, *offset, static_cast<std::size_t>(info.bytes)};
    *offset += static_cast<std::size_t>(info.bytes);
  }
  if (i + 1 == unit.cells && *offset != bytes) {
    return fail(Status::corrupt_stream, "{} bytes from rank {} follow its last stream", bytes - *offset, unit.peer);
  }
  return Status::ok;
}

// Consumes what arrived in a buffer.
Status Run::execute_receive(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  Live& live = live_[u];
  const Hold hold = std::move(live.hold);
  live.hold = {};
  --queues_[static_cast<std::size_t>(unit.peer)].open;
  post_receives(unit.peer);
  if (status_ != Status::ok) return Status::ok;
  std::byte* data = hold.buffer.data();
  if (const Status s = check_arrival(unit, data, live.bytes); s != Status::ok) return s;
  std::size_t offset = 0;
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    payload::Cell& cell = at(unit.dst + i);
    const bool combines = unit.task == Task::receive_combine;
    Status s = Status::ok;
    if (combines) {
      s = load(cell, plan_.cell(unit.dst + i));
    } else {
      unloaded_[plan_.cell(unit.dst + i)] = 0;
    }
    if (s != Status::ok) return s;
    if (worker_.compressed()) {
      payload::Stream stream;
      s = parse(unit, hold.buffer, live.bytes, &offset, i, &stream);
      if (s != Status::ok) return s;
      s = combines ? worker_.meet(cell, std::move(stream), unit.incoming_first) : worker_.replace(cell, std::move(stream));
    } else if (combines) {
      s = worker_.meet(cell, data + offset, hold.buffer, unit.incoming_first);
      offset += worker_.raw_bytes(cell.count);
    } else {
      std::memcpy(cell.home, data + offset, worker_.raw_bytes(cell.count));
      cell.value.clear();
      cell.value.raw = cell.home;
      offset += worker_.raw_bytes(cell.count);
    }
    if (s != Status::ok) return s;
  }
  return Status::ok;
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
  const std::uint32_t u = id & ~notice_bit;
  const Unit& unit = plan_.units[u];
  Live& live = live_[u];
  moved_ = Clock::now();
  if (completion.status != Status::ok) {
    if (completion.status == Status::incompatible && receives(unit.task)) {
      failed(fail(Status::incompatible, "a message from rank {} is longer than it may be", unit.peer), &unit);
    } else {
      failed(completion.status, &unit);
    }
  }
  if (receives(unit.task) && !lands_in_place(unit)) {
    live.bytes = completion.bytes;
    live.state = State::arrived;
    if (completion.status == Status::ok && expect_long(u)) return;
    if (live.waits_for == 0) make_ready(u);
    return;
  }
  if (unit.task == Task::receive_replace && status_ == Status::ok) {
    const Status s = check_arrival(unit, at(unit.dst).home, completion.bytes);
    if (s != Status::ok) failed(s, &unit);
    for (std::uint32_t i = 0; i < unit.cells; ++i) {
      payload::Cell& cell = at(unit.dst + i);
      cell.value.clear();
      cell.value.raw = cell.home;
    }
  }
  if (unit.task == Task::send && --live.transfers > 0) return;
  live.hold = {};
  if (!live.early) release(u);
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
}

bool Run::overdue(Clock::time_point now) const noexcept {
  return options_.timeout > 0 && seconds_between(moved_, now) > options_.timeout;
}

Status Run::finish(Report* report) noexcept {
  if (report != nullptr && status_ == Status::ok) {
    const payload::Seconds& spent = worker_.seconds();
    report->algorithm = schedule_->algorithm;
    report->payload = spec_.kind;
    report->raw_bytes = raw_bytes_;
    report->bytes_sent = bytes_sent_;
    report->messages_sent = messages_;
    report->segments = plan_.segments;
    report->compress_seconds = spent.compress;
    report->decompress_seconds = spent.decompress;
    report->combine_seconds = spent.combine;
    report->wait_seconds = wait_seconds_;
    report->total_seconds = seconds_between(begun_, Clock::now());
    report->contributions = contributions_;
    report->promised_error = payload::error_factor(spec_, reduces_, static_cast<int>(contributions_)) * spec_.eps;
    if (spec_.kind == payload::Kind::raw) report->promised_error = 0;
  }
  for (payload::Cell& cell : cells_) cell.value.clear();
  scratch_ = {};
  inputs_copy_ = {};
  schedule_.reset();
  active_ = false;
  return status_ == Status::ok ? Status::ok : fail(status_, text_);
}

}  // namespace stretto::engine
