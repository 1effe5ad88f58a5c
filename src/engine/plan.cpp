#include "engine/plan.hpp"

#include <algorithm>

#include "engine/tags.hpp"
#include "schedule/names.hpp"

namespace stretto::engine {
namespace {

std::size_t round_up(std::size_t n, std::size_t unit) noexcept { return (n + unit - 1) / unit * unit; }

std::size_t segment_of(std::size_t count, std::size_t most, std::size_t grain) noexcept {
  if (count <= most) return count;
  const std::size_t parts = (count + most - 1) / most;
  const std::size_t even = (count + parts - 1) / parts;
  return round_up(even, grain);
}

// Segments end with the vector's parts.
class Cutter {
 public:
  explicit Cutter(std::span<const Part> parts) noexcept : parts_(parts) {}

  // Calls add(elements before it in the block, elements, part).
  template <class Add>
  void cut(std::size_t count, std::size_t most, std::size_t grain, const Add& add) {
    for (std::size_t at = 0; at < count;) {
      while (part_ + 1 < parts_.size() && taken_ == parts_[part_].count) {
        ++part_;
        taken_ = 0;
      }
      const bool last = part_ + 1 >= parts_.size();
      const std::size_t some = last ? count - at : std::min(count - at, parts_[part_].count - taken_);
      const std::size_t length = segment_of(some, most, grain);
      for (std::size_t first = 0; first < some; first += length)
        add(at + first, std::min(length, some - first), static_cast<std::uint32_t>(part_));
      at += some;
      taken_ += some;
    }
  }

 private:
  std::span<const Part> parts_;
  std::size_t part_ = 0, taken_ = 0;
};

}  // namespace

Status Plan::make(const schedule::Schedule& schedule, std::span<const Block> blocks, std::size_t element_bytes,
                  std::size_t segment_bytes, std::size_t grain, std::span<const std::uint8_t> merged,
                  const Travel& travel, std::span<const Part> parts) {
  units.clear();
  edges.clear();
  readers_.clear();
  signals_.clear();
  most_messages = 0;
  const auto ranks = static_cast<std::size_t>(schedule.ranks);
  sent_.assign(ranks, 0);
  received_.assign(ranks, 0);
  first_received_.assign(ranks, kNone);
  travel_ = travel;
  all_final_ = false;
  written_.clear();
  lay_out(schedule, blocks, element_bytes, segment_bytes, grain, merged, parts);
  if (travel.streams && (travel.raw_inside || travel.raw_below > 0)) {
    block_elements_.resize(blocks.size());
    std::transform(blocks.begin(), blocks.end(), block_elements_.begin(), [](const Block& b) { return b.count; });
    find_finals(schedule);
  }
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    if (const Status s = add_step(schedule, i); s != Status::ok) return s;
  }
  add_deliveries(schedule);
  return Status::ok;
}

void Plan::lay_out(const schedule::Schedule& schedule, std::span<const Block> blocks, std::size_t element_bytes,
                   std::size_t segment_bytes, std::size_t grain, std::span<const std::uint8_t> merged,
                   std::span<const Part> parts) {
  const std::size_t elements = segment_bytes / element_bytes;
  const std::size_t most = segment_bytes == 0 ? SIZE_MAX : std::max(elements - elements % grain, grain);
  group_ = most;

  first_.assign(blocks.size() + 1, 0);
  Cutter counted(parts);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    first_[b + 1] = first_[b];
    counted.cut(blocks[b].count, most, grain, [&](std::size_t, std::size_t, std::uint32_t) { ++first_[b + 1]; });
  }
  const std::uint32_t a_buffer = first_.back();
  segments = a_buffer;

  bool uses_tmp = false;
  for (const auto& step : schedule.steps) {
    uses_tmp |= step.src.count > 0 && step.src.buffer == schedule::Buffer::tmp;
    uses_tmp |= step.dst.count > 0 && step.dst.buffer == schedule::Buffer::tmp;
  }
  const std::uint32_t buffers = uses_tmp ? 3 : 2;
  places.resize(std::size_t{buffers} * a_buffer);
  same_.resize(places.size());
  touched_.assign(places.size(), Touch{});
  std::size_t before = 0;
  std::uint32_t s = 0;
  Cutter placed(parts);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    placed.cut(blocks[b].count, most, grain, [&](std::size_t first, std::size_t count, std::uint32_t part) {
      for (std::uint32_t k = 0; k < buffers; ++k) {
        const std::uint32_t cell = k * a_buffer + s;
        places[cell] = {
            static_cast<schedule::Buffer>(k), static_cast<std::int32_t>(b), first, count, before + first, part};
        same_[cell] = cell;
      }
      if (merged[b] != 0) same_[s] = a_buffer + s;
      ++s;
    });
    before += blocks[b].count;
  }
}

