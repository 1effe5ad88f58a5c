#include <algorithm>
#include <cstring>

#include "engine/run.hpp"
#include "schedule/names.hpp"

namespace stretto::engine {
namespace {

struct Interval {
  const std::byte* begin;
  const std::byte* end;
  bool result;
};

// An input and a result share memory. Sorts `intervals`.
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

std::uint32_t most_messages(const carrier::Carrier& carrier) noexcept { return Tags(carrier.tags()).most_messages(); }

Status Run::check(const Work& call, const carrier::Carrier& carrier) {
  if (!call.schedule) return fail(Status::invalid_argument, "no schedule is given");
  const schedule::Schedule& s = *call.schedule;
  if (s.ranks != carrier.size() || s.rank != carrier.rank()) {
    return fail(Status::invalid_argument, "a schedule for rank {} of {} on rank {} of {}", s.rank, s.ranks,
                carrier.rank(), carrier.size());
  }
  if (call.blocks.size() != static_cast<std::size_t>(s.blocks)) {
    return fail(Status::invalid_argument, "{} blocks are given to a schedule of {}", call.blocks.size(), s.blocks);
  }
  const bool reduces = schedule::reduces(s.collective);
  if (const Status status = payload::check(call.payload, reduces); status != Status::ok) return status;
  if (reduces && call.payload.op == payload::Op::user && !call.payload.user.commutes && !s.keeps_order) {
    return fail(Status::unsupported,
                "{} {} does not keep the order of contributions, and the operation does not commute",
                schedule::name(s.collective), s.algorithm);
  }
  if (call.several) {
    const payload::Op op = call.payload.op;
    const bool sums = op == payload::Op::sum || op == payload::Op::mean;
    if (!reduces || !(sums || op == payload::Op::min || op == payload::Op::max)) {
      return fail(Status::unsupported, "several inputs on a rank are for reductions by sum, mean, min and max");
    }
    if (call.payload.nodes > 0)
      return fail(Status::unsupported, "several inputs on a rank are not added raw inside a node");
    if (call.inputs.empty() && !sums)
      return fail(Status::invalid_argument, "a rank without inputs has no {}", payload::name(op));
  }
  for (std::int32_t b = 0; b < s.blocks; ++b) {
    const Block& block = call.blocks[static_cast<std::size_t>(b)];
    if (block.count == 0) continue;
    const bool reads = schedule::holds(s.collective, s.ranks, s.root, s.rank, b);
    const bool writes = schedule::expects(s.collective, s.ranks, s.root, s.rank, b);
    if (reads && !call.several && block.in == nullptr)
      return fail(Status::invalid_argument, "no input is given for block {}", b);
    if (writes && block.out == nullptr)
      return fail(Status::invalid_argument, "no memory is given for the result of block {}", b);
    for (const void* input : call.inputs) {
      if (call.several && input == nullptr) return fail(Status::invalid_argument, "an input is null");
    }
  }
  return Status::ok;
}

// Finds blocks in place; copies inputs that results would overwrite otherwise.
Status Run::separate_inputs(const Work& call) {
  merged_.assign(blocks_.size(), 0);
  if (call.several) return Status::ok;
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
  if (const Status s = homes().take(total, &inputs_copy_); s != Status::ok) return s;
  std::byte* to = inputs_copy_.data();
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    Block& block = blocks_[b];
    merged_[b] = 0;
    if (block.count == 0 || block.in == nullptr) continue;
    const Status s = executor_->copy(to, static_cast<const std::byte*>(block.in), block.count * size);
    if (s != Status::ok) return s;
    block.in = to;
    to += block.count * size;
  }
  return Status::ok;
}

Status Run::bind_memory(const Work& call) {
  cells_.assign(plan_.places.size(), payload::Cell{});
  unloaded_.assign(plan_.places.size(), 0);
  inputs_ = call.inputs;
  parts_.resize(inputs_.size());
  const bool plain = several_ && inputs_.size() == 1;
  for (std::uint32_t i = 0; i < cells_.size(); ++i) {
    const Place& place = plan_.places[i];
    const auto b = static_cast<std::size_t>(place.block);
    const Block& block = blocks_[b];
    payload::Cell& cell = cells_[i];
    cell.count = place.count;
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
  if (const Status s = homes().take(total, &scratch_); s != Status::ok) return s;
  std::byte* home = scratch_.data();
  for (std::uint32_t c = 0; c < cells_.size(); ++c) {
    if (used[c] == 0) continue;
    cells_[c].home = home;
    home += worker_.raw_bytes(cells_[c].count);
  }
  return Status::ok;
}

Status Run::tagged() noexcept {
  tags_ = Tags(carrier_->tags());
  const std::uint32_t most = tags_.most_messages();
  if (plan_.most_messages <= most) return Status::ok;
  const Plan::Pair pair = plan_.busiest();
  const std::int32_t own = schedule_->rank;
  return fail(Status::invalid_argument,
              "rank {} sends rank {} {} bytes in {} messages, with segments of {} bytes; {} has tags for {} messages",
              pair.sends ? own : pair.peer, pair.sends ? pair.peer : own, worker_.raw_bytes(pair.elements),
              plan_.most_messages, options_.segment_bytes, carrier_->name(), most);
}

Status Run::prepare(const Work& call) {
  schedule_ = call.schedule;
  spec_ = call.payload;
  if (spec_.nodes == 1) spec_.kind = payload::Kind::raw;
  options_ = call.options;
  blocks_ = call.blocks;
  several_ = call.several;
  reduces_ = schedule::reduces(schedule_->collective);
  // In place, the last rank of an exscan has no contribution left to negate: its result takes the place.
  const bool is_used = schedule_->collective != schedule::Collective::exscan || schedule_->rank + 1 < schedule_->ranks;
  negates_ = reduces_ && spec_.op == payload::Op::difference && schedule_->rank != 0 && is_used;
  const bool codes = spec_.kind == payload::Kind::homomorphic || spec_.kind == payload::Kind::fused;
  const bool everywhere = schedule_->collective == schedule::Collective::allreduce ||
                          schedule_->collective == schedule::Collective::allgather;
  const bool mixes = payload::mixes(spec_);
  from_stream_ = spec_.kind != payload::Kind::raw && (everywhere || (codes && reduces_ && !mixes));
  const auto ranks = static_cast<std::uint32_t>(schedule_->ranks);
  contributions_ = !reduces_ ? 1 : call.contributions != 0 ? call.contributions : ranks;
  between_ = call.device != nullptr ? call.messages : nullptr;
  if (call.device != nullptr) {
    if (const Status s = begin_on_device(call); s != Status::ok) return s;
  }
  host_.begin(spec_, pool_, parallel_);
  executor_ = device_ != nullptr ? static_cast<payload::Executor*>(device_.get()) : &host_;
  worker_.begin(spec_, reduces_, executor_);

  if (const Status s = separate_inputs(call); s != Status::ok) return s;
  if (const Status s = plan_.make(
          *schedule_, blocks_, worker_.raw_bytes(1), options_.segment_bytes, worker_.grain(), merged_,
          {worker_.compressed(), spec_.nodes > 0, (spec_.raw_below + worker_.raw_bytes(1) - 1) / worker_.raw_bytes(1)});
      s != Status::ok)
    return s;
  if (const Status s = tagged(); s != Status::ok) return s;
  signature_ = signature();
  if (const Status s = bind_memory(call); s != Status::ok) return s;
  if (device_ != nullptr) {
    if (const Status s = enter_lanes(); s != Status::ok) return s;
    if (const Status s = share_homes(); s != Status::ok) return s;
    if (const Status s = quantise_ahead(); s != Status::ok) return s;
  }

  live_.assign(plan_.units.size(), Live{});
  std::array<std::size_t, schedule::lane_count> most{};
  for (const Unit& unit : plan_.units) ++most[static_cast<std::size_t>(unit.lane)];
  for (std::size_t lane = 0; lane < most.size(); ++lane) ready_[lane].begin(most[lane]);
  deliveries_.begin(plan_.units.size());
  left_before_ = most[static_cast<std::size_t>(schedule::Lane::before)];
  left_ = plan_.units.size() + (device_ != nullptr ? 1 : 0);
  queue_receives();
  queue_sends();
  queue_crossings();
  return Status::ok;
}

Status Run::begin(const Work& call, carrier::Carrier& carrier, payload::Pool& pool, const codec::Parallel* parallel,
                  std::uint32_t slot, std::uint64_t sequence) noexcept {
  begun_ = moved_ = Clock::now();
  carrier_ = &carrier;
  pool_ = &pool;
  parallel_ = parallel;
  device_ = nullptr;
  between_ = nullptr;
  slot_ = slot;
  sequence_ = sequence;
  status_ = Status::ok;
  stranded_ = going_ = false;
  say({});
  wait_seconds_ = 0;
  raw_bytes_ = bytes_sent_ = messages_ = 0;
  Status s = Status::ok;
  try {
    std::optional<device::Device::Visit> visit;
    if (call.device != nullptr) visit.emplace(*call.device);
    s = prepare(call);
  } catch (const std::bad_alloc&) {
    s = fail(Status::out_of_memory, "no memory to plan a collective of {} blocks", call.blocks.size());
  }
  if (s != Status::ok) {
    cells_.clear();
    crossings_.clear();
    if (device_ != nullptr) leave_device();
    scratch_ = {};
    inputs_copy_ = {};
    schedule_.reset();
    return s;
  }
  active_ = true;
  return Status::ok;
}

void Run::go() noexcept {
  going_ = true;
  moved_ = Clock::now();
  std::optional<device::Device::Visit> visit;
  if (device_ != nullptr) visit.emplace(device_->device());
  for (std::uint32_t u = 0; u < plan_.units.size(); ++u) live_[u].waits_for = plan_.units[u].waits_for;
  for (std::int32_t peer = 0; peer < schedule_->ranks; ++peer) post_receives(peer);
  for (std::uint32_t u = 0; u < plan_.units.size(); ++u) {
    const Live& live = live_[u];
    if (live.waits_for == 0 && live.state != State::arrived) make_ready(u);
  }
}

}  // namespace stretto::engine
