#include <algorithm>
#include <cstring>

#include "engine/run.hpp"

namespace stretto::engine {
// Room of a posted receive; at least one byte, for a mark.
std::size_t Run::room_for(const Unit& unit) const noexcept {
  if (between_ != nullptr && unit.cells > 0) return announcement_bytes(unit.cells);
  std::size_t bytes = 0;
  const std::uint32_t first = unit.task == Task::send ? unit.src : unit.dst;
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    const std::size_t n = plan_.places[first + i].count;
    bytes += unit.raw ? worker_.raw_bytes(n) : worker_.message_bound(n);
  }
  return std::max(bytes, sizeof(Notice));
}

// Raw values that replace adjacent homes land there directly.
bool Run::lands_in_place(const Unit& unit) const noexcept {
  if (!unit.raw || unit.task != Task::receive_replace || unit.cells == 0 || device_ != nullptr) return false;
  if (cells_[plan_.cell(unit.dst)].home == nullptr) return false;
  for (std::uint32_t i = 0; i + 1 < unit.cells; ++i) {
    const payload::Cell& a = cells_[plan_.cell(unit.dst + i)];
    const payload::Cell& b = cells_[plan_.cell(unit.dst + i + 1)];
    if (b.home == nullptr || a.home + worker_.raw_bytes(a.count) != b.home) return false;
  }
  return true;
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
    if (s == Status::ok && live.crossing != none) s = take_landing(u);
    if (s == Status::ok) s = carrier_->start_recv(peer, tag_of(unit), live.hold.buffer.data(), bytes, id_of(u));
    if (s == Status::ok) {
      live.state = State::posted;
      continue;
    }
    strand(s, &unit);
    complete(u, {id_of(u), 0, s});
  }
}

// False: the message is the stream itself.
bool Run::expect_long(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  Live& live = live_[u];
  Notice notice;
  if (unit.raw || unit.cells == 0 || live.bytes != sizeof(Notice)) return false;
  std::memcpy(&notice, live.hold.buffer.data(), sizeof(Notice));
  if (notice.mark != notice_mark) return false;
  std::size_t most = 0;
  for (std::uint32_t i = 0; i < unit.cells; ++i) most += worker_.longest(plan_.places[unit.dst + i].count);
  if (notice.bytes > most) return false;
  Status s = pool_->take(static_cast<std::size_t>(notice.bytes), &live.hold.buffer);
  if (s == Status::ok) {
    s = carrier_->start_recv(unit.peer, tag_of(unit), live.hold.buffer.data(), static_cast<std::size_t>(notice.bytes),
                             id_of(u));
  }
  if (s == Status::ok) {
    live.state = State::posted;
    return true;
  }
  strand(s, &unit);
  return false;
}

Status Run::failed_peer(std::int32_t peer, std::byte mark) noexcept {
  const int code = std::to_integer<int>(mark);
  const Status s =
      code >= 1 && code <= static_cast<int>(Status::internal) ? static_cast<Status>(code) : Status::internal;
  return fail(s, "rank {} had failed ({})", peer, name(s));
}

Status Run::check_arrival(const Unit& unit, const std::byte* data, std::size_t bytes) noexcept {
  const std::size_t raw = worker_.raw_bytes(elements(unit));
  const bool streams = !unit.raw && unit.cells > 0;
  const bool marked = streams ? bytes == 1 && data[0] != absent_mark : raw == 1 ? bytes == 0 : bytes == 1;
  if (marked) return failed_peer(unit.peer, bytes == 1 ? data[0] : std::byte{0});
  if (!streams && bytes != raw) {
    return fail(Status::incompatible, "{} bytes came from rank {} where {} were expected", bytes, unit.peer, raw);
  }
  return Status::ok;
}

Status Run::parse(const Unit& unit, const payload::Buffer& buffer, std::size_t bytes, std::size_t* offset,
                  std::uint32_t i, payload::Stream* stream) noexcept {
  const std::size_t count = plan_.places[unit.dst + i].count;
  if (*offset >= bytes)
    return fail(Status::corrupt_stream, "rank {} sent {} streams where {} were expected", unit.peer, i, unit.cells);
  const codec::Bytes rest{buffer.data() + *offset, bytes - *offset};
  if (rest[0] == absent_mark) {
    *stream = {};
    ++*offset;
  } else {
    codec::Info info;
    if (const Status s = codec::inspect(rest, &info); s != Status::ok) return s;
    if (info.count != count || info.type != payload::codec_type(spec_.type)) {
      return fail(Status::incompatible, "rank {} sent {} values of {} where {} of {} were expected", unit.peer,
                  info.count, codec::name(info.type), count, payload::name(spec_.type));
    }
    *stream = {buffer, *offset, static_cast<std::size_t>(info.bytes)};
    *offset += static_cast<std::size_t>(info.bytes);
  }
  if (i + 1 == unit.cells && *offset != bytes) {
    return fail(Status::corrupt_stream, "{} bytes from rank {} follow its last stream", bytes - *offset, unit.peer);
  }
  return Status::ok;
}

Status Run::execute_receive(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  Live& live = live_[u];
  const Hold hold = std::move(live.hold);
  live.hold = {};
  --queues_[static_cast<std::size_t>(unit.peer)].open;
  post_receives(unit.peer);
  if (live.crossing != none) {
    device::LanePositions read;
    const Status s = status_ == Status::ok ? close_unit(consume_crossed(u, hold), unit, {}, &read) : Status::ok;
    crossings_[live.crossing].free = read;
    keep_loans(u);
    return s;
  }
  if (status_ != Status::ok) return Status::ok;
  const Status s = consume(u, hold);
  device::LanePositions read;
  return device_ == nullptr ? s : close_unit(s, unit, hold.buffer, &read);
}

Status Run::consume(std::uint32_t u, const Hold& hold) noexcept {
  const Unit& unit = plan_.units[u];
  const Live& live = live_[u];
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
    executor_->enter(*cell.lane);
    if (!unit.raw) {
      payload::Stream stream;
      s = parse(unit, hold.buffer, live.bytes, &offset, i, &stream);
      if (s == Status::ok && device_ != nullptr && stream) s = bring(&stream);
      if (s != Status::ok) return s;
      s = combines ? worker_.meet(cell, std::move(stream), unit.incoming_first)
                   : worker_.replace(cell, std::move(stream));
    } else if (device_ != nullptr) {
      s = take_raw(cell, data + offset, unit);
      offset += worker_.raw_bytes(cell.count);
    } else if (combines) {
      s = worker_.meet(cell, data + offset, hold.buffer, unit.incoming_first);
      offset += worker_.raw_bytes(cell.count);
    } else {
      s = worker_.replace(cell, data + offset, hold.buffer);
      offset += worker_.raw_bytes(cell.count);
    }
    if (s != Status::ok) return s;
  }
  return Status::ok;
}

}  // namespace stretto::engine
