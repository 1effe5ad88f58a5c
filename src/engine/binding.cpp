#include "engine/binding.hpp"

#include <algorithm>
#include <numeric>

#include "schedule/names.hpp"

namespace stretto::engine {
namespace {

using schedule::Collective;

template <class T>
T* shifted(T* base, std::size_t elements, std::size_t size) noexcept {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  return base == nullptr ? nullptr : static_cast<T*>(static_cast<Byte*>(base) + elements * size);
}

// The vector of a gather, allgather or scatter: block i has its count and its place.
struct Parts {
  const Arguments& arguments;
  std::vector<std::size_t> ends;  // running sums of counts

  std::size_t count(std::size_t i) const { return arguments.counts.empty() ? arguments.count : arguments.counts[i]; }
  std::size_t first(std::size_t i) const {
    if (!arguments.displacements.empty()) return arguments.displacements[i];
    return arguments.counts.empty() ? i * arguments.count : ends[i] - count(i);
  }
};

Status fill(const schedule::Schedule& s, std::size_t size, const Arguments& a, std::vector<Block>* blocks) {
  const auto p = static_cast<std::size_t>(s.ranks);
  const auto rank = static_cast<std::size_t>(s.rank);
  const bool at_root = s.rank == s.root;
  if (!a.counts.empty() && a.counts.size() != p)
    return fail(Status::invalid_argument, "{} counts for {} ranks", a.counts.size(), p);
  if (!a.displacements.empty() && a.displacements.size() != p) {
    return fail(Status::invalid_argument, "{} displacements for {} ranks", a.displacements.size(), p);
  }
  const bool by_rank = s.collective == Collective::reduce_scatter || s.collective == Collective::allgather ||
                       s.collective == Collective::gather || s.collective == Collective::scatter;
  if (by_rank && s.blocks != s.ranks) {
    return fail(Status::invalid_argument, "{} cuts {} into {} blocks for {} ranks", s.algorithm,
                schedule::name(s.collective), s.blocks, p);
  }
  Parts parts{a, {}};
  if (!a.counts.empty()) {
    parts.ends.resize(p);
    std::partial_sum(a.counts.begin(), a.counts.end(), parts.ends.begin());
  }
  blocks->assign(static_cast<std::size_t>(s.blocks), Block{});
  const void* in = a.in;
  for (std::size_t b = 0; b < blocks->size(); ++b) {
    Block& block = (*blocks)[b];
    switch (s.collective) {
      case Collective::allreduce:
      case Collective::reduce:
      case Collective::broadcast: {
        const std::size_t first = first_of(a.count, s.blocks, static_cast<int>(b), a.grain);
        block.count = first_of(a.count, s.blocks, static_cast<int>(b) + 1, a.grain) - first;
        if (s.collective == Collective::broadcast) {
          if (at_root) block.in = shifted(in != nullptr ? in : a.out, first, size);
          block.out = shifted(a.out, first, size);
        } else {
          block.in = shifted(in != nullptr ? in : a.out, first, size);
          if (s.collective == Collective::allreduce || at_root) block.out = shifted(a.out, first, size);
        }
        break;
      }
      case Collective::reduce_scatter:
        block.count = parts.count(b);
        block.in = shifted(in != nullptr ? in : a.out, parts.first(b), size);
        if (b == rank) block.out = a.out;
        break;
      case Collective::allgather:
      case Collective::gather: {
        block.count = parts.count(b);
        const bool collects = s.collective == Collective::allgather || at_root;
        if (collects) block.out = shifted(a.out, parts.first(b), size);
        if (b == rank) block.in = in != nullptr && in != a.out ? in : collects ? block.out : in;
        break;
      }
      case Collective::scatter:
        block.count = parts.count(b);
        if (at_root) block.in = shifted(in, parts.first(b), size);
        if (b == rank) {
          const bool stays = at_root && (a.out == nullptr || a.out == in);
          block.out = stays ? const_cast<void*>(block.in) : a.out;
        }
        break;
      case Collective::alltoall: {
        block.count = a.count;
        const std::size_t from = b / p, to = b % p;
        if (from == rank) block.in = shifted(in != nullptr ? in : a.out, to * a.count, size);
        if (to == rank) block.out = shifted(a.out, from * a.count, size);
        break;
      }
      case Collective::barrier: break;
    }
  }
  return Status::ok;
}

}  // namespace

std::size_t first_of(std::size_t count, int blocks, int b, std::size_t grain) noexcept {
  const auto n = static_cast<std::size_t>(blocks);
  const auto i = static_cast<std::size_t>(b);
  if (i >= n) return count;
  const std::size_t unit = grain > 0 ? grain : 1;
  const std::size_t grains = (count + unit - 1) / unit;
  return std::min(count, (i * (grains / n) + std::min(i, grains % n)) * unit);
}

Status bind(const schedule::Schedule& schedule, payload::Type type, const Arguments& arguments,
            std::vector<Block>* blocks) noexcept {
  const std::size_t size = payload::size_of(type);
  if (size == 0) return fail(Status::invalid_argument, "{} is no element type", static_cast<int>(type));
  try {
    return fill(schedule, size, arguments, blocks);
  } catch (const std::bad_alloc&) {
    return fail(Status::out_of_memory, "no memory for {} blocks", schedule.blocks);
  }
}

}  // namespace stretto::engine
