#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "backend/hosts/hosts_short.hpp"
#include "base/guarded.hpp"
#include "call/call.hpp"

namespace stretto::backend {

using namespace call;

bool has_short_blocks(const Shape& s, int ranks, bool coded) noexcept {
  const std::size_t most = coded ? schedule::kLongestCodedVector : schedule::kLongestShortVector;
  switch (s.collective) {
    case Collective::allgather:
    case Collective::alltoall: return s.count <= most / stretto_type_size(s.type) / static_cast<std::size_t>(ranks);
    default: return false;
  }
}

ShortBlocks::ShortBlocks(Hosts& hosts, const Shape& shape, const BlockCoding* coding)
    : ShortCall(hosts, shape, coding != nullptr ? 1 : 0),
      ranks_(hosts.group_of.size()),
      rank_(static_cast<std::size_t>(hosts.engine.carrier().rank())),
      coding_(coding != nullptr ? std::optional(*coding) : std::nullopt) {
  std::size_t ranks = 0;
  for (const Members& host : at_.members) {
    before_.push_back(ranks);
    ranks += host.size();
  }
  if (!coding_) return;
  if (is_peer_) coded_.resize(at_.members.size());
  if (at_.host) noted_.resize(ranks_ * bytes_ + sizeof(Note));
}

Status ShortBlocks::make_rooms() noexcept {
  const std::size_t vectors = kind_ == Collective::alltoall ? here().size() : 1,
                    bytes = vectors * (ranks_ * bytes_ + (coding_ ? sizeof(Note) : 0));
  return guarded("for the messages between hosts", [&] {
    std::size_t all = bytes;
    for (std::size_t h = 0; h < coded_.size(); ++h) {
      const std::size_t raw = at_.members[h].size() * here().size() * bytes_;
      coded_[h].made_bytes = codec::compress_bound(coding_->type, raw / codec::size_of(coding_->type));
      all += coded_[h].made_bytes + raw;
    }
    first_ = at_.make_room(Hosts::Use::undelivered, all);
    second_ = at_.make_room(Hosts::Use::read_by_peers, bytes);
    std::byte* next = first_ + bytes;
    for (std::size_t h = 0; h < coded_.size(); ++h) {
      coded_[h].made = next;
      coded_[h].got = next += coded_[h].made_bytes;
      next += at_.members[h].size() * here().size() * bytes_;
    }
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
  std::size_t n = 0, decoded = 1;
  for (std::size_t k = 1; k < hosts(); ++k) {
    const std::size_t up = (here_ + k) % hosts(), down = (here_ + hosts() - k) % hosts();
    all[n++] = {peers_[down], false, in + before_[down] * bytes, at_.members[down].size() * bytes};
    all[n++] = {peers_[up], true, out + before_[up] * bytes, at_.members[up].size() * bytes};
    if (coding_) {
      encode(up, out + before_[up] * bytes, all[n - 1].bytes);
      all[n - 2].data = coded_[down].got;
      all[n - 2].length = &coded_[down].got_bytes;
      all[n - 1].data = const_cast<std::byte*>(coded_[up].sent);
      all[n - 1].length = &coded_[up].sent_bytes;
    }
    if (n + 2 <= all.size() && k + 1 < hosts()) continue;
    if (const Status s = exchange({all.data(), n}); s != Status::ok) return s;
    for (; coding_ && decoded <= k; ++decoded) {
      const std::size_t from = (here_ + hosts() - decoded) % hosts();
      const Status s = decode(from, in + before_[from] * bytes, at_.members[from].size() * bytes);
      if (s != Status::ok) return s;
    }
    n = 0;
  }
  return Status::ok;
}

// Values that no bound suits, or that do not shrink, travel as they are.
void ShortBlocks::encode(std::size_t host, const std::byte* values, std::size_t bytes) noexcept {
  Coded& c = coded_[host];
  c.sent = values;
  c.sent_bytes = bytes;
  if (!encodes_) return;
  const std::size_t count = bytes / codec::size_of(coding_->type);
  double eps = coding_->bound;
  codec::Options options;
  if (coding_->relative) {
    codec::Ranges ranges;
    if (codec::value_ranges(coding_->type, values, count, coding_->ignore_above, &ranges) != Status::ok) return;
    eps = codec::fraction_of(ranges.below, coding_->bound);
    options.magnitude = std::max(std::fabs(ranges.below.lo), std::fabs(ranges.below.hi));
  }
  if (!(eps > 0) || !std::isfinite(eps)) return;
  std::size_t written = 0;
  const Status s = codec::compress(coding_->type, values, count, eps, {c.made, c.made_bytes}, &written, options);
  if (s != Status::ok || written >= bytes) return;
  c.sent = c.made;
  c.sent_bytes = written;
}

Status ShortBlocks::decode(std::size_t host, std::byte* values, std::size_t bytes) noexcept {
  const Coded& c = coded_[host];
  if (c.got_bytes == bytes) {
    std::memcpy(values, c.got, bytes);
    return Status::ok;
  }
  const codec::Bytes stream{c.got, c.got_bytes};
  codec::Info info;
  if (const Status s = codec::inspect(stream, &info); s != Status::ok) return s;
  if (info.count * codec::size_of(info.type) != bytes)
    return fail(Status::incompatible, "rank {} sent {} values of {} where this rank expects {} bytes", peers_[host],
                info.count, codec::name(info.type), bytes);
  error_ = std::max(error_, info.promised());
  return codec::decompress(stream, values, info.count);
}

// A message has the blocks of all pairs of ranks of two hosts, by sender, then by receiver.
Status ShortBlocks::alltoall(const std::byte* own, std::byte* out) noexcept {
  const std::size_t vector = ranks_ * bytes_, mine = here().size(), each = vector + (coding_ ? sizeof(Note) : 0);
  Status s = Status::ok;
  if (at_.host)
    s = at_.host->gather(noted(own), is_peer_ ? first_ : nullptr, each, stands_);
  else
    std::memcpy(first_, own, vector);
  if (s != Status::ok) return s;
  if (is_peer_) {
    encodes_ = coding_ && is_of_one_type();
    error_ = 0;
    std::byte* to = second_;
    for (const Members& host : at_.members)
      for (std::size_t i = 0; i < mine; ++i)
        for (const std::int32_t r : host) {
          std::memcpy(to, first_ + i * each + static_cast<std::size_t>(r) * bytes_, bytes_);
          to += bytes_;
        }
    if (s = exchange_all(second_, first_, mine * bytes_); s != Status::ok) return s;
    const std::size_t begin = before_[here_] * mine * bytes_;
    std::memcpy(first_ + begin, second_ + begin, mine * mine * bytes_);
    const std::byte* from = first_;
    for (const Members& host : at_.members)
      for (const std::int32_t r : host)
        for (std::size_t i = 0; i < mine; ++i) {
          std::memcpy(second_ + i * each + static_cast<std::size_t>(r) * bytes_, from, bytes_);
          from += bytes_;
        }
    const Note note{.error = error_};
    for (std::size_t i = 0; i < mine && coding_; ++i) std::memcpy(second_ + i * each + vector, &note, sizeof note);
  }
  if (!at_.host) {
    std::memcpy(out, second_, vector);
    if (coding_) promise(error_);
    return Status::ok;
  }
  s = at_.host->scatter(is_peer_ ? second_ : nullptr, coding_ ? noted_.data() : out, each, stands_);
  if (s != Status::ok || !coding_) return s;
  Note note;
  std::memcpy(out, noted_.data(), vector);
  std::memcpy(&note, noted_.data() + vector, sizeof note);
  promise(note.error);
  return Status::ok;
}

const std::byte* ShortBlocks::noted(const std::byte* own) noexcept {
  if (!coding_) return own;
  const std::size_t vector = ranks_ * bytes_;
  const Note note{.type = coding_->type};
  std::memcpy(noted_.data(), own, vector);
  std::memcpy(noted_.data() + vector, &note, sizeof note);
  return noted_.data();
}

bool ShortBlocks::is_of_one_type() const noexcept {
  const std::size_t vector = ranks_ * bytes_;
  for (std::size_t i = 0; i < here().size() && at_.host; ++i) {
    Note note;
    std::memcpy(&note, first_ + i * (vector + sizeof note) + vector, sizeof note);
    if (note.type != coding_->type) return false;
  }
  return true;
}

}  // namespace stretto::backend
