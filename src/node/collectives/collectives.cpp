#include "node/collectives/collectives.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/guarded.hpp"
#include "node/collectives/reduction.hpp"

namespace stretto::node {

using payload::Type;

namespace {

constexpr std::size_t kKiB = 1024;

}  // namespace

Status Collectives::create(Exchange& exchange, const Options& options, std::unique_ptr<Collectives>* made) noexcept {
  std::unique_ptr<Collectives> c;
  Status status = guarded({"for the collectives of {} ranks", exchange.size()}, [&] {
    c.reset(new Collectives);
    return c->prepare(exchange, options);
  });
  if (status != Status::ok) return Group::decline(exchange, status);
  if (status = Group::create(exchange, options.group, &c->group_); status != Status::ok) return status;
  if (status = Memory::create(exchange, *c->group_, options.memory, &c->memory_); status != Status::ok) return status;
  c->group_->map_lines_of_peers();
  *made = std::move(c);
  return Status::ok;
}

Status Collectives::prepare(const Exchange& exchange, const Options& options) {
  options_ = options;
  if (options.hierarchy.ranks() != exchange.size()) {
    if (options.hierarchy.ranks() != 1)
      return fail(Status::invalid_argument, "a hierarchy of {} ranks for {}", options.hierarchy.ranks(),
                  exchange.size());
    options_.hierarchy = Hierarchy(exchange.size());
  }
  for (const auto& [kind, hierarchy] : options.hierarchies)
    if (hierarchy.ranks() != exchange.size())
      return fail(Status::invalid_argument, "a hierarchy of {} ranks for the {} of {}", hierarchy.ranks(), name(kind),
                  exchange.size());
  one_level_ = Hierarchy(exchange.size());
  for (int r = 0; r < exchange.size(); ++r)
    if (r != exchange.rank()) others_.push_back(r);
  return Status::ok;
}

Collectives::~Collectives() = default;

std::unique_ptr<Collectives> Collectives::beside() const {
  std::unique_ptr<Collectives> made(new Collectives);
  made->options_ = options_;
  made->one_level_ = one_level_;
  made->others_ = others_;
  made->group_ = group_->beside();
  made->memory_ = memory_->beside();
  made->most_room_ = kStartedRoom;
  made->stores_ = stores_;
  made->fixed_stores_ = fixed_stores_;
  return made;
}

std::byte* Collectives::scratch(std::size_t bytes) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  return scratch_.data();
}

Status Collectives::finish_call(Status s) noexcept {
  if (s == Status::ok) group_->leave();
  return s;
}

Status Collectives::barrier() noexcept {
  const CallRecord call{Collective::barrier};
  std::uint8_t in = 0, out = 0;
  return reduction(call, &in, &out, size() <= kFlat ? 0 : 1, Type::u8, {payload::Op::bor});
}

// The smallest value is the complement of the largest complement.
Status Collectives::agree(std::uint64_t value, bool* same) noexcept {
  const std::uint64_t in[2] = {value, ~value};
  std::uint64_t out[2] = {0, 0};
  const Status s = reduction({Collective::agreement, 0, 0, 0, sizeof in}, in, out, 2, Type::u64, {payload::Op::max});
  *same = s == Status::ok && out[0] == ~out[1];
  return s;
}

Status Collectives::agree(std::uint64_t value, bool* same, std::uint64_t other, bool* same_other) noexcept {
  const std::uint64_t in[4] = {value, ~value, other, ~other};
  std::uint64_t out[4] = {0, 0, 0, 0};
  const Status s = reduction({Collective::agreement, 0, 0, 0, sizeof in}, in, out, 4, Type::u64, {payload::Op::max});
  *same = s == Status::ok && out[0] == ~out[1];
  *same_other = s == Status::ok && out[2] == ~out[3];
  return s;
}

Status Collectives::reduce(const void* in, void* out, std::size_t count, Type type, const Combination& operation,
                           int root) noexcept {
  if (root < 0 || root >= size()) return fail(Status::invalid_argument, "root {} of {} ranks", root, size());
  const CallRecord call{Collective::reduce, static_cast<std::uint8_t>(type), static_cast<std::uint8_t>(operation.op),
                        root, count * payload::size_of(type)};
  if (rank() != root) return reduction(call, in, nullptr, count, type, operation);
  return reduction(call, in == nullptr ? out : in, out, count, type, operation);
}

Status Collectives::allreduce(const void* in, void* out, std::size_t count, Type type,
                              const Combination& operation) noexcept {
  const CallRecord call{Collective::allreduce, static_cast<std::uint8_t>(type), static_cast<std::uint8_t>(operation.op),
                        0, count * payload::size_of(type)};
  return reduction(call, in == nullptr ? out : in, out, count, type, operation);
}

Status Collectives::reduce_scatter(const void* in, void* out, std::size_t count, Type type,
                                   const Combination& operation) noexcept {
  const CallRecord call{Collective::reduce_scatter, static_cast<std::uint8_t>(type),
                        static_cast<std::uint8_t>(operation.op), 0, count * payload::size_of(type)};
  return reduction(call, in == nullptr ? out : in, out, count, type, operation);
}

