#include "engine/device/direct.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/guarded.hpp"
#include "engine/run/inbox.hpp"

namespace stretto::engine {

using device::Device;
using Phase = Units::Phase;

Status Direct::route() {
  const std::vector<Unit>& units = run_.plan.units;
  if (const Status s = Staged::route(); s != Status::ok) return s;
  for (std::uint32_t u = 0; u < units.size(); ++u) {
    if (run_.units[u].way != Way::staged) continue;
    run_.units[u].way = Way::direct;
    Crossing& c = crossings_.emplace_back();
    c.unit = u;
    c.parts.resize(units[u].cells);
  }
  const auto pair = [&](const Crossing& c) {
    const Unit& unit = units[c.unit];
    return std::tuple(unit.level, unit.peer, unit.task == Task::send);
  };
  std::stable_sort(crossings_.begin(), crossings_.end(),
                   [&](const Crossing& a, const Crossing& b) { return pair(a) < pair(b); });
  for (std::size_t i = 0; i < crossings_.size(); ++i) {
    const bool first = i == 0 || pair(crossings_[i]) != pair(crossings_[i - 1]);
    crossings_[i].turn = first ? std::uint64_t{units[crossings_[i].unit].level} << 32 : crossings_[i - 1].turn + 1;
  }
  std::stable_sort(crossings_.begin(), crossings_.end(),
                   [](const Crossing& a, const Crossing& b) { return a.turn < b.turn; });
  of_unit_.assign(units.size(), kNone);
  for (std::size_t i = 0; i < crossings_.size(); ++i) of_unit_[crossings_[i].unit] = static_cast<std::uint32_t>(i);
  ready_.reserve(crossings_.size());
  returning_.reserve(crossings_.size());
  set_next(0);
  find_exchanges();
  return Status::ok;
}

// Units that wait for a send of their own level: they overwrite its block, or follow such a unit.
void Direct::find_exchanges() {
  const std::vector<Unit>& units = run_.plan.units;
  exchanges_.assign(units.size(), 0);
  std::vector<std::uint32_t> waits_for(units.size(), 0);
  for (std::uint32_t u = 0; u < units.size(); ++u) {
    exchanges_[u] = waits_for[u] > units[u].level;
    const std::uint32_t own = units[u].task == Task::send ? units[u].level + 1u : 0;
    for (std::uint32_t e = units[u].followers; e != kNone; e = run_.plan.edges[e].next) {
      std::uint32_t& follower = waits_for[run_.plan.edges[e].unit];
      follower = std::max({follower, waits_for[u], own});
    }
  }
}

// A message that replaces a block is copied, since the block outlives it. A raw message's sender overwrites it only
// after it was read, so two ranks that exchange such blocks must not borrow: they would wait for each other.
bool Direct::may_borrow(const Unit& unit, bool exchanges) const noexcept {
  return unit.task == Task::receive_combine && between_.lends(unit.peer, unit.raw) && (!unit.raw || !exchanges);
}

Status Direct::take(std::size_t bytes, Part* part) noexcept {
  executor_.enter(*part->lane);
  return executor_.pool().take(bytes, &part->keeps);
}

Status Direct::prepare(std::uint32_t u) noexcept {
  const Unit& unit = run_.plan.units[u];
  Crossing& c = at(u);
  c.borrows = may_borrow(unit, exchanges_[u] != 0);
  Status s = Status::ok;
  for (std::uint32_t i = 0; i < unit.cells && s == Status::ok; ++i) {
    const payload::Cell& cell = run_.values.at(unit.dst + i);
    const payload::Worker& worker = run_.values.worker();
    c.parts[i].lane = cell.lane;
    if (c.borrows) continue;
    s = take(unit.raw ? worker.raw_bytes(cell.count) : worker.message_bound(cell.count), &c.parts[i]);
  }
  const Status marked = c.borrows ? Status::ok : executor_.mark(lanes_of(unit), &c.free);
  if (s == Status::ok) s = marked;
  if (s == Status::ok || !between_.drops()) return s;
  run_.failure.record(s, &unit);
  return Status::ok;
}

Status Direct::leave(Departure& d) noexcept {
  UnitState& state = run_.units[d.unit];
  Crossing& c = at(d.unit);
  const std::size_t bytes = announcement_bytes(run_.plan.units[d.unit].cells);
  Status s = run_.pool->take(bytes, &state.hold);
  if (s == Status::ok) {
    std::byte* to = state.hold.data();
    std::memcpy(to, &kAnnouncementMark, sizeof kAnnouncementMark);
    for (Part& p : d.parts) {
      if (p.data == nullptr) p.bytes = 0;
      const std::uint64_t n = p.bytes;
      std::memcpy(to += sizeof n, &n, sizeof n);
    }
    // All state is set before the announcement leaves.
    c.parts = std::move(d.parts);
    s = outbox_.send_bytes(d.unit, state.hold.data(), bytes, d.fixed);
  }
  if (s != Status::ok) {
    skip(d.unit);
    return s;
  }
  set_ready(d.unit);
  for (const Part& p : c.parts) {
    state.parts += p.bytes > 0;
    run_.bytes_sent += p.bytes;
  }
  return s;
}

void Direct::skip(std::uint32_t u) noexcept {
  Crossing& c = at(u);
  c.state = Crossing::State::none;
  for (Part& p : c.parts) p = {};
}

Status Direct::read_announcement(std::uint32_t u) noexcept {
  const Unit& unit = run_.plan.units[u];
  const UnitState& state = run_.units[u];
  const payload::Worker& worker = run_.values.worker();
  Crossing& c = at(u);
  const std::byte* from = state.hold.data();
  std::uint64_t word = 0;
  if (state.bytes == announcement_bytes(unit.cells)) std::memcpy(&word, from, sizeof word);
  if (word != kAnnouncementMark)
    return fail(Status::incompatible, "{} bytes came from rank {} where a message between devices was to be announced",
                state.bytes, unit.peer);
  bool longer = false;
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    std::memcpy(&word, from += sizeof word, sizeof word);
    Part& part = c.parts[i];
    const std::size_t count = run_.values.at(unit.dst + i).count;
    const std::size_t most = unit.raw ? worker.raw_bytes(count) : worker.longest(count);
    if (word > most || (unit.raw && word != most))
      return fail(Status::incompatible, "rank {} announces {} bytes for {} values", unit.peer, word, count);
    part.bytes = static_cast<std::size_t>(word);
    if (c.drops || c.borrows || part.bytes <= part.keeps.capacity()) continue;
    longer = true;
    if (const Status s = take(part.bytes, &part); s != Status::ok) {
      if (!between_.drops()) return s;
      run_.failure.record(s, &unit);
      c.drops = true;
    }
  }
  return longer ? executor_.mark(lanes_of(unit), &c.free) : Status::ok;
}

