#include "node/collectives/reduction.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace stretto::node {
namespace {

constexpr std::size_t kBlockBytes = 4096;  // combined at a time: fits in the first-level cache

}  // namespace

Reduction::Reduction(Collectives& c, const Task& task, const Hierarchy& hierarchy)
    : c_(c),
      g_(*c.group_),
      t_(task),
      h_(hierarchy),
      levels_(hierarchy.levels()),
      me_(c.rank()),
      ranks_(c.size()),
      size_(payload::size_of(task.type)),
      quantum_(std::max<std::size_t>(kLine / size_, 1)),
      stores_(c.stores(use(task.kind, g_.oversubscribed()))),
      mode_{results(), results() == Stores::plain ? c.stores(Collectives::Use::moves) : results()},
      readers_(c.operands_.readers),
      outputs_(c.operands_.outputs),
      sources_(c.operands_.sources),
      operands_(c.operands_.row) {
  // A result in place overwrites lines that were just read, which a store that bypasses the cache must evict.
  if (levels_ == 1 && t_.in == t_.out) mode_.own = Stores::plain;
  choose_chunk();
  find_readers();
  outputs_.assign(static_cast<std::size_t>(ranks_), nullptr);
  operands_.resize(static_cast<std::size_t>(ranks_));
}

// A slot holds a chunk's input, and this rank's part of it at every level. Equal on every rank.
void Reduction::choose_chunk() noexcept {
  const bool scatters = t_.kind == Collective::reduce_scatter;
  const std::size_t blocks = scatters || levels_ == 1 ? static_cast<std::size_t>(ranks_) : 1;
  all_ = scatters ? t_.count * blocks : t_.count;
  block_ = scatters ? t_.count : (t_.count + blocks - 1) / blocks;
  if (!scatters && blocks > 1) block_ = (block_ + quantum_ - 1) / quantum_ * quantum_;
  // On one level a rank's result replaces its own input, which no peer reads. On several levels: whole / (1 + 1/a + 1/b
  // + ...), in integers, since fractions may round differently.
  std::size_t numerator = 1, denominator = 1;
  for (int level = 1; level <= levels_ && levels_ > 1; ++level) {
    std::size_t smallest = static_cast<std::size_t>(ranks_);
    for (int r = 0; r < ranks_; ++r) smallest = std::min(smallest, h_.group(level, r).size());
    denominator = denominator * smallest + numerator;
    numerator *= smallest;
  }
  const std::size_t lines = levels_ > 1 ? (static_cast<std::size_t>(levels_) + 1) * 2 : 0;
  const std::size_t room = c_.room_of_slots(all_ * size_) - lines * kLine;
  const std::size_t whole = room / size_;
  const std::size_t elements = whole * numerator / denominator / blocks;
  chunk_ = std::max<std::size_t>(elements / quantum_ * quantum_, 1);
  if (levels_ == 1) {
    // As few chunks as the slots allow, of equal length: each costs two waits.
    const std::size_t fewest = (block_ + chunk_ - 1) / chunk_;
    const std::size_t equal = fewest > 0 ? (block_ + fewest - 1) / fewest : 1;
    chunk_ = std::min(chunk_, (equal + quantum_ - 1) / quantum_ * quantum_);
  } else {
    // Short vectors have several chunks, so that the levels overlap.
    const std::size_t least = std::max<std::size_t>(16384 / size_ / blocks / quantum_ * quantum_, quantum_);
    const std::size_t quarter = (block_ / 4 + quantum_ - 1) / quantum_ * quantum_;
    if (quarter < chunk_) chunk_ = std::min(chunk_, std::max(quarter, least));
  }
  chunks_ = (block_ + chunk_ - 1) / chunk_;
}

Reduction::Chunk Reduction::chunk(std::uint64_t k) const noexcept {
  const std::size_t at = static_cast<std::size_t>(k) * chunk_, n = std::min(chunk_, block_ - at);
  const std::size_t rest = all_ % block_;
  return {at, all_ / block_ * n + (rest > at ? std::min(rest - at, n) : 0), n};
}

std::size_t Reduction::part_size(int level, int rank, const Chunk& c) const noexcept {
  if (level == levels_ && (levels_ == 1 || t_.kind == Collective::reduce_scatter)) return c.per_block;
  const std::size_t members = h_.group(level, rank).size();
  return ((c.elements + members - 1) / members + quantum_ - 1) / quantum_ * quantum_;
}

Range Reduction::part(int level, int rank, const Chunk& c) const noexcept {
  if (level == 0) return {0, c.elements};
  const std::size_t size = part_size(level, rank, c), at = size * static_cast<std::size_t>(h_.index(level, rank));
  return {std::min(at, c.elements), std::min(at + size, c.elements)};
}

