#include "engine/run/inbox.hpp"

#include <algorithm>
#include <cstring>

namespace stretto::engine {

using Phase = Units::Phase;

Status failed_peer(std::int32_t peer, const std::byte* mark, std::size_t bytes) noexcept {
  const int code = bytes == 1 ? std::to_integer<int>(*mark) : 0;
  const Status s =
      code >= 1 && code <= static_cast<int>(Status::internal) ? static_cast<Status>(code) : Status::internal;
  return fail(s, "rank {} had failed ({})", peer, name(s));
}

bool Inbox::needs_buffer(std::uint32_t u) const noexcept {
  return receives(run_.plan.units[u].task) && run_.units[u].way != Way::in_place;
}

// At least one byte, for a mark.
std::size_t Inbox::room_for(std::uint32_t u) const noexcept {
  const Unit& unit = run_.plan.units[u];
  if (run_.units[u].way == Way::direct) return announcement_bytes(unit.cells);
  return std::max(run_.values.message_bound(unit), sizeof(Notice));
}

void Inbox::begin() {
  queues_.assign(static_cast<std::size_t>(run_.values.schedule().ranks), Queue{});
  receives_.clear();
  for (std::uint32_t u = 0; u < run_.units.count(); ++u) {
    if (needs_buffer(u)) ++queues_[static_cast<std::size_t>(run_.plan.units[u].peer)].end;
  }
  std::uint32_t first = 0;
  for (Queue& q : queues_) {
    q.next = first;
    first += q.end;
    q.end = q.next;
  }
  receives_.resize(first);
  for (std::uint32_t u = 0; u < run_.units.count(); ++u) {
    if (needs_buffer(u)) receives_[queues_[static_cast<std::size_t>(run_.plan.units[u].peer)].end++] = u;
  }
}

void Inbox::post_all() noexcept {
  for (Queue& queue : queues_) post_receives(queue);
}

void Inbox::post_receives(Queue& q) noexcept {
  while (q.next < q.end && q.open < std::max(run_.options.window, 1)) {
    const std::uint32_t u = receives_[q.next++];
    ++q.open;
    if (const Status s = post(u, room_for(u)); s != Status::ok) {
      run_.failure.strand(s, &run_.plan.units[u]);
      arrived(u, {0, 0, s});
    }
  }
}

Status Inbox::post(std::uint32_t u, std::size_t bytes) noexcept {
  UnitState& state = run_.units[u];
  Status s = run_.pool->take(bytes, &state.hold);
  if (s == Status::ok && state.way == Way::direct) s = run_.traffic->prepare(u);
  if (s == Status::ok) s = run_.channel.receive(u, state.hold.data(), bytes);
  if (s != Status::ok) return s;
  ++state.transfers;
  state.phase = Phase::posted;
  return s;
}

void Inbox::arrived(std::uint32_t u, const carrier::Completion& completion) noexcept {
  const Unit& unit = run_.plan.units[u];
  UnitState& state = run_.units[u];
  const Status status = completion.status;
  if (status == Status::incompatible) {
    run_.failure.record(fail(status, "a message of {} bytes from rank {} is longer than the {} expected",
                             completion.bytes, unit.peer, room_for(u)),
                        &unit);
  } else if (status != Status::ok) {
    run_.failure.record(status, &unit);
  }
  if (state.way == Way::in_place) {
    if (!run_.failure.any()) {
      const Status s = check(unit, run_.values.at(unit.dst).home, completion.bytes);
      if (s != Status::ok) run_.failure.record(s, &unit);
      run_.values.landed(unit);
    }
    run_.units.release(u);
    run_.units.finish(u);
    return;
  }
  state.bytes = completion.bytes;
  const bool more = state.way == Way::direct ? run_.traffic->land(u) : status == Status::ok && expect_long(u);
  if (!more) run_.units.arrived(u);
}

// False: the message is the stream itself.
bool Inbox::expect_long(std::uint32_t u) noexcept {
  const Unit& unit = run_.plan.units[u];
  UnitState& state = run_.units[u];
  Notice notice;
  const bool may_be_long = !unit.raw && unit.cells > 0 && run_.values.worker().has_header();
  if (!may_be_long || state.bytes != sizeof(Notice)) return false;
  std::memcpy(&notice, state.hold.data(), sizeof(Notice));
  if (notice.mark != kNoticeMark) return false;
  std::size_t most = 0;
  for (std::uint32_t i = 0; i < unit.cells; ++i)
    most += run_.values.worker().longest(run_.plan.places[unit.dst + i].count);
  if (notice.bytes > most) return false;
  const Status s = post(u, static_cast<std::size_t>(notice.bytes));
  if (s != Status::ok) run_.failure.strand(s, &unit);
  return s == Status::ok;
}

void Inbox::receive(std::uint32_t u) noexcept {
  const Unit& unit = run_.plan.units[u];
  UnitState& state = run_.units[u];
  Status s = Status::ok;
  if (state.way == Way::in_place) {
    s = run_.channel.receive(u, run_.values.at(unit.dst).home, run_.values.raw_bytes(unit));
    if (s == Status::ok) {
      ++state.transfers;
      state.phase = Phase::moving;
      return;
    }
    run_.failure.strand(s, &unit);
  } else {
    const payload::Buffer hold = std::exchange(state.hold, {});
    Queue& queue = queues_[static_cast<std::size_t>(unit.peer)];
    --queue.open;
    post_receives(queue);
    if (state.way == Way::direct) {
      s = run_.traffic->consume(u, hold);
    } else if (!run_.failure.any()) {
      s = consume(u, hold);
    }
  }
  if (s != Status::ok) run_.failure.record(s, &unit);
  run_.units.release(u);
  if (state.phase != Phase::returns) run_.units.finish(u);
}

Status Inbox::check(const Unit& unit, const std::byte* data, std::size_t bytes) const noexcept {
  const std::size_t raw = run_.values.raw_bytes(unit);
  const bool streams = !unit.raw && unit.cells > 0;
  const bool marked = streams ? bytes == 1 && data[0] != kAbsentMark : raw == 1 ? bytes == 0 : bytes == 1;
  if (marked) return failed_peer(unit.peer, data, bytes);
  if (!streams && bytes != raw) {
    return fail(Status::incompatible, "{} bytes came from rank {} where {} were expected", bytes, unit.peer, raw);
  }
  return Status::ok;
}

// *bytes: the length of compressed block i at the beginning of `rest`.
Status Inbox::parse(const Unit& unit, std::uint32_t i, codec::Bytes rest, std::size_t* bytes) const noexcept {
  const std::size_t count = run_.plan.places[unit.dst + i].count;
  const payload::Type type = run_.values.spec().type;
  if (rest.empty())
    return fail(Status::corrupt_stream, "rank {} sent {} streams where {} were expected", unit.peer, i, unit.cells);
  *bytes = 1;
  if (!run_.values.worker().has_header()) {
    *bytes = run_.values.worker().message_bound(count);
    if (*bytes > rest.size())
      return fail(Status::corrupt_stream, "rank {} sent {} bytes of a block of {}", unit.peer, rest.size(), *bytes);
  } else if (rest[0] != kAbsentMark) {
    codec::Info info;
    if (const Status s = codec::inspect(rest, &info); s != Status::ok) return s;
    if (info.count != count || info.type != payload::codec_type(type)) {
      return fail(Status::incompatible, "rank {} sent {} values of {} where {} of {} were expected", unit.peer,
                  info.count, codec::name(info.type), count, payload::name(type));
    }
    *bytes = static_cast<std::size_t>(info.bytes);
  }
  if (i + 1 == unit.cells && *bytes != rest.size()) {
    return fail(Status::corrupt_stream, "{} bytes from rank {} follow its last stream", rest.size() - *bytes,
                unit.peer);
  }
  return Status::ok;
}

Status Inbox::consume(std::uint32_t u, const payload::Buffer& hold) noexcept {
  const Unit& unit = run_.plan.units[u];
  const UnitState& state = run_.units[u];
  Status s = check(unit, hold.data(), state.bytes);
  std::size_t offset = 0, bytes = 0;
  for (std::uint32_t i = 0; i < unit.cells && s == Status::ok; ++i, offset += bytes) {
    const payload::Cell& cell = run_.values.at(unit.dst + i);
    if (unit.raw) {
      bytes = run_.values.worker().raw_bytes(cell.count);
    } else {
      s = parse(unit, i, {hold.data() + offset, state.bytes - offset}, &bytes);
      if (s != Status::ok) break;
    }
    payload::Stream arrived;
    const bool absent = !unit.raw && run_.values.worker().has_header() && hold.data()[offset] == kAbsentMark;
    if (!absent) arrived = {hold, offset, bytes};
    if (state.way == Way::staged && arrived) s = run_.traffic->bring(unit, cell, &arrived);
    if (s == Status::ok) s = run_.values.take_in(unit, i, std::move(arrived));
  }
  if (state.way != Way::staged) return s;
  const Status kept = run_.traffic->keep(unit, hold);
  return s == Status::ok ? kept : s;
}

}  // namespace stretto::engine
