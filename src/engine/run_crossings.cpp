// Messages between device memories. A small host message announces each: its parts' lengths, or its sender's failure.
// So both sides begin equal transfers, and no rank waits in a device in vain. A send is ready when packed and
// announced. A receive is ready when announced, with memory for the longest message that no lane uses. A failed rank
// drops messages if the carrier can.
//
// A peer may lend its message to a combining receive, which reads it in place. The receive's unit ends when the peer
// has the message back; later units do not wait for that.
//
// If transfers move one by one (carrier/device_messages.hpp), all ranks begin them in one order, or they would wait in
// a circle. A turn is the level, then the message's number at that level between its ranks. Messages depend on lower
// levels only (a test checks schedules), so a turn waits only for earlier ones. All of a turn begins together, in both
// directions.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "engine/run.hpp"

namespace stretto::engine {

void Run::queue_crossings() {
  crossings_.clear();
  ready_crossings_.clear();
  returning_.clear();
  next_crossing_ = 0;
  may_cross_ = true;
  if (between_ == nullptr) return;
  for (std::uint32_t u = 0; u < plan_.units.size(); ++u) {
    const Unit& unit = plan_.units[u];
    if (unit.peer < 0 || unit.cells == 0) continue;
    Crossing c;
    c.unit = u;
    c.parts.resize(unit.cells);
    crossings_.push_back(std::move(c));
  }
  const auto of = [this](const Crossing& c) {
    const Unit& unit = plan_.units[c.unit];
    return std::tuple(unit.level, unit.peer, unit.task == Task::send);
  };
  std::sort(crossings_.begin(), crossings_.end(),
            [&](const Crossing& a, const Crossing& b) { return of(a) != of(b) ? of(a) < of(b) : a.unit < b.unit; });
  for (std::size_t i = 0; i < crossings_.size(); ++i) {
    const std::uint64_t level = plan_.units[crossings_[i].unit].level;
    const bool first = i == 0 || of(crossings_[i]) != of(crossings_[i - 1]);
    crossings_[i].turn = first ? level << 32 : crossings_[i - 1].turn + 1;
  }
  std::stable_sort(crossings_.begin(), crossings_.end(),
                   [](const Crossing& a, const Crossing& b) { return a.turn < b.turn; });
  for (std::size_t i = 0; i < crossings_.size(); ++i)
    live_[crossings_[i].unit].crossing = static_cast<std::uint32_t>(i);
  ready_crossings_.reserve(crossings_.size());
  returning_.reserve(crossings_.size());
  find_exchanges();
}

// Units that wait for a send of their own level: they overwrite its block, or follow such a unit.
void Run::find_exchanges() {
  exchanges_.assign(plan_.units.size(), 0);
  std::vector<std::uint32_t> waits_for(plan_.units.size(), 0);
  for (std::uint32_t u = 0; u < plan_.units.size(); ++u) {
    const Unit& unit = plan_.units[u];
    exchanges_[u] = waits_for[u] > unit.level;
    const std::uint32_t own = unit.task == Task::send ? unit.level + 1u : 0;
    for (std::uint32_t e = unit.followers; e != none; e = plan_.edges[e].next) {
      std::uint32_t& follower = waits_for[plan_.edges[e].unit];
      follower = std::max({follower, waits_for[u], own});
    }
  }
}

// A block outlives the message that replaces it, so the message is copied. A raw message's sender overwrites it only
// after it was read. Two ranks that exchange blocks which both overwrite must not borrow: they would wait for each
// other.
bool Run::may_borrow(std::uint32_t u) const noexcept {
  const Unit& unit = plan_.units[u];
  return unit.task == Task::receive_combine && between_->lends(unit.peer, unit.raw) &&
         (!unit.raw || exchanges_[u] == 0);
}

// Memory for the message, of the lanes that will use it.
Status Run::take_landing(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  Crossing& c = crossings_[live_[u].crossing];
  c.borrows = may_borrow(u);
  Status s = Status::ok;
  for (std::uint32_t i = 0; i < unit.cells && s == Status::ok; ++i) {
    const std::uint32_t cell = plan_.cell(unit.dst + i);
    const std::size_t count = plan_.places[cell].count;
    Part& part = c.parts[i];
    part.lane = cells_[cell].lane;
    if (c.borrows) continue;
    device_->enter(*part.lane);
    s = device_->pool().take(unit.raw ? worker_.raw_bytes(count) : worker_.message_bound(count), &part.keeps);
  }
  const Status marked = c.borrows ? Status::ok : device_->mark(lanes_of(unit), &c.free);
  if (s == Status::ok) s = marked;
  if (s == Status::ok || !between_->drops()) return s;
  failed(s, &unit);
  return Status::ok;
}

Status Run::announce(Departure& d) noexcept {
  Live& live = live_[d.unit];
  Crossing& c = crossings_[live.crossing];
  const std::size_t bytes = announcement_bytes(plan_.units[d.unit].cells);
  Status s = pool_->take(bytes, &live.hold.buffer);
  if (s == Status::ok) {
    std::byte* to = live.hold.buffer.data();
    std::memcpy(to, &announcement_mark, sizeof announcement_mark);
    for (Part& p : d.parts) {
      if (p.data == nullptr) p.bytes = 0;
      const std::uint64_t n = p.bytes;
      std::memcpy(to += sizeof n, &n, sizeof n);
    }
    // All state is set before the announcement leaves.
    c.parts = std::move(d.parts);
    s = send_bytes(d.unit, live.hold.buffer.data(), bytes, d.fixed);
  }
  if (s != Status::ok) {
    skip_crossing(d.unit);
    return s;
  }
  ready_to_cross(d.unit);
  for (const Part& p : c.parts) {
    live.transfers += p.bytes > 0;
    bytes_sent_ += p.bytes;
  }
  return s;
}

void Run::skip_crossing(std::uint32_t u) noexcept {
  if (live_[u].crossing == none) return;
  Crossing& c = crossings_[live_[u].crossing];
  c.state = Crossing::State::none;
  for (Part& p : c.parts) p = {};
}

Status Run::read_announcement(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  const Live& live = live_[u];
  Crossing& c = crossings_[live.crossing];
  const std::byte* from = live.hold.buffer.data();
  std::uint64_t word = 0;
  if (live.bytes == announcement_bytes(unit.cells)) std::memcpy(&word, from, sizeof word);
  if (word != announcement_mark)
    return fail(Status::incompatible, "{} bytes came from rank {} where a message between devices was to be announced",
                live.bytes, unit.peer);
  bool longer = false;
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    std::memcpy(&word, from += sizeof word, sizeof word);
    Part& part = c.parts[i];
    const std::size_t count = plan_.places[unit.dst + i].count;
    const std::size_t most = unit.raw ? worker_.raw_bytes(count) : worker_.longest(count);
    if (word > most || (unit.raw && word != most))
      return fail(Status::incompatible, "rank {} announces {} bytes for {} values", unit.peer, word, count);
    part.bytes = static_cast<std::size_t>(word);
    if (c.drops || c.borrows) continue;
    if (part.bytes > part.keeps.capacity()) {
      longer = true;
      device_->enter(*part.lane);
      if (const Status s = device_->pool().take(part.bytes, &part.keeps); s != Status::ok) {
        if (!between_->drops()) return s;
        failed(s, &unit);
        c.drops = true;
        continue;
      }
    }
    part.data = part.keeps.data();
  }
  if (!longer) return Status::ok;
  device::LanePositions free;
  const Status s = device_->mark(lanes_of(unit), &free);
  for (std::size_t i = 0; i < device::most_lanes; ++i) c.free.at[i] = std::max(c.free.at[i], free.at[i]);
  return s;
}