// Several levels: after the input and the parts of the levels below, sized for whole chunks. One level: every rank's
// part has a fixed place, shared by input and result. The owner's is the last, perhaps unused.
std::size_t Reduction::region(int level, int rank, int owner) const noexcept {
  if (level == 0) return 0;
  if (levels_ == 1) {
    const int place = rank - owner - 1;
    return static_cast<std::size_t>(place < 0 ? place + ranks_ : place) * chunk_ * size_;
  }
  const std::size_t blocks = t_.kind == Collective::reduce_scatter ? static_cast<std::size_t>(ranks_) : 1;
  const Chunk whole{0, chunk_ * blocks, chunk_};
  const auto lines = [this](std::size_t elements) { return (elements * size_ + kLine - 1) / kLine * kLine; };
  std::size_t at = lines(whole.elements);
  for (int l = 1; l < level; ++l) at += lines(part_size(l, rank, whole));
  return at;
}

std::size_t Reduction::source_at(const Chunk& c, std::size_t position) const noexcept {
  return position / c.per_block * block_ + c.at + position % c.per_block;
}

std::size_t Reduction::source_run(const Chunk& c, std::size_t position) const noexcept {
  return std::min(c.per_block - position % c.per_block, c.elements - position);
}

// Ranks that combine a part overlapping this rank's part of the level below, in any chunk, and ranks that copy its
// results out.
void Reduction::find_readers() {
  readers_.clear();
  if (chunks_ == 0) return;
  std::vector<char>& reads = c_.operands_.reads;
  reads.assign(static_cast<std::size_t>(ranks_), 0);
  for (const Chunk& c : {chunk(0), chunk(chunks_ - 1)}) {
    for (int level = 1; level <= levels_; ++level) {
      const Range mine = part(level - 1, me_, c);
      for (const int r : h_.group(level, me_)) {
        const Range theirs = part(level, r, c);
        if (std::max(mine.first, theirs.first) < std::min(mine.end, theirs.end)) reads[static_cast<std::size_t>(r)] = 1;
      }
    }
    if (part(levels_, me_, c).empty() || t_.kind == Collective::reduce_scatter) continue;
    for (int r = 0; r < ranks_; ++r)
      if (t_.kind == Collective::allreduce || r == t_.root) reads[static_cast<std::size_t>(r)] = 1;
  }
  for (int r = 0; r < ranks_; ++r)
    if (r != me_ && reads[static_cast<std::size_t>(r)]) readers_.push_back(r);
}

Status Reduction::run() noexcept {
  const auto levels = static_cast<std::uint64_t>(levels_);
  const std::size_t bytes = t_.count * size_;
  const std::size_t all = t_.kind == Collective::reduce_scatter ? bytes * static_cast<std::size_t>(ranks_) : bytes;
  large_ = all >= c_.options_.direct;
  if (large_) {
    // A peer might still read the first block.
    const bool over_input = t_.kind == Collective::reduce_scatter && t_.in == t_.out;
    if (!over_input) published_.in = c_.memory_->expose(t_.in, all, false);
    if (t_.out != nullptr && t_.kind != Collective::reduce_scatter)
      published_.out = c_.memory_->expose(t_.out, all, false);
    const Visibility a = visibility(published_.in.access);
    ++(a == Visibility::mapped     ? c_.counters_.mapped
       : a == Visibility::copyable ? c_.counters_.copyable
                                   : c_.counters_.staged);
  }
  ++c_.counters_.pipelined;
  const std::uint64_t rounds = chunks_ + levels + 1;
  first_ = g_.rounds(rounds);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    if (i < chunks_ + levels) {
      if (const Status s = g_.open(first_ + i, readers_, Group::Room::slot); s != Status::ok) return s;
      std::byte* const body = g_.slot(first_ + i);
      if (i < chunks_) {
        if (const Status s = copy_in(chunk(i), first_ + i); s != Status::ok) return s;
      }
      for (int level = levels_; level >= 1; --level) {
        const auto l = static_cast<std::uint64_t>(level);
        if (i < l || i - l >= chunks_) continue;
        if (const Status s = combine(level, i - l, body); s != Status::ok) return s;
      }
      published_.results = destination_;
      std::memcpy(g_.line(first_ + i).payload, &published_, sizeof published_);
      g_.publish(first_ + i);
    }
    if (i > levels && i - levels - 1 < chunks_) {
      if (const Status s = copy_out(i - levels - 1); s != Status::ok) return s;
    }
    bool over = false;
    if (const Status s = all_are_through(i, &over); s != Status::ok) return s;
    if (over) {
      g_.done(first_ + rounds);
      return Status::ok;
    }
    g_.done(first_ + i);
  }
  g_.done(first_ + rounds);
  // Readers in place need this rank's input until they are done.
  return published_.in.access != Access::staged ? g_.await_done(readers_, first_ + chunks_) : Status::ok;
}

