#include "node/collectives/bounded_reduction.hpp"

#include <algorithm>
#include <cstring>

namespace stretto::node {

BoundedReduction::BoundedReduction(Group& group, Coder& coder, const BoundedCall& call)
    : g_(group),
      coder_(coder),
      call_(call),
      in_(static_cast<const std::byte*>(call.in == nullptr ? call.out : call.in)),
      out_(call.kind == Collective::reduce && group.rank() != call.root ? nullptr : static_cast<std::byte*>(call.out)),
      ranks_(static_cast<std::size_t>(group.size())),
      me_(static_cast<std::size_t>(group.rank())),
      scatters_(call.kind == Collective::reduce_scatter),
      divisor_(call.spec.op == payload::Op::mean ? static_cast<std::uint32_t>(ranks_) : 1) {
  // One part per rank if a grain each fits. Otherwise as many parts as fit, and a region for the sum.
  constexpr std::size_t grain = Coder::kGrain;
  owners_ = ranks_;
  std::size_t grains = coder.grains(room_of_streams(g_), ranks_);
  if (grains == 0) {
    grains = 1;
    const std::size_t regions = room_of_streams(g_) / coder.room(grain);
    owners_ = regions - std::min<std::size_t>(regions, scatters_ ? 0 : 1);
  }
  if (owners_ == 0 || call.count == 0) return;
  const std::size_t wanted = scatters_ ? call.count : (call.count + owners_ - 1) / owners_;
  piece_ = grain * std::min(grains, (wanted + grain - 1) / grain);
  room_ = coder.room(piece_);
  const std::size_t whole = scatters_ ? piece_ : piece_ * owners_;
  pieces_ = (call.count + whole - 1) / whole;
  chunks_ = scatters_ ? pieces_ * ((ranks_ + owners_ - 1) / owners_) : pieces_;
  for (std::size_t k = 1; k < ranks_; ++k) others_.push_back(static_cast<int>((me_ + k) % ranks_));
  streams_.reserve(ranks_);
}

// reduce_scatter: a chunk has a piece of each of `owners_` blocks.
BoundedReduction::Part BoundedReduction::part(std::uint64_t chunk, std::size_t index) const noexcept {
  if (scatters_) {
    const std::size_t block = chunk / pieces_ * owners_ + index, at = chunk % pieces_ * piece_;
    if (block >= ranks_) return {};
    return {static_cast<int>(block), block * call_.count + at, std::min(piece_, call_.count - at), at};
  }
  const std::size_t at = std::min((chunk * owners_ + index) * piece_, call_.count);
  const int owner = static_cast<int>((owners_ == ranks_ ? index : chunk * owners_ + index) % ranks_);
  return {owner, at, std::min(piece_, call_.count - at), at};
}

bool BoundedReduction::owned(std::uint64_t chunk, std::size_t* index) const noexcept {
  for (*index = 0; *index < owners_; ++*index) {
    const Part p = part(chunk, *index);
    if (p.count > 0 && p.owner == g_.rank()) return true;
  }
  return false;
}

codec::MutableBytes BoundedReduction::region(std::byte* body, std::size_t index) const noexcept {
  return {body + index * room_, room_};
}
codec::Bytes BoundedReduction::region(const std::byte* body, std::size_t index) const noexcept {
  return {body + index * room_, room_};
}

// A rank that owns one part of every chunk does not contribute there, so its sum uses that region.
std::size_t BoundedReduction::sum_region() const noexcept { return owners_ == ranks_ ? me_ : owners_; }

Status BoundedReduction::contribute(std::uint64_t chunk, std::byte* body) noexcept {
  for (std::size_t index = 0; index < owners_; ++index) {
    const Part p = part(chunk, index);
    if (p.count == 0 || p.owner == g_.rank()) continue;
    if (const Status s = coder_.compress(in_ + coder_.bytes(p.at), p.count, region(body, index)); s != Status::ok)
      return g_.give_up_all(s);
  }
  return Status::ok;
}

Status BoundedReduction::add_up(std::uint64_t chunk, std::byte* body, Published* payload) noexcept {
  std::size_t index = 0;
  if (!owned(chunk, &index)) return Status::ok;
  const Part p = part(chunk, index);
  streams_.clear();
  for (const int r : others_) {
    const Line* line = nullptr;
    if (const Status s = g_.await(r, first_ + chunk, &line); s != Status::ok) return s;
    streams_.push_back(region(g_.slot(r, first_ + chunk), index));
  }
  const codec::MutableBytes to = scatters_ ? codec::MutableBytes() : region(body, sum_region());
  Coder::Sum sum;
  Status s = coder_.sum(in_ + coder_.bytes(p.at), streams_, p.count, to, &sum);
  if (s == Status::ok && scatters_) {
    s = coder_.decode(sum.stream, out_ + coder_.bytes(p.out), p.count, divisor_);
  } else if (s == Status::ok) {
    payload->decoded = sum.store ? 1 : 0;
    if (sum.store) s = coder_.decode(sum.stream, to.data(), p.count, divisor_);
    coder_.count(coder_.bytes(p.count), sum.store ? coder_.bytes(p.count) : sum.stream.size());
  }
  return s == Status::ok ? s : g_.give_up_all(s);
}

Status BoundedReduction::copy_out(std::uint64_t chunk) noexcept {
  for (std::size_t k = 0; k < owners_; ++k) {
    const Part p = part(chunk, (me_ + k) % owners_);
    if (p.count == 0) continue;
    const Line* line = &g_.line(first_ + chunk + 1);
    if (p.owner != g_.rank()) {
      if (const Status s = g_.await(p.owner, first_ + chunk + 1, &line); s != Status::ok) return s;
    }
    Published payload;
    std::memcpy(&payload, line->payload, sizeof payload);
    const codec::Bytes sum =
        region(g_.slot(p.owner, first_ + chunk + 1), owners_ == ranks_ ? static_cast<std::size_t>(p.owner) : owners_);
    std::byte* to = out_ + coder_.bytes(p.out);
    if (payload.decoded != 0) {
      std::memcpy(to, sum.data(), coder_.bytes(p.count));
    } else if (const Status s = coder_.decode(sum, to, p.count, divisor_); s != Status::ok) {
      return g_.give_up_all(s);
    }
  }
  return Status::ok;
}

Status BoundedReduction::run() noexcept {
  if (owners_ == 0)
    return g_.give_up_all(fail(Status::unsupported, "a slot of {} bytes holds no stream of {} values and their sum",
                               g_.slot_bytes(), Coder::kGrain));
  const std::uint64_t published = chunks_ + (scatters_ ? 0 : 1), rounds = chunks_ + (scatters_ ? 1 : 2);
  first_ = g_.rounds(rounds);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    Published payload;
    if (i < published) {
      if (const Status s = g_.open(first_ + i, others_, Group::Room::slot); s != Status::ok) return s;
      std::byte* const body = g_.slot(first_ + i);
      if (i < chunks_) {
        if (const Status s = contribute(i, body); s != Status::ok) return s;
      }
      if (i > 0 && !scatters_) {
        if (const Status s = add_up(i - 1, body, &payload); s != Status::ok) return s;
      }
      std::memcpy(g_.line(first_ + i).payload, &payload, sizeof payload);
      g_.publish(first_ + i);
    }
    if (i > 0 && scatters_) {
      if (const Status s = add_up(i - 1, nullptr, &payload); s != Status::ok) return s;
    }
    if (i > 1 && out_ != nullptr && !scatters_) {
      if (const Status s = copy_out(i - 2); s != Status::ok) return s;
    }
    g_.done(first_ + i);
  }
  g_.done(first_ + rounds);
  return Status::ok;
}

}  // namespace stretto::node