// A failed rank still takes what others send.
bool Direct::land(std::uint32_t u) noexcept {
  UnitState& state = run_.units[u];
  Crossing& c = at(u);
  const Device::Visit visit(device_);
  const bool marked = state.bytes <= 1;
  c.drops = run_.failure.any() && between_.drops();
  const Status s = marked ? Status::ok : read_announcement(u);
  if (s != Status::ok) run_.failure.strand(s, &run_.plan.units[u]);
  for (const Part& p : c.parts) state.parts += s == Status::ok && !marked && p.bytes > 0;
  if (state.parts == 0) {
    c.state = Crossing::State::none;
    return false;
  }
  set_ready(u);
  state.phase = Phase::moving;
  return true;
}

void Direct::set_ready(std::uint32_t u) noexcept {
  at(u).state = Crossing::State::ready;
  if (!between_.one_by_one()) ready_.push_back(of_unit_[u]);
}

bool Direct::may_begin(const Crossing& c) const noexcept {
  if (c.state == Crossing::State::ready) return c.drops || device_.passed(c.free);
  return c.state != Crossing::State::open;
}

bool Direct::advance() noexcept {
  std::erase_if(returning_, [this](std::uint32_t u) { return return_loans(u); });
  if (between_.one_by_one()) return begin_in_order();
  return std::erase_if(ready_, [this](std::uint32_t i) {
           if (!may_begin(crossings_[i])) return false;
           begin_group(i, i + 1);
           return true;
         }) > 0;
}

bool Direct::begin_in_order() noexcept {
  const std::size_t before = next_;
  for (std::size_t end = 0; next_ < crossings_.size() && may_cross; set_next(end)) {
    end = next_ + 1;
    while (end < crossings_.size() && crossings_[end].turn == crossings_[next_].turn) ++end;
    const auto all = std::span(crossings_).subspan(next_, end - next_);
    if (!std::all_of(all.begin(), all.end(), [this](const Crossing& c) { return may_begin(c); })) break;
    begin_group(next_, end);
  }
  return next_ != before;
}

void Direct::begin_group(std::size_t first, std::size_t end) noexcept {
  group_.clear();
  const Status listed = guarded("to begin messages between devices", [&] {
    for (std::size_t i = first; i < end; ++i) {
      Crossing& c = crossings_[i];
      if (c.state != Crossing::State::ready) continue;
      const Unit& unit = run_.plan.units[c.unit];
      const bool sends = unit.task == Task::send;
      for (Part& p : c.parts) {
        if (p.bytes == 0) continue;
        std::byte* const data = sends ? const_cast<std::byte*>(p.data) : p.keeps.data();
        group_.push_back({unit.peer, sends, run_.channel.tag(unit), c.drops ? nullptr : data, p.bytes,
                          run_.channel.id(c.unit, kCrossingBit), c.borrows && !c.drops ? &p.loan : nullptr});
      }
    }
  });
  if (listed != Status::ok) {
    run_.failure.strand(listed, nullptr);
    return;
  }
  if (group_.empty()) return;
  for (std::size_t i = first; i < end; ++i) {
    if (crossings_[i].state == Crossing::State::ready) crossings_[i].state = Crossing::State::begun;
  }
  if (const Status s = between_.start(group_); s != Status::ok)
    run_.failure.strand(s, &run_.plan.units[crossings_[first].unit]);
}