Plan::Cells Plan::cells_of(const schedule::Range& range) const noexcept {
  if (range.count <= 0) return {};
  const auto b = static_cast<std::size_t>(range.first);
  const std::uint32_t begin = first_[b], end = first_[b + static_cast<std::size_t>(range.count)];
  return {static_cast<std::uint32_t>(range.buffer) * static_cast<std::uint32_t>(segments) + begin, end - begin};
}

std::uint32_t Plan::take(Cells* left, std::size_t most_elements) const noexcept {
  std::size_t sum = 0;
  std::uint32_t n = 0;
  while (n < left->count) {
    const std::size_t more = places[left->first + n].count;
    if (n > 0 && (sum >= most_elements || more > most_elements - sum)) break;
    sum += more;
    ++n;
  }
  left->first += n;
  left->count -= n;
  return n;
}

// Both ends agree: they name the same blocks and link kind.
bool Plan::travels_raw(const schedule::Step& step) const noexcept {
  if (!travel_.streams) return true;
  if (travel_.raw_inside && step.link == schedule::Link::node) return true;
  if (travel_.raw_below == 0) return false;
  const schedule::Range& range = step.kind == schedule::Kind::send ? step.src : step.dst;
  std::size_t elements = 0;
  for (std::int32_t i = 0; i < range.count; ++i) elements += block_elements_[static_cast<std::size_t>(range.first + i)];
  return elements < travel_.raw_below;
}

// In an allgather all blocks are final; in an allreduce those without a later write.
void Plan::find_finals(const schedule::Schedule& schedule) {
  all_final_ = schedule.collective == schedule::Collective::allgather;
  written_.assign(static_cast<std::size_t>(schedule.blocks), kNone);
  if (schedule.collective != schedule::Collective::allreduce) return;
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    const schedule::Range& range = schedule.steps[i].dst;
    if (range.buffer != schedule::Buffer::out) continue;
    for (std::int32_t b = 0; b < range.count; ++b) written_[static_cast<std::size_t>(range.first + b)] = i;
  }
}

bool Plan::is_final(const Unit& unit, std::uint32_t cell) const noexcept {
  if (all_final_) return true;
  const Place& place = places[cell];
  const std::uint32_t last = written_.empty() ? kNone : written_[static_cast<std::size_t>(place.block)];
  return place.buffer == schedule::Buffer::out && last != kNone && unit.step > last;
}

std::uint32_t Plan::next_message(std::vector<std::uint32_t>& counts, std::int32_t peer) {
  const std::uint32_t k = counts[static_cast<std::size_t>(peer)]++;
  most_messages = std::max(most_messages, k + 1);
  return k;
}

Plan::Pair Plan::busiest() const noexcept {
  Pair pair;
  const auto at = std::find(sent_.begin(), sent_.end(), most_messages);
  pair.sends = at != sent_.end();
  pair.peer = static_cast<std::int32_t>(pair.sends ? at - sent_.begin()
                                                   : std::find(received_.begin(), received_.end(), most_messages) -
                                                         received_.begin());
  for (const Unit& unit : units) {
    const bool sends = unit.task == Task::send;
    if (unit.peer != pair.peer || sends != pair.sends) continue;
    for (std::uint32_t i = 0; i < unit.cells; ++i) pair.elements += places[(sends ? unit.src : unit.dst) + i].count;
  }
  return pair;
}

