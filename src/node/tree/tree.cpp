#include "node/tree/tree.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <utility>

#include "node/arena/arena.hpp"

namespace stretto::node {

using schedule::Buffer;
using schedule::Kind;
using schedule::Lane;
using schedule::Step;

namespace {

constexpr std::size_t kLongestStep = 64 * 1024;

bool has_block_of_each_rank(Collective kind) noexcept {
  return kind == Collective::gather || kind == Collective::scatter;
}

// For CallRecord::tree. Ranks of different trees must not read each other's steps.
std::uint8_t number_of(const TreeTask& task) noexcept {
  std::uint32_t hash = static_cast<std::uint32_t>(task.radix);
  for (const char c : std::string_view(task.schedule.algorithm))
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<std::uint8_t>(1 + hash % 127);
}

}  // namespace

Status Collectives::tree(const TreeTask& task) noexcept {
  const schedule::Schedule& s = task.schedule;
  const bool sums = s.collective == Collective::reduce;
  if (sums && task.operation.op == payload::Op::user)
    return fail(Status::unsupported, std::string_view("a tree in a host's memory takes no operations of the user"));
  if (sums) {
    if (const Status checked = check(task.operation, task.type); checked != Status::ok) return checked;
  }
  CallRecord call{s.collective, 0, 0, s.root, task.count * payload::size_of(task.type)};
  call.tree = number_of(task);
  if (sums) {
    call.type = static_cast<std::uint8_t>(task.type);
    call.op = static_cast<std::uint8_t>(task.operation.op);
  }
  if (const Status entered = group_->enter(call); entered != Status::ok) return entered;
  ++counters_.calls;
  if (call.bytes == 0) return finish_call(Status::ok);
  ++counters_.pipelined;
  const Status ran =
      group_->guarded_for_all({"for a tree of {} ranks", size()}, [&] { return finish_call(Tree(*this, task).run()); });
  passed_on_.trim();
  return ran;
}

PassedOn::~PassedOn() {
  if (in_arena_) arena::release(at_);
}

void PassedOn::trim() noexcept {
  if (bytes_ <= kMostKept) return;
  if (in_arena_) arena::release(at_);
  private_ = {};
  at_ = nullptr;
  bytes_ = 0;
  in_arena_ = false;
}

std::byte* PassedOn::room(std::size_t bytes, bool may_use_arena) {
  if (bytes <= bytes_) return at_;
  if (in_arena_) arena::release(at_);
  bytes_ = 0;
  at_ = may_use_arena ? static_cast<std::byte*>(arena::allocate(bytes, kLine)) : nullptr;
  in_arena_ = at_ != nullptr;
  if (in_arena_) {
    private_ = {};
  } else {
    private_ = std::vector<std::byte>(bytes);
    at_ = private_.data();
  }
  bytes_ = bytes;
  return at_;
}

Tree::Tree(Collectives& c, const TreeTask& task) noexcept
    : c_(c),
      g_(*c.group_),
      t_(task),
      s_(task.schedule),
      size_(payload::size_of(task.type)),
      bytes_(task.count * size_),
      in_(static_cast<std::byte*>(const_cast<void*>(task.in))),
      out_(static_cast<std::byte*>(task.out)) {}

Status Tree::run() {
  const std::size_t blocks = has_block_of_each_rank(s_.collective) ? static_cast<std::size_t>(s_.ranks) : 1;
  const std::size_t room = std::max(c_.room_of_slots(blocks * bytes_) / blocks / kLine * kLine, kLine);
  step_ = std::min({room, kLongestStep, bytes_});
  if (const Status s = look_at_steps(); s != Status::ok) return g_.give_up_all(s);
  const std::uint64_t chunks = (bytes_ + step_ - 1) / step_;
  const bool up = s_.collective == Collective::reduce || s_.collective == Collective::gather;
  const Lane all[] = {up ? Lane::before : Lane::beside, up ? Lane::beside : Lane::after}, one[] = {Lane::beside};
  const std::span<const Lane> lanes = t_.split ? std::span<const Lane>(all) : std::span<const Lane>(one);
  const std::uint64_t first = g_.rounds(lanes.size() * chunks);
  std::array<std::vector<int>, std::size(all)> readers;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (t_.enter != nullptr) t_.enter(t_.context, lanes[i]);
    if (const Status s = pass(lanes[i], first + i * chunks); s != Status::ok) return s;
    g_.done(first + (i + 1) * chunks);
    readers[i] = std::move(readers_);
  }
  // They read in place.
  for (std::size_t i = 0; i < lanes.size() && published_.exposure.access != Access::staged; ++i)
    if (const Status s = g_.await_done(readers[i], first + (i + 1) * chunks); s != Status::ok) return s;
  return Status::ok;
}

