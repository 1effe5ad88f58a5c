#include <algorithm>
#include <cstring>

#include "engine/run.hpp"

namespace stretto::engine {

Status Run::send_bytes(std::uint32_t u, const void* data, std::size_t bytes, bool early) noexcept {
  Live& live = live_[u];
  const Unit& unit = plan_.units[u];
  live.early = early;
  live.state = State::moving;
  Status s = Status::ok;
  if (!unit.raw && unit.cells > 0 && bytes > room_for(unit)) {
    live.notice = {notice_mark, bytes};
    s = carrier_->start_send(unit.peer, tag_of(unit), &live.notice, sizeof(Notice), id_of(u) | notice_bit);
    live.transfers += s == Status::ok;
  }
  if (s == Status::ok) {
    s = carrier_->start_send(unit.peer, tag_of(unit), data, bytes, id_of(u));
    live.transfers += s == Status::ok;
  }
  if (s != Status::ok) {
    // Without a transfer, or with only the notice's, the unit ends with that.
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

Status Run::execute_send(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  Live& live = live_[u];
  Hold hold;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool early = true;
  if (status_ == Status::ok && unit.cells > 0) {
    Status s = Status::ok;
    if (!unit.raw) {
      s = pack_streams(unit, &hold, &data, &bytes);
    } else {
      bytes = worker_.raw_bytes(elements(unit));
      s = pack_raw(unit, &hold, &data, &early);
    }
    if (s != Status::ok) failed(s, &unit);
  }
  if (status_ != Status::ok) return send_mark(u);
  live.hold = std::move(hold);
  return send_bytes(u, data, bytes, early);
}

Status Run::send_mark(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  const bool one_byte = unit.raw && worker_.raw_bytes(elements(unit)) == 1;
  live_[u].hold = {};
  return send_bytes(u, &mark_, one_byte ? 0 : 1, true);
}

// *early: no unit writes the sent memory, so others need not wait for the transfer.
Status Run::pack_raw(const Unit& unit, Hold* hold, const std::byte** data, bool* early) noexcept {
  bool adjacent = true;
  *early = true;
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    payload::Cell& cell = at(unit.src + i);
    if (const Status s = load(cell, plan_.cell(unit.src + i)); s != Status::ok) return s;
    if (const Status s = worker_.pack_raw(cell, from_stream_ && plan_.is_final(unit, unit.src + i)); s != Status::ok)
      return s;
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

}  // namespace stretto::engine
