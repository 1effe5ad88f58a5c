#include "node/arena/heap.hpp"

#include <bit>

namespace stretto::node::arena {
namespace {

int bin_of(std::uint32_t length) noexcept { return std::bit_width(length) - 1; }

}  // namespace

void Heap::start(void* tables, std::uint32_t units) noexcept {
  table_ = static_cast<Unit*>(tables);
  units_ = units;
  for (auto& bin : bins_) bin = kNone;
  if (units == 0) return;
  set(0, units, false);
  list(0);
}

void Heap::set(std::uint32_t first, std::uint32_t length, bool used) noexcept {
  table_[first].length = length;
  table_[first].used = used ? 1 : 0;
  table_[first].first = first;
  table_[first + length - 1].first = first;
}

void Heap::list(std::uint32_t first) noexcept {
  std::uint32_t& head = bins_[bin_of(table_[first].length)];
  table_[first].previous = kNone;
  table_[first].next = head;
  if (head != kNone) table_[head].previous = first;
  head = first;
}

void Heap::unlist(std::uint32_t first) noexcept {
  const Unit& u = table_[first];
  if (u.previous != kNone)
    table_[u.previous].next = u.next;
  else
    bins_[bin_of(u.length)] = u.next;
  if (u.next != kNone) table_[u.next].previous = u.previous;
}

// kNone if no aligned run fits.
std::uint32_t Heap::aligned(std::uint32_t first, std::uint32_t units, std::uint32_t alignment) const noexcept {
  const std::uint64_t at = (std::uint64_t{first} + alignment - 1) / alignment * alignment;
  return at + units <= std::uint64_t{first} + table_[first].length ? static_cast<std::uint32_t>(at) : kNone;
}

// The free rest is not yet joined with the following run.
void Heap::cut(std::uint32_t first, std::uint32_t units) noexcept {
  const std::uint32_t rest = table_[first].length - units;
  if (rest == 0) return;
  set(first, units, true);
  set(first + units, rest, false);
  list(first + units);
}

std::uint32_t Heap::allocate(std::uint32_t units, std::uint32_t alignment) noexcept {
  if (units == 0 || units > units_) return kNone;
  for (int bin = bin_of(units); bin < kBins; ++bin) {
    int tries = 32;  // runs of higher bins fit except for alignment
    for (std::uint32_t run = bins_[bin]; run != kNone && tries-- > 0; run = table_[run].next) {
      const std::uint32_t at = aligned(run, units, alignment);
      if (at == kNone) continue;
      unlist(run);
      const std::uint32_t length = table_[run].length, before = at - run;
      if (before > 0) {
        set(run, before, false);
        list(run);
      }
      set(at, length - before, true);
      cut(at, units);
      return at;
    }
  }
  return kNone;
}

Heap::Run Heap::release(std::uint32_t first) noexcept {
  std::uint32_t length = table_[first].length;
  if (const std::uint32_t after = first + length; after < units_ && !table_[after].used) {
    unlist(after);
    length += table_[after].length;
  }
  if (first > 0) {
    const std::uint32_t before = table_[first - 1].first;
    if (!table_[before].used) {
      unlist(before);
      length += first - before;
      first = before;
    }
  }
  set(first, length, false);
  list(first);
  return {first, length};
}

Heap::Run Heap::shrink(std::uint32_t first, std::uint32_t units) noexcept {
  const std::uint32_t rest = table_[first].length - units;
  if (rest == 0) return {first + units, 0};
  set(first, units, true);
  set(first + units, rest, true);
  return release(first + units);
}

bool Heap::grow(std::uint32_t first, std::uint32_t units) noexcept {
  const std::uint32_t length = table_[first].length, after = first + length;
  if (units <= length) return true;
  if (after >= units_ || table_[after].used || table_[after].length < units - length) return false;
  unlist(after);
  set(first, length + table_[after].length, true);
  cut(first, units);
  return true;
}

}  // namespace stretto::node::arena
