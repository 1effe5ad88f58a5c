#include <algorithm>
#include <array>
#include <cstring>

#include "backend/hosts/hosts_short.hpp"
#include "base/guarded.hpp"
#include "call/call.hpp"

namespace stretto::backend {

using namespace call;

bool has_short_blocks(const Shape& s, int ranks) noexcept {
  switch (s.collective) {
    case Collective::allgather:
    case Collective::alltoall:
      return s.count <= schedule::kLongestShortVector / stretto_type_size(s.type) / static_cast<std::size_t>(ranks);
    default: return false;
  }
}

ShortBlocks::ShortBlocks(Hosts& hosts, const Shape& shape)
    : ShortCall(hosts, shape),
      ranks_(hosts.group_of.size()),
      rank_(static_cast<std::size_t>(hosts.engine.carrier().rank())) {
  std::size_t ranks = 0;
  for (const Members& host : at_.members) {
    before_.push_back(ranks);
    ranks += host.size();
  }
}

Status ShortBlocks::make_rooms() noexcept {
  const std::size_t vectors = kind_ == Collective::alltoall ? here().size() : 1, bytes = vectors * ranks_ * bytes_;
  return guarded("for the messages between hosts", [&] {
    first_ = at_.make_room(Hosts::Use::undelivered, bytes);
    second_ = at_.make_room(Hosts::Use::read_by_peers, bytes);
  });
}

void ShortBlocks::retain_rooms() noexcept { at_.retain_rooms(); }

Status ShortBlocks::move(const void* in, void* out) noexcept {
  if (bytes_ == 0) return Status::ok;
  const auto* const from = static_cast<const std::byte*>(in);
  auto* const to = static_cast<std::byte*>(out);
  if (kind_ == Collective::alltoall) return alltoall(from != nullptr ? from : to, to);
  return allgather(from, to);
}

// Each round doubles the hosts whose blocks a host has, from its own upwards. The first part of `out` holds this host's
// blocks, so its ranks call something else than in an alltoall.
Status ShortBlocks::allgather(const std::byte* in, std::byte* out) noexcept {
  const std::byte* const own = in != nullptr ? in : out + rank_ * bytes_;
  if (at_.host) {
    if (in == nullptr) std::memmove(out + at_.number * bytes_, own, bytes_);
    if (const Status s = at_.host->allgather(in, out, bytes_); s != Status::ok) return s;
    if (is_peer_) std::memcpy(first_, out, here().size() * bytes_);
  } else {
    std::memcpy(first_, own, bytes_);
  }
  if (is_peer_) {
    const auto host_at = [&](std::size_t k) { return (here_ + k) % hosts(); };
    std::size_t held = here().size() * bytes_;
    for (std::size_t known = 1; known < hosts(); known *= 2) {
      const std::size_t n = std::min(known, hosts() - known);
      std::size_t sent = 0, received = 0;
      for (std::size_t k = 0; k < n; ++k) {
        sent += at_.members[host_at(k)].size() * bytes_;
        received += at_.members[host_at(known + k)].size() * bytes_;
      }
      const std::array<engine::ShortMessage, 2> both{{{peers_[host_at(known)], false, first_ + held, received},
                                                      {peers_[host_at(hosts() - known)], true, first_, sent}}};
      if (const Status s = exchange(both); s != Status::ok) return s;
      held += received;
    }
    const std::byte* next = first_;
    for (std::size_t k = 0; k < hosts(); ++k)
      for (const std::int32_t r : at_.members[host_at(k)]) {
        std::memcpy(out + static_cast<std::size_t>(r) * bytes_, next, bytes_);
        next += bytes_;
      }
  }
  return at_.host ? at_.host->bcast(out, ranks_ * bytes_, stands_) : Status::ok;
}

// A round goes some hosts up for sends and as many down for receives.
Status ShortBlocks::exchange_all(std::byte* out, std::byte* in, std::size_t bytes) noexcept {
  std::array<engine::ShortMessage, engine::Engine::kMostShortMessages> all;
  std::size_t n = 0;
  for (std::size_t k = 1; k < hosts(); ++k) {
    const std::size_t up = (here_ + k) % hosts(), down = (here_ + hosts() - k) % hosts();
    all[n++] = {peers_[down], false, in + before_[down] * bytes, at_.members[down].size() * bytes};
    all[n++] = {peers_[up], true, out + before_[up] * bytes, at_.members[up].size() * bytes};
    if (n + 2 <= all.size() && k + 1 < hosts()) continue;
    if (const Status s = exchange({all.data(), n}); s != Status::ok) return s;
    n = 0;
  }
  return Status::ok;
}

// A message has the blocks of all pairs of ranks of two hosts, by sender, then by receiver.
Status ShortBlocks::alltoall(const std::byte* own, std::byte* out) noexcept {
  const std::size_t vector = ranks_ * bytes_, mine = here().size();
  Status s = Status::ok;
  if (at_.host)
    s = at_.host->gather(own, is_peer_ ? first_ : nullptr, vector, stands_);
  else
    std::memcpy(first_, own, vector);
  if (s != Status::ok) return s;
  if (is_peer_) {
    std::byte* to = second_;
    for (const Members& host : at_.members)
      for (std::size_t i = 0; i < mine; ++i)
        for (const std::int32_t r : host) {
          std::memcpy(to, first_ + i * vector + static_cast<std::size_t>(r) * bytes_, bytes_);
          to += bytes_;
        }
    if (s = exchange_all(second_, first_, mine * bytes_); s != Status::ok) return s;
    const std::size_t begin = before_[here_] * mine * bytes_;
    std::memcpy(first_ + begin, second_ + begin, mine * mine * bytes_);
    const std::byte* from = first_;
    for (const Members& host : at_.members)
      for (const std::int32_t r : host)
        for (std::size_t i = 0; i < mine; ++i) {
          std::memcpy(second_ + i * vector + static_cast<std::size_t>(r) * bytes_, from, bytes_);
          from += bytes_;
        }
  }
  if (at_.host) return at_.host->scatter(is_peer_ ? second_ : nullptr, out, vector, stands_);
  std::memcpy(out, second_, vector);
  return Status::ok;
}

}  // namespace stretto::backend
