#include "engine/run/values.hpp"

#include <algorithm>
#include <numeric>

namespace stretto::engine {

std::size_t Values::total_bytes() const noexcept {
  return worker_.raw_bytes(std::accumulate(blocks_.begin(), blocks_.end(), std::size_t{0},
                                           [](std::size_t sum, const Block& b) { return sum + b.count; }));
}

std::size_t Values::raw_bytes(const Unit& unit) const noexcept {
  std::size_t sum = 0;
  const std::uint32_t first = unit.first_cell();
  for (std::uint32_t i = 0; i < unit.cells; ++i) sum += plan_.places[first + i].count;
  return worker_.raw_bytes(sum);
}

std::size_t Values::message_bound(const Unit& unit) const noexcept {
  if (unit.raw) return raw_bytes(unit);
  std::size_t bytes = 0;
  const std::uint32_t first = unit.first_cell();
  for (std::uint32_t i = 0; i < unit.cells; ++i) bytes += worker_.message_bound(plan_.places[first + i].count);
  return bytes;
}

bool Values::lands_in_place(const Unit& unit) const noexcept {
  if (!unit.raw || unit.task != Task::receive_replace || unit.cells == 0) return false;
  if (at(unit.dst).home == nullptr) return false;
  for (std::uint32_t i = 0; i + 1 < unit.cells; ++i) {
    const payload::Cell& a = at(unit.dst + i);
    const payload::Cell& b = at(unit.dst + i + 1);
    if (b.home == nullptr || a.home + worker_.raw_bytes(a.count) != b.home) return false;
  }
  return true;
}

void Values::landed(const Unit& unit) noexcept {
  for (std::uint32_t i = 0; i < unit.cells; ++i) worker_.landed(at(unit.dst + i));
}

Status Values::load(std::uint32_t i) noexcept {
  const std::uint32_t index = plan_.cell(i);
  if (unloaded_[index] == 0) return Status::ok;
  unloaded_[index] = 0;
  payload::Cell& cell = cells_[index];
  if (several_) {
    for (std::size_t j = 0; j < inputs_.size(); ++j) {
      parts_[j] = static_cast<const std::byte*>(inputs_[j]) + worker_.raw_bytes(plan_.places[index].before);
    }
    return worker_.load(cell, parts_.data(), parts_.size(), false);
  }
  const std::byte* input = cell.value.raw;
  return worker_.load(cell, &input, 1, negates_);
}

Status Values::pack(const Unit& unit, bool* fixed) noexcept {
  *fixed = true;
  for (std::uint32_t i = unit.src; i < unit.src + unit.cells; ++i) {
    payload::Cell& cell = at(i);
    if (const Status s = load(i); s != Status::ok) return s;
    const Status s = unit.raw ? worker_.pack_raw(cell, from_stream_ && plan_.is_final(unit, i)) : worker_.pack(cell);
    if (s != Status::ok) return s;
    *fixed = *fixed && (!unit.raw || cell.value.raw_fixed);
  }
  return Status::ok;
}

Piece Values::packed(const Unit& unit, std::uint32_t i) const noexcept {
  const payload::Cell& cell = at(unit.src + i);
  const payload::Value& value = cell.value;
  if (unit.raw) return {value.raw, worker_.raw_bytes(cell.count), value.raw_store, cell.lane};
  if (value.absent) return {nullptr, 1, {}, cell.lane};
  return {value.stream.bytes().data(), value.stream.size, value.stream.buffer, cell.lane};
}

Status Values::take_in(const Unit& unit, std::uint32_t i, payload::Stream arrived) noexcept {
  payload::Cell& cell = at(unit.dst + i);
  std::byte* const raw = arrived.buffer.data() + arrived.offset;
  if (unit.task == Task::receive_replace) {
    unloaded_[plan_.cell(unit.dst + i)] = 0;
    return unit.raw ? worker_.replace(cell, raw, arrived.buffer) : worker_.replace(cell, std::move(arrived));
  }
  if (const Status s = load(unit.dst + i); s != Status::ok) return s;
  return unit.raw ? worker_.meet(cell, raw, arrived.buffer, unit.incoming_first)
                  : worker_.meet(cell, std::move(arrived), unit.incoming_first);
}

Status Values::execute(const Unit& unit) noexcept {
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    payload::Cell& dst = at(unit.dst + i);
    if (unit.task == Task::deliver) {
      if (const Status s = load(unit.dst + i); s != Status::ok) return s;
      const std::uint32_t divisor = reduces_ && spec().op == payload::Op::mean ? contributions_ : 1;
      if (const Status s = worker_.finish(dst, from_stream_, divisor); s != Status::ok) return s;
      continue;
    }
    payload::Cell& src = at(unit.src + i);
    if (const Status s = load(unit.src + i); s != Status::ok) return s;
    if (unit.task == Task::copy) {
      if (&dst != &src) unloaded_[plan_.cell(unit.dst + i)] = 0;
      if (const Status s = worker_.copy(dst, src); s != Status::ok) return s;
      continue;
    }
    if (const Status s = load(unit.dst + i); s != Status::ok) return s;
    if (const Status s = worker_.meet(dst, src, unit.incoming_first); s != Status::ok) return s;
  }
  return Status::ok;
}

Status Values::quantise() noexcept {
  for (std::uint32_t c = 0; c < cells_.size(); ++c) {
    if (cells_[c].value.raw == nullptr || unloaded_[c] != 0) continue;
    if (const Status s = worker_.quantise(cells_[c]); s != Status::ok) return s;
  }
  return Status::ok;
}

}  // namespace stretto::engine