Status Plan::add_step(const schedule::Schedule& schedule, std::uint32_t index) {
  const schedule::Step& step = schedule.steps[index];
  Unit unit;
  unit.incoming_first = step.incoming_first;
  unit.lane = step.lane;
  unit.level = step.level;
  unit.peer = step.peer;
  unit.step = index;
  bool travels = true;
  switch (step.kind) {
    case schedule::Kind::send: unit.task = Task::send; break;
    case schedule::Kind::recv_replace: unit.task = Task::receive_replace; break;
    case schedule::Kind::recv_combine: unit.task = Task::receive_combine; break;
    case schedule::Kind::copy:
      unit.task = Task::copy;
      travels = false;
      break;
    case schedule::Kind::combine:
      unit.task = Task::combine;
      travels = false;
      break;
  }
  if (travels && (step.peer < 0 || step.peer >= schedule.ranks)) {
    return fail(Status::invalid_argument, "step {} of {} names rank {} of {}", index, schedule.algorithm, step.peer,
                schedule.ranks);
  }
  if (travels) unit.raw = travels_raw(step);
  const bool sends = unit.task == Task::send;
  const schedule::Range& range = sends ? step.src : step.dst;
  Cells cells = cells_of(range);
  const std::uint32_t offset = travels ? 0 : cells_of(step.src).first - cells.first;
  if (travels && range.count <= 0) {
    unit.message = next_message(sends ? sent_ : received_, step.peer);
    add(unit);
    if (!sends) follow_the_first(unit);
    return Status::ok;
  }
  while (cells.count > 0) {
    unit.dst = cells.first;
    unit.src = cells.first + offset;
    unit.cells = take(&cells, group_);
    if (travels) unit.message = next_message(sends ? sent_ : received_, step.peer);
    add(unit);
    if (travels && !sends) follow_the_first(unit);
  }
  return Status::ok;
}

void Plan::follow_the_first(const Unit& unit) {
  std::uint32_t& first = first_received_[static_cast<std::size_t>(unit.peer)];
  const auto u = static_cast<std::uint32_t>(units.size()) - 1;
  if (unit.message == 0) first = u;
  if (unit.message >= Tags::kSignedMessages) wait_for(first, u);
}

void Plan::add_deliveries(const schedule::Schedule& schedule) {
  for (std::int32_t b = 0; b < schedule.blocks; ++b) {
    if (!schedule::expects(schedule.collective, schedule.ranks, schedule.root, schedule.rank, b)) continue;
    const Cells cells = cells_of({schedule::Buffer::out, b, 1});
    for (std::uint32_t i = 0; i < cells.count; ++i) {
      Unit unit;
      unit.task = Task::deliver;
      unit.step = kNone;
      unit.cells = 1;
      unit.dst = cells.first + i;
      add(unit);
    }
  }
}

void Plan::add(Unit unit) {
  const auto u = static_cast<std::uint32_t>(units.size());
  units.push_back(unit);
  // An empty message depends on all other levels, and on no unit of its own.
  if (unit.cells == 0) {
    for (std::uint32_t e = 0; e < u; ++e) {
      if (units[e].level != unit.level) wait_for(e, u);
    }
    signals_.push_back(u);
    return;
  }
  if (unit.task != Task::deliver) {
    for (const std::uint32_t e : signals_) {
      if (units[e].level != unit.level) wait_for(e, u);
    }
  }
  for (std::uint32_t i = 0; i < unit.cells; ++i) {
    const bool from_src = unit.task == Task::send || unit.task == Task::copy || unit.task == Task::combine;
    if (from_src) reads(u, same_[unit.src + i]);
    if (unit.task != Task::send && !(from_src && same_[unit.src + i] == same_[unit.dst + i]))
      writes(u, same_[unit.dst + i]);
  }
}

void Plan::wait_for(std::uint32_t earlier, std::uint32_t later) {
  edges.push_back({later, units[earlier].followers});
  units[earlier].followers = static_cast<std::uint32_t>(edges.size()) - 1;
  ++units[later].waits_for;
}

void Plan::reads(std::uint32_t unit, std::uint32_t cell) {
  Touch& t = touched_[cell];
  if (t.writer != kNone && t.writer != unit) wait_for(t.writer, unit);
  readers_.push_back({unit, t.readers});
  t.readers = static_cast<std::uint32_t>(readers_.size()) - 1;
}

void Plan::writes(std::uint32_t unit, std::uint32_t cell) {
  Touch& t = touched_[cell];
  bool through_readers = false;
  for (std::uint32_t r = t.readers; r != kNone; r = readers_[r].next) {
    if (readers_[r].unit == unit) continue;
    wait_for(readers_[r].unit, unit);
    through_readers = true;
  }
  if (!through_readers && t.writer != kNone && t.writer != unit) wait_for(t.writer, unit);
  t = {unit, kNone};
}

}  // namespace stretto::engine
