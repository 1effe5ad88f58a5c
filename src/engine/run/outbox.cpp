#include "engine/run/outbox.hpp"

#include <algorithm>
#include <cstring>

namespace stretto::engine {

void Outbox::send(std::uint32_t u) noexcept {
  const Unit& unit = run_.plan.units[u];
  UnitState& state = run_.units[u];
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool early = true;
  if (!run_.failure.any() && unit.cells > 0) {
    const bool later = state.way != Way::buffered;
    const Status s = later ? run_.traffic->depart(u) : pack(unit, &state.hold, &data, &bytes, &early);
    if (later && s == Status::ok) return;
    if (s != Status::ok) run_.failure.record(s, &unit);
  }
  const Status s = run_.failure.any() ? send_mark(u) : send_bytes(u, data, bytes, early);
  if (s != Status::ok) strand(u, s);
}

Status Outbox::send_bytes(std::uint32_t u, const void* data, std::size_t bytes, bool early) noexcept {
  UnitState& state = run_.units[u];
  const Unit& unit = run_.plan.units[u];
  state.early = early;
  state.phase = Units::Phase::moving;
  Status s = Status::ok;
  if (!unit.raw && unit.cells > 0 && state.way != Way::direct && bytes > sizeof(Notice) &&
      bytes > run_.values.message_bound(unit)) {
    state.notice = {kNoticeMark, bytes};
    s = run_.channel.send(u, &state.notice, sizeof(Notice), kNoticeBit);
    state.transfers += s == Status::ok;
  }
  if (s == Status::ok) {
    s = run_.channel.send(u, data, bytes);
    state.transfers += s == Status::ok;
  }
  if (s != Status::ok) {  // without a transfer, or with only the notice's, the unit ends with that
    state.early = false;
    return s;
  }
  run_.bytes_sent += bytes;
  ++run_.messages;
  run_.raw_bytes += run_.values.raw_bytes(unit);
  if (early) run_.units.release(u);
  return s;
}

Status Outbox::send_mark(std::uint32_t u) noexcept {
  const Unit& unit = run_.plan.units[u];
  const bool one_byte = unit.raw && run_.values.raw_bytes(unit) == 1;
  if (run_.units[u].way == Way::direct) run_.traffic->skip(u);
  run_.units[u].hold = {};
  return send_bytes(u, run_.failure.mark(), one_byte ? 0 : 1, true);
}

void Outbox::strand(std::uint32_t u, Status status) noexcept {
  run_.failure.strand(status, &run_.plan.units[u]);
  if (run_.units[u].transfers > 0) return;
  run_.units.release(u);
  run_.units.finish(u);
}

void Outbox::completed(std::uint32_t u) noexcept {
  UnitState& state = run_.units[u];
  if (state.transfers + state.parts > 0) return;
  state.hold = {};
  if (!state.early) run_.units.release(u);
  run_.units.finish(u);
}

// Adjacent values are sent from their place; others are copied together.
Status Outbox::pack(const Unit& unit, payload::Buffer* hold, const std::byte** data, std::size_t* bytes,
                    bool* early) noexcept {
  if (const Status s = run_.values.pack(unit, early); s != Status::ok) return s;
  Piece piece = run_.values.packed(unit, 0);
  *bytes = piece.bytes;
  *data = piece.data != nullptr ? piece.data : &kAbsentMark;
  if (unit.cells == 1) {
    *hold = std::move(piece.keeps);
    return Status::ok;
  }
  bool adjacent = !piece.keeps;
  for (std::uint32_t i = 1; i < unit.cells; ++i) {
    piece = run_.values.packed(unit, i);
    adjacent = adjacent && !piece.keeps && *data + *bytes == piece.data;
    *bytes += piece.bytes;
  }
  if (adjacent) return Status::ok;
  if (const Status s = run_.pool->take(*bytes, hold); s != Status::ok) return s;
  std::byte* to = hold->data();
  *data = to;
  *early = true;
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    piece = run_.values.packed(unit, i);
    std::memcpy(to, piece.data != nullptr ? piece.data : &kAbsentMark, piece.bytes);
    to += piece.bytes;
  }
  return Status::ok;
}

}  // namespace stretto::engine