// An announcement, a mark, or nothing. False: nothing crosses. A failed rank still takes what others send.
bool Run::land(std::uint32_t u) noexcept {
  Live& live = live_[u];
  Crossing& c = crossings_[live.crossing];
  const device::Device::Visit visit(device_->device());
  const bool marked = live.bytes <= 1;
  Status s = Status::ok;
  c.drops = status_ != Status::ok && between_->drops();
  if (!marked) s = read_announcement(u);
  if (s != Status::ok) strand(s, &plan_.units[u]);
  if (s == Status::ok && !marked) {
    for (const Part& p : c.parts) live.transfers += p.bytes > 0;
  }
  if (live.transfers == 0) {
    c.state = Crossing::State::none;
    return false;
  }
  ready_to_cross(u);
  live.state = State::moving;
  return true;
}

void Run::ready_to_cross(std::uint32_t u) noexcept {
  crossings_[live_[u].crossing].state = Crossing::State::ready;
  if (!between_->one_by_one()) ready_crossings_.push_back(live_[u].crossing);
}

bool Run::may_begin(const Crossing& c) const noexcept {
  if (c.state == Crossing::State::ready) return c.drops || device_->device().passed(c.free);
  return c.state != Crossing::State::open;
}

bool Run::begin_crossings() noexcept {
  if (between_ == nullptr) return false;
  if (!between_->one_by_one()) return begin_ready();
  bool some = false;
  for (std::size_t first = next_crossing_, end; first < crossings_.size() && may_cross_; first = end) {
    end = first + 1;
    while (end < crossings_.size() && crossings_[end].turn == crossings_[first].turn) ++end;
    const auto begin = crossings_.begin();
    if (!std::all_of(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end),
                     [this](const Crossing& c) { return may_begin(c); }))
      break;
    begin_group(first, end);
    next_crossing_ = end;
    some = true;
  }
  return some;
}