Status Tree::look_at_steps() {
  const auto of = [this](std::byte* base, int rank) { return base + static_cast<std::size_t>(rank) * bytes_; };
  const bool root = s_.rank == s_.root;
  switch (s_.collective) {
    case Collective::reduce:
      if (root && in_ == nullptr) in_ = out_;
      break;
    case Collective::bcast:
      if (out_ == nullptr) out_ = in_;
      in_ = out_;
      break;
    case Collective::gather:
      if (root && in_ == nullptr) in_ = of(out_, s_.rank);
      break;
    case Collective::scatter:
      if (root && out_ == nullptr) out_ = of(in_, s_.rank);
      break;
    default: return fail(Status::internal, "{} by a tree in a host's memory", schedule::name(s_.collective));
  }
  int first = INT_MAX, end = 0, first_sent = INT_MAX, end_sent = 0;
  const Step* sent = nullptr;
  for (const Step& step : s_.steps) {
    for (const schedule::Range& range : {step.src, step.dst}) {
      if (range.buffer != Buffer::tmp || range.count == 0) continue;
      first = std::min(first, range.first);
      end = std::max(end, range.first + range.count);
    }
    if (step.kind == Kind::recv_combine) {
      if (first_sum_ == nullptr) first_sum_ = &step;
      last_sum_ = &step;
    }
    if (step.kind != Kind::send || step.src.count == 0) continue;
    if (sent != nullptr && sent->src.buffer != step.src.buffer)
      return fail(Status::internal, "{} {} sends from two buffers", schedule::name(s_.collective), s_.algorithm);
    sent = &step;
    first_sent = std::min(first_sent, step.src.first);
    end_sent = std::max(end_sent, step.src.first + step.src.count);
  }
  if (first < end) {
    first_passed_on_ = first;
    passed_on_ = c_.passed_on_.room(static_cast<std::size_t>(end - first) * bytes_, c_.memory_->usable(Access::arena));
  }
  if (sent == nullptr) return Status::ok;
  published_.first = first_sent;
  if (bytes_ >= c_.options_.direct)
    published_.exposure = c_.memory_->expose(at(sent->src.buffer, first_sent),
                                             static_cast<std::size_t>(end_sent - first_sent) * bytes_, false);
  const Visibility a = visibility(published_.exposure.access);
  ++(a == Visibility::mapped ? c_.counters_.mapped : c_.counters_.staged);
  return Status::ok;
}

std::byte* Tree::at(Buffer buffer, int block) const noexcept {
  const auto b = static_cast<std::size_t>(block) * bytes_;
  switch (buffer) {
    case Buffer::in: return s_.collective == Collective::scatter ? in_ + b : in_;
    case Buffer::out: return s_.collective == Collective::gather ? out_ + b : out_;
    case Buffer::tmp: break;
  }
  return passed_on_ + b - static_cast<std::size_t>(first_passed_on_) * bytes_;
}

Tree::Chunk Tree::chunk(std::uint64_t k) const noexcept {
  const std::size_t at = static_cast<std::size_t>(k) * step_;
  return {at, std::min(step_, bytes_ - at)};
}

Status Tree::pass(Lane lane, std::uint64_t first) {
  readers_.clear();
  for (const Step& step : s_.steps)
    if (step.lane == lane && step.kind == Kind::send && step.src.count > 0 &&
        std::find(readers_.begin(), readers_.end(), step.peer) == readers_.end())
      readers_.push_back(step.peer);
  const bool idle = std::none_of(s_.steps.begin(), s_.steps.end(), [lane](const Step& s) { return s.lane == lane; });
  for (std::uint64_t k = 0; k * step_ < bytes_ && !idle; ++k) {
    const Chunk c = chunk(k);
    for (const Step& step : s_.steps) {
      if (step.lane != lane || step.kind == Kind::send) continue;
      if (const Status s = take(step, c, first + k); s != Status::ok) return s;
    }
    if (!readers_.empty()) {
      if (const Status s = expose(lane, c, first + k); s != Status::ok) return s;
    }
    g_.done(first + k + 1);
  }
  return Status::ok;
}

