#include "node/collectives/bounded.hpp"

#include <algorithm>
#include <vector>

#include "base/guarded.hpp"
#include "node/collectives/bounded_reduction.hpp"
#include "node/collectives/coder.hpp"

namespace stretto::node {
namespace {

constexpr std::size_t kLeastGrains = 4;

// Each source compresses its values once, chunk by chunk, into its slots, and readers decode them there. Cost of n
// bytes: rounds n/chunk; compress n per source, decode n per source and reader; n/ratio cross. Error eps.
Status move(Group& g, Coder& coder, const BoundedCall& call) {
  const bool all = call.kind == Collective::allgather;
  const int me = g.rank(), ranks = g.size();
  auto* const out = static_cast<std::byte*>(call.out);
  const auto block = [&](int r) { return all ? out + coder.bytes(call.count) * static_cast<std::size_t>(r) : out; };
  const std::byte* mine = all && call.in != nullptr ? static_cast<const std::byte*>(call.in) : block(me);
  const bool gives = all || me == call.root;
  std::vector<int> sources, others;
  for (int k = 0; k < ranks; ++k) {
    const int r = (me + k) % ranks;
    if (r != me) others.push_back(r);
    if (all || (r == call.root && r != me)) sources.push_back(r);
  }
  if (!all && ranks == 1) return Status::ok;

  constexpr std::size_t grain = Coder::kGrain;
  const std::size_t most = coder.grains(room_of_streams(g), 1);
  if (most == 0)
    return g.give_up_all(
        fail(Status::unsupported, "a slot of {} bytes holds no stream of {} values", g.slot_bytes(), grain));
  const std::size_t quarter = std::max((call.count + 4 * grain - 1) / (4 * grain), kLeastGrains);
  const std::size_t whole = grain * std::min(most, quarter), room = coder.room(whole);
  const std::uint64_t chunks = (call.count + whole - 1) / whole, first = g.rounds(chunks);
  for (std::uint64_t k = 0; k < chunks; ++k) {
    const std::size_t at = coder.bytes(k * whole), n = std::min(whole, call.count - k * whole);
    if (gives) {
      if (const Status s = g.open(first + k, others, Group::Room::slot); s != Status::ok) return s;
      if (const Status s = coder.compress(mine + at, n, {g.slot(first + k), room}); s != Status::ok)
        return g.give_up_all(s);
      g.publish(first + k);
    }
    for (const int r : sources) {
      if (r != me) {
        const Line* line = nullptr;
        if (const Status s = g.await(r, first + k, &line); s != Status::ok) return s;
      }
      if (const Status s = coder.decode({g.slot(r, first + k), room}, block(r) + at, n, 1); s != Status::ok)
        return g.give_up_all(s);
    }
    g.done(first + k + 1);
  }
  return Status::ok;
}

}  // namespace

Status check_bounded(Collective kind, const payload::Spec& spec) noexcept {
  switch (kind) {
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::bcast:
    case Collective::allgather: break;
    case Collective::gather:
    case Collective::scatter:
    case Collective::alltoall:
    case Collective::barrier:
    case Collective::allreduce_multi:
    case Collective::reduce_scatter_block:
    case Collective::allgatherv:
    case Collective::gatherv:
    case Collective::scatterv:
    case Collective::alltoallv:
    case Collective::scan:
    case Collective::exscan:
    case Collective::agreement: return fail(Status::unsupported, "{} has no streams inside a node", name(kind));
  }
  using payload::Type;
  if (spec.type != Type::f32 && spec.type != Type::f64 && spec.type != Type::f16 && spec.type != Type::bf16)
    return fail(Status::unsupported, "{} has no streams inside a node", payload::name(spec.type));
  if (!payload::traits(spec.kind).adds_codes || payload::mixes(spec))
    return fail(Status::unsupported, "payload {}{} has no streams inside a node", payload::name(spec.kind),
                payload::mixes(spec) ? " beside raw values" : "");
  if (reduces(kind) && spec.op == payload::Op::difference)
    return fail(Status::unsupported, "{} is not combined inside a node", payload::name(spec.op));
  return payload::check(spec, reduces(kind));
}

Status Bounded::run(const BoundedCall& call, StreamCounts* streamed) noexcept {
  if (const Status s = check_bounded(call.kind, call.spec); s != Status::ok) return s;
  if (call.root < 0 || call.root >= group_.size())
    return fail(Status::invalid_argument, "root {} of {} ranks", call.root, group_.size());
  *streamed = {};
  Coder coder(call.spec, pool_, *streamed);
  const auto op = static_cast<std::uint8_t>(reduces(call.kind) ? call.spec.op : payload::Op::sum);
  if (const Status s = group_.enter({call.kind, static_cast<std::uint8_t>(call.spec.type), op, call.root,
                                     coder.bytes(call.count), call.spec.eps, call.spec.magnitude});
      s != Status::ok)
    return s;
  const Status s = group_.guarded_for_all({"for streams of {} ranks", group_.size()}, [&] {
    if (call.count == 0) return Status::ok;
    return reduces(call.kind) ? BoundedReduction(group_, coder, call).run() : move(group_, coder, call);
  });
  if (s == Status::ok) group_.leave();
  return s;
}

}  // namespace stretto::node