// In order of readiness, except receives whose memory is in use.
bool Run::begin_ready() noexcept {
  const std::size_t before = ready_crossings_.size();
  std::erase_if(ready_crossings_, [this](std::uint32_t i) {
    if (!may_begin(crossings_[i])) return false;
    begin_group(i, i + 1);
    return true;
  });
  return ready_crossings_.size() != before;
}

void Run::begin_group(std::size_t first, std::size_t end) noexcept {
  group_.clear();
  try {
    for (std::size_t i = first; i < end; ++i) {
      Crossing& c = crossings_[i];
      if (c.state != Crossing::State::ready) continue;
      const Unit& unit = plan_.units[c.unit];
      for (Part& p : c.parts) {
        if (p.bytes == 0) continue;
        group_.push_back({unit.peer, unit.task == Task::send, tag_of(unit),
                          c.drops ? nullptr : const_cast<std::byte*>(p.data), p.bytes, id_of(c.unit) | crossing_bit,
                          c.borrows && !c.drops ? &p.loan : nullptr});
      }
    }
  } catch (const std::bad_alloc&) {
    strand(fail(Status::out_of_memory, "no memory to begin messages between devices"), nullptr);
    return;
  }
  if (group_.empty()) return;
  for (std::size_t i = first; i < end; ++i) {
    if (crossings_[i].state == Crossing::State::ready) crossings_[i].state = Crossing::State::begun;
  }
  if (const Status s = between_->start(group_); s != Status::ok) strand(s, &plan_.units[crossings_[first].unit]);
}

void Run::poll_crossings(std::span<carrier::Completion> done, std::size_t* n) noexcept {
  *n = 0;
  if (between_ == nullptr || stranded_) return;
  const device::Device::Visit visit(device_->device());
  if (const Status s = between_->poll(done, n); s != Status::ok) strand(s, nullptr);
}

void Run::crossed(std::uint32_t u, const carrier::Completion& completion) noexcept {
  const Unit& unit = plan_.units[u];
  Live& live = live_[u];
  Crossing& c = crossings_[live.crossing];
  moved_ = Clock::now();
  if (completion.status != Status::ok) failed(completion.status, &unit);
  if (--live.transfers > 0) return;
  if (live.state == State::returns) {
    c.state = Crossing::State::none;
    done(u);
    return;
  }
  for (const Part& p : c.parts) live.transfers += unit.task != Task::send && p.loan.data != nullptr;
  if (live.transfers == 0) c.state = Crossing::State::none;
  if (unit.task == Task::send) {
    c.parts.clear();
    sent(u);
    return;
  }
  live.state = State::arrived;
  if (live.waits_for == 0) make_ready(u);
}

