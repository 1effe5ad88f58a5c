#include <algorithm>

#include "engine/run/values.hpp"

namespace stretto::engine {
namespace {

struct Interval {
  const std::byte* begin;
  const std::byte* end;
  bool result;
};

// True if an input and a result share memory.
bool clash(std::vector<Interval>& intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  const std::byte* ends[2] = {nullptr, nullptr};
  for (const Interval& i : intervals) {
    const std::byte* other = ends[i.result ? 0 : 1];
    if (other != nullptr && i.begin < other) return true;
    const std::byte*& own = ends[i.result ? 1 : 0];
    own = own == nullptr ? i.end : std::max(own, i.end);
  }
  return false;
}

}  // namespace

Status Values::begin(const Work& call, const payload::Spec& spec, payload::Executor& executor) {
  schedule_ = call.schedule;
  executor_ = &executor;
  blocks_ = call.blocks;
  parts_of_vector_ = call.parts;
  several_ = call.several;
  inputs_ = call.inputs;
  parts_.resize(inputs_.size());
  reduces_ = schedule::reduces(schedule_->collective);
  worker_.begin(spec, reduces_, executor_);
  // In place, the last rank of an exscan has no contribution left to negate.
  const bool is_used = schedule_->collective != schedule::Collective::exscan || schedule_->rank + 1 < schedule_->ranks;
  negates_ = reduces_ && spec.op == payload::Op::difference && schedule_->rank != 0 && is_used;
  const bool codes = payload::traits(spec.kind).adds_codes;
  const bool everywhere = schedule_->collective == schedule::Collective::allreduce ||
                          schedule_->collective == schedule::Collective::allgather;
  from_stream_ = worker_.compressed() && (everywhere || (codes && reduces_ && !payload::mixes(spec)));
  const auto ranks = static_cast<std::uint32_t>(schedule_->ranks);
  contributions_ = !reduces_ ? 1 : call.contributions != 0 ? call.contributions : ranks;

  merged_.assign(blocks_.size(), 0);
  if (several_) return Status::ok;
  const std::size_t size = worker_.raw_bytes(1);
  std::vector<Interval> intervals;
  std::size_t total = 0;
  bool inputs_apart = false;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    if (block.count == 0 || block.in == nullptr) continue;
    total += block.count * size;
    merged_[b] = block.in == block.out;
    inputs_apart |= merged_[b] == 0;
  }
  if (!inputs_apart) return Status::ok;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    if (block.count == 0) continue;
    const auto* in = static_cast<const std::byte*>(block.in);
    const auto* out = static_cast<const std::byte*>(block.out);
    if (in != nullptr && merged_[b] == 0) intervals.push_back({in, in + block.count * size, false});
    if (out != nullptr) intervals.push_back({out, out + block.count * size, true});
  }
  if (!clash(intervals)) return Status::ok;
  if (const Status s = executor.pool().take(total, &inputs_copy); s != Status::ok) return s;
  std::byte* to = inputs_copy.data();
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    Block& block = blocks_[b];
    merged_[b] = 0;
    if (block.count == 0 || block.in == nullptr) continue;
    const Status s = executor.copy(to, static_cast<const std::byte*>(block.in), block.count * size);
    if (s != Status::ok) return s;
    block.in = to;
    to += block.count * size;
  }
  return Status::ok;
}

Status Values::make_plan(const Options& options, Plan* plan) const {
  const std::size_t size = worker_.raw_bytes(1);
  return plan->make(*schedule_, blocks_, size, options.segment_bytes, worker_.grain(), merged_,
                    {worker_.compressed(), spec().nodes > 0, (spec().raw_below + size - 1) / size}, parts_of_vector_);
}

Status Values::bind() {
  cells_.assign(plan_.places.size(), payload::Cell{});
  unloaded_.assign(plan_.places.size(), 0);
  const bool plain = several_ && inputs_.size() == 1;
  for (std::uint32_t i = 0; i < cells_.size(); ++i) {
    const Place& place = plan_.places[i];
    const auto b = static_cast<std::size_t>(place.block);
    const Block& block = blocks_[b];
    payload::Cell& cell = cells_[i];
    cell.count = place.count;
    cell.eps = parts_of_vector_.empty() ? spec().eps : parts_of_vector_[place.part].eps;
    cell.lane = &executor_->lane();
    const std::size_t offset = worker_.raw_bytes(place.first);
    const bool merged = merged_[b] != 0;
    switch (place.buffer) {
      case schedule::Buffer::in:
        if (several_) {
          if (plain) cell.value.raw = static_cast<const std::byte*>(inputs_[0]) + worker_.raw_bytes(place.before);
          unloaded_[i] = plain ? 0 : 1;
        } else if (block.in != nullptr && !merged) {
          cell.value.raw = static_cast<const std::byte*>(block.in) + offset;
          unloaded_[i] = negates_ ? 1 : 0;
        }
        cell.value.raw_fixed = cell.value.raw != nullptr;
        break;
      case schedule::Buffer::out:
        if (block.out != nullptr) cell.home = static_cast<std::byte*>(block.out) + offset;
        if (merged) {
          cell.value.raw = cell.home;
          unloaded_[i] = negates_ ? 1 : 0;
        }
        break;
      case schedule::Buffer::tmp: break;
    }
  }
  if (worker_.compressed()) return Status::ok;  // streams have no home; decoded values are in the pool

  std::vector<std::uint8_t> used(cells_.size(), 0);
  std::size_t total = 0;
  for (const Unit& unit : plan_.units) {
    if (unit.task == Task::send) continue;
    for (std::uint32_t k = 0; k < unit.cells; ++k) {
      const std::uint32_t c = plan_.cell(unit.dst + k);
      if (cells_[c].home != nullptr || used[c] != 0) continue;
      used[c] = 1;
      total += worker_.raw_bytes(cells_[c].count);
    }
  }
  if (total == 0) return Status::ok;
  if (const Status s = executor_->pool().take(total, &scratch); s != Status::ok) return s;
  std::byte* home = scratch.data();
  for (std::uint32_t c = 0; c < cells_.size(); ++c) {
    if (used[c] == 0) continue;
    cells_[c].home = home;
    home += worker_.raw_bytes(cells_[c].count);
  }
  return Status::ok;
}

void Values::end() noexcept {
  cells_.clear();
  scratch = {};
  inputs_copy = {};
  schedule_.reset();
}

}  // namespace stretto::engine
