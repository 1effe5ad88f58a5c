#include "engine/binding.hpp"

#include <algorithm>
#include <numeric>

#include "base/guarded.hpp"
#include "schedule/names.hpp"

namespace stretto::engine {
namespace {

using schedule::Collective;

template <class T>
T* shifted(T* base, std::size_t elements, std::size_t size) noexcept {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  return base == nullptr ? nullptr : static_cast<T*>(static_cast<Byte*>(base) + elements * size);
}

struct Parts {
  Parts(std::size_t each, std::span<const std::size_t> given, std::span<const std::size_t> places)
      : uniform(each), counts(given), displacements(places), ends(given.size()) {
    std::partial_sum(counts.begin(), counts.end(), ends.begin());
  }
  std::size_t count(std::size_t i) const { return counts.empty() ? uniform : counts[i]; }
  std::size_t first(std::size_t i) const {
    if (!displacements.empty()) return displacements[i];
    return counts.empty() ? i * uniform : ends[i] - count(i);
  }

  std::size_t uniform;
  std::span<const std::size_t> counts, displacements;
  std::vector<std::size_t> ends;
};

Status check_counts(const schedule::Schedule& s, const Arguments& a) {
  const auto p = static_cast<std::size_t>(s.ranks);
  for (const auto& counts : {a.counts, a.send_counts}) {
    if (!counts.empty() && counts.size() != p)
      return fail(Status::invalid_argument, "{} counts for {} ranks", counts.size(), p);
  }
  for (const auto& places : {a.displacements, a.send_displacements}) {
    if (!places.empty() && places.size() != p)
      return fail(Status::invalid_argument, "{} displacements for {} ranks", places.size(), p);
  }
  if (s.collective == Collective::alltoall && a.counts.empty() != a.send_counts.empty())
    return fail(Status::invalid_argument, "{} counts of what is sent and {} of what is received", a.send_counts.size(),
                a.counts.size());
  const bool by_rank = s.collective == Collective::reduce_scatter || s.collective == Collective::allgather ||
                       s.collective == Collective::gather || s.collective == Collective::scatter;
  if (by_rank && s.blocks != s.ranks) {
    return fail(Status::invalid_argument, "{} cuts {} into {} blocks for {} ranks", s.algorithm,
                schedule::name(s.collective), s.blocks, p);
  }
  return Status::ok;
}

Block block_of(const schedule::Schedule& s, std::size_t size, const Arguments& a, const Parts& parts, const Parts& sent,
               std::size_t b) {
  const auto p = static_cast<std::size_t>(s.ranks);
  const auto rank = static_cast<std::size_t>(s.rank);
  const bool at_root = s.rank == s.root;
  const void* const in = a.in;
  Block block;
  switch (s.collective) {
    case Collective::allreduce:
    case Collective::allreduce_multi:
    case Collective::reduce:
    case Collective::bcast:
    case Collective::scan:
    case Collective::exscan: {
      const std::size_t first = first_of(a.count, s.blocks, static_cast<int>(b), a.grain, a.parts);
      block.count = first_of(a.count, s.blocks, static_cast<int>(b) + 1, a.grain, a.parts) - first;
      if (s.collective == Collective::bcast) {
        if (at_root) block.in = shifted(in != nullptr ? in : a.out, first, size);
        block.out = shifted(a.out, first, size);
      } else {
        block.in = shifted(in != nullptr ? in : a.out, first, size);
        if (schedule::expects(s.collective, s.ranks, s.root, s.rank, static_cast<int>(b)))
          block.out = shifted(a.out, first, size);
      }
      break;
    }
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      block.count = parts.count(b);
      block.in = shifted(in != nullptr ? in : a.out, parts.first(b), size);
      if (b == rank) block.out = a.out;
      break;
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::gather:
    case Collective::gatherv: {
      block.count = parts.count(b);
      const bool collects = s.collective == Collective::allgather || at_root;
      if (collects) block.out = shifted(a.out, parts.first(b), size);
      if (b == rank) block.in = in != nullptr && in != a.out ? in : collects ? block.out : in;
      break;
    }
    case Collective::scatter:
    case Collective::scatterv:
      block.count = parts.count(b);
      if (at_root) block.in = shifted(in, parts.first(b), size);
      if (b == rank) {
        const bool stays = at_root && (a.out == nullptr || a.out == in);
        block.out = stays ? const_cast<void*>(block.in) : a.out;
      }
      break;
    case Collective::alltoall:
    case Collective::alltoallv: {
      const std::size_t from = b / p, to = b % p;
      if (from == rank) block.in = shifted(in != nullptr ? in : a.out, sent.first(to), size);
      if (to == rank) block.out = shifted(a.out, parts.first(from), size);
      block.count = to == rank ? parts.count(from) : from == rank ? sent.count(to) : a.counts.empty() ? a.count : 0;
      break;
    }
    case Collective::barrier:
    case Collective::agreement: break;
  }
  return block;
}

Status fill(const schedule::Schedule& s, std::size_t size, const Arguments& a, std::vector<Block>* blocks) {
  if (const Status checked = check_counts(s, a); checked != Status::ok) return checked;
  const Parts parts(a.count, a.counts, a.displacements);
  const Parts sent(a.count, a.send_counts, a.send_displacements);
  blocks->resize(static_cast<std::size_t>(s.blocks));
  for (std::size_t b = 0; b < blocks->size(); ++b) (*blocks)[b] = block_of(s, size, a, parts, sent, b);
  return Status::ok;
}

}  // namespace

std::size_t first_of(std::size_t count, int blocks, int b, std::size_t grain, std::span<const Part> parts) noexcept {
  const auto n = static_cast<std::size_t>(blocks);
  const auto i = static_cast<std::size_t>(b);
  if (i >= n) return count;
  const std::size_t unit = grain > 0 ? grain : 1;
  const std::size_t grains = (count + unit - 1) / unit;
  const std::size_t even = std::min(count, (i * (grains / n) + std::min(i, grains % n)) * unit);
  std::size_t start = 0;
  for (const Part& part : parts) {
    if (even - start < part.count) return even - (even - start) % unit;
    start += part.count;
  }
  return even;
}

Status bind(const schedule::Schedule& schedule, payload::Type type, const Arguments& arguments,
            std::vector<Block>* blocks) noexcept {
  const std::size_t size = payload::size_of(type);
  if (size == 0) return fail(Status::invalid_argument, "{} is no element type", static_cast<int>(type));
  return guarded({"for {} blocks", schedule.blocks}, [&] { return fill(schedule, size, arguments, blocks); });
}

}  // namespace stretto::engine