Status Collectives::reduction(CallRecord call, const void* in, void* out, std::size_t count, Type type,
                              const Combination& operation) noexcept {
  if (const Status s = check(operation, type); s != Status::ok) return s;
  if (const Status s = group_->enter(call); s != Status::ok) return s;
  ++counters_.calls;
  if (count == 0 && call.kind != Collective::barrier) return finish_call(Status::ok);
  const std::size_t blocks = call.kind == Collective::reduce_scatter ? static_cast<std::size_t>(size()) : 1;
  const bool in_order = options_.reproducible || operation.rank_by_rank || !operation.commutes();
  const bool one_level = in_order || hierarchy(call.kind).levels() == 1;
  const std::size_t bytes = count * blocks * payload::size_of(type);
  if (size() == 1 || (bytes <= eager_limit(call.kind) && size() <= kFlat))
    return finish_call(eager(call, in, out, count, type, operation));
  if (bytes >= options_.direct) {
    if (const Status s = try_when_due(Use::moves, bytes); s != Status::ok) return s;
    if (const Use use = Reduction::use(call.kind, group_->oversubscribed()); use != Use::moves)
      if (const Status s = try_when_due(use, bytes); s != Status::ok) return s;
  }
  return group_->guarded_for_all({"for a reduction over {} ranks", size()}, [&] {
    const bool all = call.kind == Collective::barrier || call.kind == Collective::agreement;
    const Collective kind = all ? Collective::allreduce : call.kind;
    Reduction r(
        *this,
        {kind, static_cast<const std::byte*>(in), static_cast<std::byte*>(out), count, type, operation, call.root},
        one_level ? one_level_ : hierarchy(call.kind));
    return finish_call(r.run());
  });
}

std::size_t Collectives::eager_limit(Collective kind) const noexcept {
  const bool shared = group_->oversubscribed(), reduce = kind == Collective::reduce;
  const std::size_t few = std::max(4 * kKiB, 32 * kKiB / static_cast<std::size_t>(size()));
  const std::size_t usual = !shared ? few : reduce ? 64 * kKiB : 16 * kKiB;
  return std::min((reduce ? options_.eager_reduce : options_.eager).value_or(usual), group_->slot_bytes());
}

// Receivers combine all inputs in rank order. One round.
Status Collectives::eager(const CallRecord& call, const void* in, void* out, std::size_t count, Type type,
                          const Combination& operation) noexcept {
  Group& g = *group_;
  const std::size_t size_of = payload::size_of(type), bytes = count * size_of;
  const std::size_t all = call.kind == Collective::reduce_scatter ? bytes * static_cast<std::size_t>(size()) : bytes;
  const std::size_t mine = call.kind == Collective::reduce_scatter ? bytes * static_cast<std::size_t>(rank()) : 0;
  const bool inlined = all <= kInline;
  if (size() > 1) {
    const std::uint64_t round = g.rounds(1);
    const std::span<const int> readers = call.kind != Collective::reduce ? std::span<const int>(others_)
                                         : rank() == call.root           ? std::span<const int>()
                                                                         : std::span<const int>(&call.root, 1);
    const Group::Room room = Group::room_for(all, call.kind != Collective::reduce);
    ++(inlined ? counters_.inlined : counters_.eager);
    if (const Status s = g.open(round, readers, room); s != Status::ok) return s;
    if (all > 0) {
      if (room == Group::Room::slot) g.will_fill(round, 0, all);
      copy_to_peer(g.place(round, room, all), in, all, Stores::plain);
    }
    g.publish(round);
    if (call.kind == Collective::reduce && rank() != call.root) {
      g.done_with(round + 1, room);
      return Status::ok;
    }
    std::byte* sum = nullptr;
    if (!attempt([&] { sum = scratch(std::max<std::size_t>(bytes, 1)); }))
      return g.give_up_all(Purpose("for {} bytes", bytes).fail());
    const std::byte* left = nullptr;
    for (int r = 0; r < size(); ++r) {
      const std::byte* next = static_cast<const std::byte*>(in) + mine;
      if (r != rank()) {
        const Line* theirs = nullptr;
        if (const Status s = g.await(r, round, &theirs); s != Status::ok) return s;
        next = g.place(r, round, room, all) + mine;
      }
      if (bytes == 0) continue;
      Status s = Status::ok;
      if (r == 0)
        left = next;
      else
        s = r == 1 ? join(operation, type, left, next, sum, count) : fold(operation, type, sum, next, count);
      if (s != Status::ok) return g.give_up_all(s);
    }
    g.done_with(round + 1, room);
    if (bytes > 0) std::memcpy(out, sum, bytes);
  } else if (in != out && bytes > 0) {
    std::memcpy(out, in, bytes);
  }
  return bytes > 0 ? finish(operation, type, out, count, size()) : Status::ok;
}

}  // namespace stretto::node