// All ranks finished in the first combination, in round 1: the remaining rounds have no readers and are skipped. All
// ranks decide by the same lines.
Status Reduction::all_are_through(std::uint64_t round, bool* through) noexcept {
  *through = false;
  if (round != 1 || destination_ != Destination::all) return Status::ok;
  bool all = true;
  for (const int r : c_.others_) {
    const Line* line = nullptr;
    if (const Status s = g_.await(r, first_ + round, &line); s != Status::ok) return s;
    Published published;
    std::memcpy(&published, line->payload, sizeof published);
    all &= published.results == Destination::all;
  }
  *through = all;
  return Status::ok;
}

// All that others combine. This rank reads its own part in place.
Status Reduction::copy_in(const Chunk& c, std::uint64_t round) noexcept {
  if (published_.in.access != Access::staged) return Status::ok;
  const Range own = part(1, me_, c);
  if (h_.group(1, me_).size() == 1) return Status::ok;
  for (std::size_t at = 0; at < c.elements;) {
    if (at == own.first && !own.empty()) {
      at = own.end;
      continue;
    }
    std::size_t end = at + source_run(c, at);
    if (at < own.first && !own.empty()) end = std::min(end, own.first);
    const std::size_t to =
        levels_ == 1 ? region(1, static_cast<int>(at / c.per_block), me_) + at % c.per_block * size_ : at * size_;
    const std::size_t bytes = (end - at) * size_;
    g_.will_fill(round, to, bytes);
    c_.copy_to_peer(g_.slot(round) + to, t_.in + source_at(c, at) * size_, bytes, stores_);
    at = end;
  }
  return Status::ok;
}

Status Reduction::combine(int level, std::uint64_t k, std::byte* body) noexcept {
  if (destination_ == Destination::all) return Status::ok;
  const Chunk c = chunk(k);
  const Range mine = part(level, me_, c);
  if (mine.empty()) return Status::ok;
  if (const Status s = gather_sources(level, k, mine); s != Status::ok) return s;
  if (destination_ == Destination::all) return combine_all(k, body);
  if (fills_slot(level))
    g_.will_fill(first_ + k + static_cast<std::uint64_t>(level), region(level, me_, me_),
                 (mine.end - mine.first) * size_);
  return combine_part(level, c, mine, body);
}

bool Reduction::fills_slot(int level) const noexcept {
  if (level < levels_) return true;
  const bool has_result = t_.kind == Collective::reduce && me_ == t_.root;
  return destination_ == Destination::slot && lent_ == nullptr && t_.kind != Collective::reduce_scatter && !has_result;
}