Status Run::consume_crossed(std::uint32_t u, const Hold& hold) noexcept {
  const Unit& unit = plan_.units[u];
  Crossing& c = crossings_[live_[u].crossing];
  if (live_[u].bytes <= 1) return failed_peer(unit.peer, live_[u].bytes == 1 ? hold.buffer.data()[0] : std::byte{0});
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    payload::Cell& cell = at(unit.dst + i);
    Status s = Status::ok;
    if (unit.task == Task::receive_combine)
      s = load(cell, plan_.cell(unit.dst + i));
    else
      unloaded_[plan_.cell(unit.dst + i)] = 0;
    if (s == Status::ok && c.parts[i].loan.data != nullptr) s = borrow(cell, &c.parts[i]);
    if (s == Status::ok) s = consume_part(unit, cell, c.parts[i]);
    if (s != Status::ok) return s;
  }
  return Status::ok;
}

// An empty block takes the message over.
Status Run::borrow(const payload::Cell& cell, Part* part) noexcept {
  auto* const data = static_cast<std::byte*>(const_cast<void*>(part->loan.data));
  if (const Status s = between_->borrow(part->loan); s != Status::ok) return s;
  part->data = data;
  if (!cell.value.absent) return payload::Buffer::of(data, part->bytes, &part->keeps);
  device_->enter(*cell.lane);
  if (const Status s = device_->pool().take(part->bytes, &part->keeps); s != Status::ok) return s;
  part->data = part->keeps.data();
  return device_->copy(part->keeps.data(), data, part->bytes);
}

// Called after the unit, even without use.
void Run::keep_loans(std::uint32_t u) noexcept {
  Crossing& c = crossings_[live_[u].crossing];
  if (std::all_of(c.parts.begin(), c.parts.end(), [](const Part& p) { return p.loan.data == nullptr; })) {
    c.parts.clear();
    return;
  }
  live_[u].state = State::returns;
  returning_.push_back(u);
}

// True: the peer knows, or cannot learn it.
bool Run::return_loans(std::uint32_t u) noexcept {
  Crossing& c = crossings_[live_[u].crossing];
  Status s = Status::ok;
  if (!device_->device().passed(c.free)) {
    s = device_->device().usable();
    if (s == Status::ok) return false;
  }
  for (const Part& p : c.parts) {
    if (p.loan.data != nullptr && s == Status::ok) s = between_->give_back(p.loan);
  }
  c.parts.clear();
  if (s != Status::ok) strand(s, &plan_.units[u]);
  return true;
}

Status Run::consume_part(const Unit& unit, payload::Cell& cell, const Part& part) noexcept {
  const bool combines = unit.task == Task::receive_combine;
  if (!unit.raw) {
    payload::Stream stream;
    if (part.bytes > 0) {
      part.keeps.set_content(part.bytes);
      stream = {part.keeps, 0, part.bytes};
    }
    return combines ? worker_.meet(cell, std::move(stream), unit.incoming_first)
                    : worker_.replace(cell, std::move(stream));
  }
  if (!combines && cell.home != nullptr) {
    device_->enter(*cell.lane);
    if (const Status s = device_->copy(cell.home, part.data, part.bytes); s != Status::ok) return s;
    worker_.landed(cell);
    return Status::ok;
  }
  std::byte* const arrived = part.keeps.data();
  return combines ? worker_.meet(cell, arrived, part.keeps, unit.incoming_first)
                  : worker_.replace(cell, arrived, part.keeps);
}

// Ends this rank's transfers. Their memory goes to `lost`, since the device may still use it.
void Run::end_crossings(std::vector<Hold>* lost) noexcept {
  if (between_ == nullptr) return;
  bool moves = false;
  for (Crossing& c : crossings_) {
    if (c.state == Crossing::State::begun) {
      moves = true;
      for (Part& p : c.parts) {
        try {
          if (p.keeps) lost->push_back({p.keeps, {}});
        } catch (const std::bad_alloc&) {
          alignas(Part) std::byte forever[sizeof(Part)];
          new (forever) Part(p);  // never destroyed
        }
      }
    }
    c.state = Crossing::State::none;
    c.parts.clear();
  }
  next_crossing_ = crossings_.size();
  ready_crossings_.clear();
  returning_.clear();
  if (!moves) return;
  const device::Device::Visit visit(device_->device());
  between_->abort();
}

}  // namespace stretto::engine