void Direct::poll(std::span<carrier::Completion> done, std::size_t* n) noexcept {
  *n = 0;
  if (run_.failure.stranded()) return;
  const Device::Visit visit(device_);
  if (const Status s = between_.poll(done, n); s != Status::ok) run_.failure.strand(s, nullptr);
}

void Direct::crossed(std::uint32_t u, const carrier::Completion& completion) noexcept {
  const Unit& unit = run_.plan.units[u];
  UnitState& state = run_.units[u];
  Crossing& c = at(u);
  if (completion.status != Status::ok) run_.failure.record(completion.status, &unit);
  if (--state.parts > 0) return;
  c.state = Crossing::State::none;
  if (unit.task == Task::send) {
    c.parts.clear();
    outbox_.completed(u);
  } else if (state.phase == Phase::returns) {
    run_.units.finish(u);
  } else {
    for (const Part& p : c.parts) state.parts += p.loan.data != nullptr;
    if (state.parts > 0) c.state = Crossing::State::begun;
    run_.units.arrived(u);
  }
}

Status Direct::consume(std::uint32_t u, const payload::Buffer& hold) noexcept {
  Crossing& c = at(u);
  Status s = Status::ok;
  c.free = {};
  if (!run_.failure.any()) {
    s = take_parts(u, hold);
    const Status marked = executor_.mark(lanes_of(run_.plan.units[u]), &c.free);
    if (s == Status::ok) s = marked;
  }
  return_later(u);
  return s;
}

Status Direct::take_parts(std::uint32_t u, const payload::Buffer& hold) noexcept {
  const Unit& unit = run_.plan.units[u];
  if (run_.units[u].bytes <= 1) return failed_peer(unit.peer, hold.data(), run_.units[u].bytes);
  Crossing& c = at(u);
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    Part& part = c.parts[i];
    Status s = part.loan.data != nullptr ? borrow(unit.dst + i, &part) : Status::ok;
    payload::Stream arrived;
    if (part.bytes > 0 && s == Status::ok) {
      part.keeps.set_content(part.bytes);
      arrived = {part.keeps, 0, part.bytes};
    }
    if (s == Status::ok) s = run_.values.take_in(unit, i, std::move(arrived));
    if (s != Status::ok) return s;
  }
  return Status::ok;
}

Status Direct::borrow(std::uint32_t cell, Part* part) noexcept {
  auto* const data = static_cast<std::byte*>(const_cast<void*>(part->loan.data));
  if (const Status s = run_.values.load(cell); s != Status::ok) return s;
  if (const Status s = between_.borrow(part->loan); s != Status::ok) return s;
  if (!run_.values.at(cell).value.absent) return payload::Buffer::of(data, part->bytes, &part->keeps);
  if (const Status s = take(part->bytes, part); s != Status::ok) return s;
  return executor_.copy(part->keeps.data(), data, part->bytes);
}

void Direct::return_later(std::uint32_t u) noexcept {
  Crossing& c = at(u);
  if (std::all_of(c.parts.begin(), c.parts.end(), [](const Part& p) { return p.loan.data == nullptr; })) {
    c.parts.clear();
    return;
  }
  run_.units[u].phase = Phase::returns;
  returning_.push_back(u);
}

// True: the peer knows, or cannot learn it.
bool Direct::return_loans(std::uint32_t u) noexcept {
  Crossing& c = at(u);
  Status s = Status::ok;
  if (!device_.passed(c.free)) {
    s = device_.usable();
    if (s == Status::ok) return false;
  }
  for (const Part& p : c.parts) {
    if (p.loan.data != nullptr && s == Status::ok) s = between_.give_back(p.loan);
  }
  c.parts.clear();
  if (s != Status::ok) run_.failure.strand(s, &run_.plan.units[u]);
  return true;
}

// The device may still use transfers' memory, which goes to `lost`.
void Direct::abort(std::vector<payload::Buffer>* lost) noexcept {
  bool moves = false;
  for (Crossing& c : crossings_) {
    moves |= c.state == Crossing::State::begun;
    for (const Part& p : c.parts) {
      if (c.state == Crossing::State::begun) give_away(p.keeps, lost);
    }
    c.state = Crossing::State::none;
    c.parts.clear();
  }
  set_next(crossings_.size());
  ready_.clear();
  returning_.clear();
  if (!moves) return;
  const Device::Visit visit(device_);
  between_.abort();
}

std::string Direct::diagnosis() const {
  return fmt::format(" messages between devices go by {};", between_.name()) + Staged::diagnosis();
}

Traffic* choose_traffic(const Work& call, RunState& run, Outbox& outbox, Traffic& host,
                        std::unique_ptr<Traffic>* made) {
  if (call.device == nullptr) return &host;
  if (call.messages == nullptr)
    *made = std::make_unique<Staged>(run, outbox, *call.device);
  else
    *made = std::make_unique<Direct>(run, outbox, *call.device, *call.messages);
  return made->get();
}

}  // namespace stretto::engine