// This chunk and all later ones, without waiting: all addresses are known and contiguous.
Status Reduction::combine_all(std::uint64_t k, std::byte* body) noexcept {
  StoreTuner* const tuner = c_.store_tuner(t_.kind, all_ * size_);
  if (tuner != nullptr) mode_ = tuner->next();
  const auto begin = std::chrono::steady_clock::now();
  for (; k < chunks_; ++k) {
    const Chunk c = chunk(k);
    if (const Status s = combine_part(levels_, c, part(levels_, me_, c), body); s != Status::ok) return s;
  }
  if (tuner != nullptr) tuner->record(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return Status::ok;
}

Status Reduction::combine_part(int level, const Chunk& c, const Range& mine, std::byte* body) noexcept {
  for (std::size_t at = mine.first; at < mine.end;) {
    Range row{at, mine.end};
    if (level == levels_) row.end = std::min(row.end, at + source_run(c, at));
    for (std::size_t child = 0; child < sources_.size(); ++child) {
      const Piece p = piece(child, c, at);
      row.end = std::min(row.end, p.end);
      operands_[child] = p.at;
    }
    if (const Status s = combine_row(level, c, row, body, mine); s != Status::ok) return g_.give_up_all(s);
    at = row.end;
  }
  return Status::ok;
}

Status Reduction::combine_row(int level, const Chunk& c, const Range& row, std::byte* body,
                              const Range& mine) noexcept {
  const bool top = level == levels_;
  const std::size_t bytes = (row.end - row.first) * size_, most = std::max<std::size_t>(kBlockBytes / size_, 1) * size_;
  const std::size_t in_part = (row.first - mine.first) * size_;
  // The result is made in place, unless it uses streaming stores, or overwrites an operand needed after the first two.
  std::byte* const own = top && t_.out != nullptr ? result_at(c, row.first) : nullptr;
  const bool at_home = own != nullptr && mode_.own == Stores::plain && t_.operation.op != payload::Op::user &&
                       (t_.in != t_.out || (sources_.size() <= 2 && t_.kind != Collective::reduce_scatter));
  const std::size_t in_vector = top ? source_at(c, row.first) * size_ : 0;
  std::byte* const lent = lent_ != nullptr ? lent_ + in_part : nullptr;
  if (lent != nullptr && !g_.oversubscribed()) will_write(lent, std::min(most, bytes));
  // Sums get the operands' offset within a page: a load whose address differs from a recent store's only in its page
  // waits (4K aliasing).
  alignas(kBlockBytes) std::array<std::byte, 2 * kBlockBytes> room;
  std::byte* const sum = room.data() + reinterpret_cast<std::uintptr_t>(operands_[0]) / kLine * kLine % kBlockBytes;
  for (std::size_t at = 0; at < bytes; at += most) {
    const std::size_t n = std::min(most, bytes - at), next = at + n;
    std::byte* const to = at_home ? own + at : sum;
    if (next < bytes) ask_ahead(lent != nullptr ? lent + next : nullptr, next, std::min(n, bytes - next));
    if (const Status s = combine_block(top, at, n / size_, to); s != Status::ok) return s;
    if (!top) {
      copy(body + region(level, me_, me_) + in_part + at, to, n, stores_);
      continue;
    }
    if (own != nullptr && !at_home) copy(own + at, to, n, mode_.own);
    if (lent != nullptr)
      copy(lent + at, to, n, Stores::plain);
    else
      deliver(in_vector + at, in_part + at, n, to, body);
  }
  return Status::ok;
}

void Reduction::ask_ahead(std::byte* lent, std::size_t next, std::size_t bytes) const noexcept {
  if (g_.oversubscribed() || !mode_.ahead) return;
  if (lent != nullptr) will_write(lent, bytes);
  for (std::size_t child = 0; child < sources_.size(); ++child) {
    const Source& s = sources_[child].front();
    if (s.whole != nullptr && s.rank != me_) will_read(operands_[child] + next, bytes);
  }
}

Status Reduction::combine_block(bool top, std::size_t at, std::size_t count, std::byte* sum) noexcept {
  const std::byte* left = operands_[0] + at;
  if (sources_.size() == 1) std::memcpy(sum, left, count * size_);
  for (std::size_t child = 1; child < sources_.size(); ++child) {
    const std::byte* right = operands_[child] + at;
    const Status s = child == 1 ? join(t_.operation, t_.type, left, right, sum, count)
                                : fold(t_.operation, t_.type, sum, right, count);
    if (s != Status::ok) return s;
  }
  return top ? finish(t_.operation, t_.type, sum, count, ranks_) : Status::ok;
}

std::byte* Reduction::result_at(const Chunk& c, std::size_t position) const noexcept {
  const std::size_t at = t_.kind == Collective::reduce_scatter ? c.at + position % c.per_block : source_at(c, position);
  return t_.out + at * size_;
}

// At byte `in_vector` of the vector, or `in_part` of this rank's part.
void Reduction::deliver(std::size_t in_vector, std::size_t in_part, std::size_t bytes, const std::byte* sum,
                        std::byte* body) noexcept {
  if (t_.kind == Collective::reduce_scatter || (t_.kind == Collective::reduce && me_ == t_.root)) return;
  if (destination_ == Destination::slot) {
    c_.copy_to_peer(body + region(levels_, me_, me_) + in_part, sum, bytes, stores_);
    return;
  }
  for (std::byte* const theirs : outputs_) {
    if (theirs == nullptr) continue;
    if (mode_.ahead)
      c_.copy_to_peer(theirs + in_vector, sum, bytes, mode_.theirs);
    else
      copy(theirs + in_vector, sum, bytes, mode_.theirs);
  }
}

Status Reduction::copy_out(std::uint64_t k) noexcept {
  if (t_.kind == Collective::reduce_scatter || t_.out == nullptr) return Status::ok;
  const Chunk c = chunk(k);
  for (const int r : c_.others_) {
    const Range theirs = part(levels_, r, c);
    if (theirs.empty()) continue;
    const Line* line = nullptr;
    const std::uint64_t round = first_ + k + static_cast<std::uint64_t>(levels_);
    if (const Status s = g_.await(r, round, &line); s != Status::ok) return s;
    Published published;
    std::memcpy(&published, line->payload, sizeof published);
    if (published.results != Destination::slot) continue;
    const bool lent = lends() && published_.in.access == Access::staged;
    if (lent && k == 0) ++c_.counters_.lent;
    const std::byte* const from =
        lent ? g_.slot(first_ + k) + region(levels_, r, me_) : g_.slot(r, round) + region(levels_, r, r);
    c_.copy_from_slot(t_.out + source_at(c, theirs.first) * size_, from, (theirs.end - theirs.first) * size_, results(),
                      stores_);
  }
  return Status::ok;
}

}  // namespace stretto::node
