#include "node/collectives/transfer.hpp"

#include <algorithm>
#include <cstring>

#include "base/guarded.hpp"

namespace stretto::node {
namespace {

constexpr std::size_t kPipelineStep = 32 * 1024;
// The chunk of long blocks leaves the first-level cache while it is written: peers fetch it from the second level in
// two thirds of the time.
constexpr std::size_t kLongStep = 64 * 1024;

// Follows the exposure in a line's payload.
enum class Arrival : std::uint8_t { at_once, in_chunks, later };

}  // namespace

Transfer::Transfer(Collectives& c, Moves& moves) noexcept : c_(c), m_(moves) {
  const std::size_t blocks = std::max<std::size_t>(m_.indices, 1);
  const std::size_t room = std::max(c.room_of_slots(blocks * m_.bytes) / blocks / kLine * kLine, kLine);
  step_ = std::min(room, m_.bytes < 2 * kLongStep ? kPipelineStep : kLongStep);
  // Lengths alone decide, so ranks agree.
  if (m_.bytes <= room && m_.bytes * m_.indices <= kPipelineStep) step_ = std::max<std::size_t>(m_.bytes, 1);
  chunks_ = (m_.bytes + step_ - 1) / step_;
  inlined_ = m_.bytes * m_.indices <= kInline;
  large_ = m_.bytes >= c.options_.direct && !inlined_;
}

Transfer::Chunk Transfer::chunk(std::uint64_t k) const noexcept {
  const std::size_t at = static_cast<std::size_t>(k) * step_;
  return {at, std::min(step_, m_.bytes - at)};
}

Stores Transfer::stores(std::size_t least) const noexcept {
  return may_stream_ ? stores_of_result(m_.bytes, least) : Stores::plain;
}

Status Transfer::run() noexcept {
  Group& g = *c_.group_;
  first_ = g.rounds(large_ ? 2 * chunks_ : chunks_);
  // A block per reader gains most from a single copy, and a rank that shares its core cannot overlap two with a peer.
  const bool for_each = m_.indices > 1 && g.oversubscribed();
  const bool by_kernel = m_.by_kernel && m_.bytes >= c_.options_.kernel / (for_each ? 4 : 1);
  if (large_ && !m_.offsets.empty()) exposure_ = c_.memory_->expose(m_.exposed, m_.span, by_kernel);
  if (!attempt([&] { m_.states.assign(m_.pulls.size(), PullState::pending); }))
    return g.give_up_all(Purpose("for {} transfers", m_.pulls.size()).fail());
  Counters& n = c_.counters_;
  ++(inlined_ ? n.inlined : chunks_ > 1 || large_ ? n.pipelined : n.eager);
  if (large_) {
    const Visibility a = visibility(exposure_.access);
    ++(a == Visibility::mapped ? n.mapped : a == Visibility::copyable ? n.copyable : n.staged);
  }
  // A forwarding rank's children read the data immediately.
  may_stream_ = !m_.passes_on || m_.readers.empty();
  if (const Status s = pass(); s != Status::ok) return s;
  const bool direct = exposure_.access != Access::staged;
  if (!direct && !refused_) return Status::ok;
  if (const Status s = g.await_done(m_.readers, first_ + chunks_); s != Status::ok) return s;
  std::erase_if(m_.readers, [&g](int r) { return !g.was_refused(r); });
  return m_.readers.empty() && !refused_ ? Status::ok : second_pass();
}

Status Transfer::pass() noexcept {
  Group& g = *c_.group_;
  for (std::uint64_t k = 0; k < chunks_; ++k) {
    if (m_.passes_on) {
      if (const Status s = pull(k); s != Status::ok) return s;
      if (const Status s = expose(k); s != Status::ok) return s;
    } else {
      if (const Status s = expose(k); s != Status::ok) return s;
      // Meanwhile peers begin, and late peers arrive.
      if (m_.own_to != nullptr && stores(kMovedByCaches) == Stores::plain)
        std::memmove(m_.own_to, m_.own, m_.bytes);
      else if (m_.own_to != nullptr)
        copy(m_.own_to, m_.own, m_.bytes, Stores::streaming);
      m_.own_to = nullptr;
      if (const Status s = pull(k); s != Status::ok) return s;
    }
    g.done(first_ + k + 1);
  }
  return Status::ok;
}

Status Transfer::second_pass() noexcept {
  if (!m_.readers.empty() && exposure_.access == Access::kernel) c_.memory_->stop_kernel();
  for (PullState& state : m_.states) {
    if (state == PullState::refused) ++c_.counters_.refused;
    state = state == PullState::refused ? PullState::pending : PullState::done;
  }
  exposure_ = {};
  refused_ = false;
  first_ += chunks_;
  return pass();
}

Status Transfer::expose(std::uint64_t k) noexcept {
  if (m_.readers.empty()) return Status::ok;
  const bool direct = exposure_.access != Access::staged;
  if (direct && !m_.passes_on && k > 0) return Status::ok;  // readers took everything at the first chunk
  Group& g = *c_.group_;
  if (const Status s = g.open(first_ + k, m_.readers, inlined_ ? Group::Room::small : Group::Room::slot);
      s != Status::ok)
    return s;
  Line& line = g.line(first_ + k);
  if (large_) {
    std::memcpy(line.payload, &exposure_, sizeof exposure_);
    const Arrival arrival = refused_ && m_.passes_on ? Arrival::later
                            : m_.passes_on           ? Arrival::in_chunks
                                                     : Arrival::at_once;
    line.payload[sizeof exposure_] = static_cast<std::byte>(arrival);
  }
  if (!direct && !(refused_ && m_.passes_on)) {
    const Chunk part = chunk(k);
    std::byte* room = inlined_ ? line.payload : g.slot(first_ + k);
    if (!inlined_ && part.bytes > 0) g.will_fill(first_ + k, 0, m_.offsets.size() * part.bytes);
    for (std::size_t i = 0; i < m_.offsets.size(); ++i)
      c_.copy_to_peer(room + i * part.bytes, m_.exposed + m_.offsets[i] + part.at, part.bytes,
                      c_.stores(Collectives::Use::moves));
  }
  g.publish(first_ + k);
  return Status::ok;
}

Status Transfer::pull(std::uint64_t k) noexcept {
  for (std::size_t i = 0; i < m_.pulls.size(); ++i) {
    if (m_.states[i] != PullState::pending) continue;
    const Line* line = nullptr;
    if (const Status s = c_.group_->await(m_.pulls[i].source, first_ + k, &line); s != Status::ok) return s;
    PullState& state = m_.states[i];
    if (const Status s = pull_from(m_.pulls[i], *line, k, &state); s != Status::ok) return c_.group_->give_up_all(s);
    if (state != PullState::refused) continue;
    refused_ = true;
    c_.group_->tell_refused();
  }
  return Status::ok;
}

Status Transfer::pull_from(const Pull& p, const Line& line, std::uint64_t k, PullState* state) noexcept {
  Chunk part = chunk(k);
  Exposure source;
  Arrival arrival = Arrival::in_chunks;
  if (large_) {
    std::memcpy(&source, line.payload, sizeof source);
    arrival = static_cast<Arrival>(line.payload[sizeof source]);
  }
  if (arrival == Arrival::later) {
    *state = PullState::refused;
    return Status::ok;
  }
  const Visibility a = visibility(source.access);
  if (a == Visibility::staged) {
    const std::byte* room = inlined_ ? line.payload : c_.group_->slot(p.source, first_ + k);
    c_.copy_from_slot(p.to + part.at, room + p.index * part.bytes, part.bytes, stores(kMovedByCaches),
                      inlined_ ? Stores::plain : c_.stores(Collectives::Use::moves));
    return Status::ok;
  }
  if (arrival == Arrival::at_once) {
    part = {0, m_.bytes};
    *state = PullState::done;
  }
  const std::byte* block = a == Visibility::mapped ? c_.memory_->reach(p.source, source, p.offset, m_.bytes) : nullptr;
  if (block != nullptr) {
    c_.copy_from_peer(p.to + part.at, block + part.at, part.bytes, stores(kMoved));
    return Status::ok;
  }
  const Status s = c_.memory_->read(p.source, source, p.offset + part.at, p.to + part.at, part.bytes);
  if (s != Status::unsupported) return s;
  *state = PullState::refused;
  return Status::ok;
}

}  // namespace stretto::node
