#include <algorithm>
#include <cstring>

#include "base/guarded.hpp"
#include "node/collectives/reduction.hpp"

namespace stretto::node {

Status Reduction::gather_sources(int level, std::uint64_t k, const Range& mine) noexcept {
  const Chunk c = chunk(k);
  const std::uint64_t round = first_ + k + static_cast<std::uint64_t>(level) - 1;
  const std::size_t bytes = (mine.end - mine.first) * size_;
  return g_.guarded_for_all("for the sources of a reduction", [&] {
    const auto children = h_.children(level, me_);
    sources_.resize(children.size());
    // A reduce stores only into the root's output.
    const bool may_push = t_.kind == Collective::reduce ? me_ != t_.root
                                                        : t_.kind == Collective::allreduce &&
                                                              visibility(published_.out.access) == Visibility::mapped;
    bool all_mapped = level == 1 && levels_ == 1 && large_ && may_push;
    std::byte* copies = c_.scratch(level == 1 ? children.size() * bytes : 0);
    for (std::size_t child = 0; child < children.size(); ++child) {
      auto& sources = sources_[child];
      sources.clear();
      const int lowest = children[child];
      const auto members = level == 1 ? std::span<const int>(&lowest, 1) : h_.group(level - 1, lowest);
      for (const int r : members) {
        const Range theirs = part(level - 1, r, c);
        if (std::max(mine.first, theirs.first) >= std::min(mine.end, theirs.end)) continue;
        Source& source = sources.emplace_back();
        source.rank = r;
        source.part = theirs;
        if (r == me_) {
          if (level == 1)
            source.whole = t_.in;
          else
            source.at = g_.slot(round) + region(level - 1, me_, me_);
          continue;
        }
        const Line* line = nullptr;
        if (const Status s = g_.await(r, round, &line); s != Status::ok) return s;
        // On one level this rank reads only its own part of a peer's slot.
        if (levels_ == 1) source.part = mine;
        source.at = g_.slot(r, round) + (levels_ == 1 ? region(1, me_, r) : region(level - 1, r, r));
        if (level > 1 || !large_) continue;
        if (const Status s = reach_source(*line, c, mine, theirs, copies + child * bytes, &source, &all_mapped);
            s != Status::ok)
          return s;
      }
    }
    if (level == 1) find_destination(all_mapped);
    if (level == 1) find_lent(round);
    return Status::ok;
  });
}

Status Reduction::reach_source(const Line& line, const Chunk& c, const Range& mine, const Range& theirs,
                               std::byte* copy, Source* source, bool* outputs_mapped) noexcept {
  const int r = source->rank;
  Published published;
  std::memcpy(&published, line.payload, sizeof published);
  const std::size_t length =
      t_.count * size_ * (t_.kind == Collective::reduce_scatter ? static_cast<std::size_t>(ranks_) : 1);
  const bool wants = t_.kind != Collective::reduce || r == t_.root;
  *outputs_mapped &= !wants || visibility(published.out.access) == Visibility::mapped;
  if (*outputs_mapped && wants) {
    outputs_[static_cast<std::size_t>(r)] = c_.memory_->reach(r, published.out, 0, length);
    *outputs_mapped = outputs_[static_cast<std::size_t>(r)] != nullptr;
  }
  const Visibility a = visibility(published.in.access);
  if (a == Visibility::staged) return Status::ok;
  source->at = nullptr;
  if (a == Visibility::mapped) {
    source->part = theirs;  // also valid for later chunks
    source->whole = c_.memory_->reach(r, published.in, 0, length);
    if (source->whole != nullptr) return Status::ok;
  }
  if (const Status s = fetch(r, published, c, mine, copy); s != Status::ok) return g_.give_up_all(s);
  source->part = mine;
  source->at = copy;
  return Status::ok;
}

// Also finds if later chunks have their sources at equal relative addresses.
void Reduction::find_destination(bool outputs_mapped) noexcept {
  // It would overwrite chunks that other ranks still copy.
  const bool scattered = t_.kind == Collective::reduce_scatter && t_.in != t_.out;
  const bool stored = outputs_mapped || scattered || (t_.kind == Collective::reduce && me_ == t_.root);
  const bool read = large_ && levels_ == 1 &&
                    std::all_of(sources_.begin(), sources_.end(),
                                [](const std::vector<Source>& s) { return s.front().whole != nullptr; });
  destination_ = read && stored ? Destination::all : outputs_mapped ? Destination::chunk : Destination::slot;
}

// If the peer's input lies in its slot and the peer needs the result.
void Reduction::find_lent(std::uint64_t round) noexcept {
  lent_ = nullptr;
  const bool has_result = t_.kind == Collective::reduce && me_ == t_.root;
  if (!lends() || destination_ != Destination::slot || t_.kind == Collective::reduce_scatter || has_result) return;
  const int other = 1 - me_;
  const std::size_t place = region(1, me_, other);
  for (const std::vector<Source>& child : sources_)
    if (child.front().rank == other && child.front().at == g_.slot(other, round) + place)
      lent_ = g_.lent_slot(other, round) + place;
}

Status Reduction::fetch(int source, const Published& published, const Chunk& c, const Range& mine,
                        std::byte* to) noexcept {
  for (std::size_t at = mine.first; at < mine.end;) {
    const std::size_t n = std::min(mine.end - at, source_run(c, at));
    const Status s =
        c_.memory_->read(source, published.in, source_at(c, at) * size_, to + (at - mine.first) * size_, n * size_);
    if (s != Status::ok) return s;
    at += n;
  }
  return Status::ok;
}

Reduction::Piece Reduction::piece(std::size_t child, const Chunk& c, std::size_t position) const noexcept {
  for (const Source& s : sources_[child]) {
    if (position < s.part.first || position >= s.part.end) continue;
    if (s.at != nullptr) return {s.at + (position - s.part.first) * size_, s.part.end};
    return {s.whole + source_at(c, position) * size_, std::min(s.part.end, position + source_run(c, position))};
  }
  return {nullptr, position};
}

}  // namespace stretto::node