// The first addition reads this rank's input in place.
Status Tree::take(const Step& step, const Chunk& c, std::uint64_t round) {
  const bool copies = step.kind == Kind::copy;
  if (copies && first_sum_ != nullptr) return Status::ok;
  Published published;
  if (!copies && step.dst.count > 0) {
    const Line* line = nullptr;
    if (const Status s = g_.await(step.peer, round, &line); s != Status::ok) return s;
    std::memcpy(&published, line->payload, sizeof published);
  }
  for (int b = step.dst.first; b < step.dst.first + step.dst.count; ++b) {
    std::byte* const to = at(step.dst.buffer, b) + c.at;
    const std::byte* from = copies ? at(step.src.buffer, b) + c.at : nullptr;
    if (copies) {
      if (to != from) std::memmove(to, from, c.bytes);
      continue;
    }
    if (const Status s = source(step.peer, published, b, c, round, &from); s != Status::ok) return g_.give_up_all(s);
    if (step.kind == Kind::recv_replace)
      c_.copy_from_peer(to, from, c.bytes, readers_.empty() ? stores_of_result(bytes_, kMovedByCaches) : Stores::plain);
    else if (const Status s = combine(step, c, from); s != Status::ok)
      return g_.give_up_all(s);
  }
  return Status::ok;
}

Status Tree::source(int peer, const Published& published, int block, const Chunk& c, std::uint64_t round,
                    const std::byte** found) {
  if (visibility(published.exposure.access) == Visibility::staged) {
    *found = g_.slot(peer, round) + static_cast<std::size_t>(block) * step_;
    return Status::ok;
  }
  const std::size_t offset = static_cast<std::size_t>(block - published.first) * bytes_ + c.at;
  *found = c_.memory_->reach(peer, published.exposure, offset, c.bytes);
  if (*found != nullptr) return Status::ok;
  std::byte* const copy = c_.scratch(c.bytes);
  *found = copy;
  return c_.memory_->read(peer, published.exposure, offset, copy, c.bytes);
}

Status Tree::combine(const Step& step, const Chunk& c, const std::byte* theirs) noexcept {
  std::byte* const sum = at(step.dst.buffer, 0) + c.at;
  const std::byte* const mine = &step == first_sum_ ? in_ + c.at : sum;
  const std::size_t n = c.bytes / size_;
  const payload::Op op = t_.operation.op;
  const Status s = step.incoming_first ? payload::combine_values(op, t_.type, theirs, mine, sum, n)
                                       : payload::combine_values(op, t_.type, mine, theirs, sum, n);
  if (s != Status::ok || &step != last_sum_ || s_.rank != s_.root) return s;
  return finish(t_.operation, t_.type, sum, n, s_.ranks);
}

Status Tree::expose(Lane lane, const Chunk& c, std::uint64_t round) noexcept {
  const bool staged = published_.exposure.access == Access::staged;
  if (const Status s = g_.open(round, readers_, staged ? Group::Room::slot : Group::Room::small); s != Status::ok)
    return s;
  for (const Step* before = nullptr; const Step& step : s_.steps) {
    if (!staged || step.lane != lane || step.kind != Kind::send) continue;
    if (before != nullptr && before->src == step.src) continue;  // several readers of the same blocks
    before = &step;
    for (int b = step.src.first; b < step.src.first + step.src.count; ++b) {
      const std::size_t place = static_cast<std::size_t>(b) * step_;
      g_.will_fill(round, place, c.bytes);
      c_.copy_to_peer(g_.slot(round) + place, at(step.src.buffer, b) + c.at, c.bytes, Stores::plain);
    }
  }
  std::memcpy(g_.line(round).payload, &published_, sizeof published_);
  g_.publish(round);
  return Status::ok;
}

}  // namespace stretto::node
