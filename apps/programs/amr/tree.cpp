#include "tree.hpp"

#include <algorithm>
#include <stdexcept>

namespace stretto::programs {
namespace {

// Two zeros before each of 21 bits.
std::uint64_t spread(std::uint64_t x) {
  x = (x | x << 32) & 0x1f00000000ffffU;
  x = (x | x << 16) & 0x1f0000ff0000ffU;
  x = (x | x << 8) & 0x100f00f00f00f00fU;
  x = (x | x << 4) & 0x10c30c30c30c30c3U;
  return (x | x << 2) & 0x1249249249249249U;
}

// The place on the Z-curve.
std::uint64_t code(const Three& at) {
  return spread(static_cast<std::uint64_t>(at[0])) << 2 | spread(static_cast<std::uint64_t>(at[1])) << 1 |
         spread(static_cast<std::uint64_t>(at[2]));
}

bool before(const Leaf& a, const Leaf& b) { return code(a.at) < code(b.at); }

}  // namespace

Link Link::mirrored() const {
  const Kind other = kind == Kind::finer ? Kind::coarser : kind == Kind::coarser ? Kind::finer : kind;
  return {from, to, direction, static_cast<std::uint8_t>(1 - side), quarter, other};
}

Tree::Tree(int roots, int levels) : roots_(roots), levels_(levels) {
  const int step = span(0);
  for (int z = 0; z < roots; ++z)
    for (int y = 0; y < roots; ++y)
      for (int x = 0; x < roots; ++x) leaves_.push_back({{z * step, y * step, x * step}, 0});
  std::sort(leaves_.begin(), leaves_.end(), before);
}

int Tree::find(const Three& at) const {
  const auto next = std::upper_bound(leaves_.begin(), leaves_.end(), Leaf{at, 0}, before);
  return static_cast<int>(next - leaves_.begin()) - 1;
}

int Tree::family(int leaf) const {
  const auto [at, level] = leaves_[static_cast<std::size_t>(leaf)];
  if (level == 0) return -1;
  Three first = at, last = at;
  for (std::size_t d = 0; d < 3; ++d) {
    first[d] &= ~span(level);
    last[d] |= span(level);
  }
  const int found = find(first);
  if (found + 7 >= count()) return -1;
  // Each sibling between these two covers at least one of the six leaves between them, so each is a leaf.
  const Leaf &eldest = leaves_[static_cast<std::size_t>(found)],
             &youngest = leaves_[static_cast<std::size_t>(found) + 7];
  return eldest.level == level && youngest.level == level && youngest.at == last ? found : -1;
}

void Tree::add_links(int leaf, std::vector<Link>* links) const {
  const auto [at, level] = leaves_[static_cast<std::size_t>(leaf)];
  for (std::uint8_t direction = 0; direction < 3; ++direction) {
    const std::size_t across = direction, one = direction == 0 ? 1 : 0, two = direction == 2 ? 1 : 2;
    for (std::uint8_t side = 0; side < 2; ++side) {
      Three beyond = at;
      beyond[across] += side == 0 ? -1 : span(level);
      if (beyond[across] < 0 || beyond[across] >= roots_ * span(0)) {
        links->push_back({leaf, -1, direction, side, 0, Kind::wall});
        continue;
      }
      const int from = find(beyond), there = leaves_[static_cast<std::size_t>(from)].level;
      if (there == level) {
        links->push_back({leaf, from, direction, side, 0, Kind::same});
      } else if (there == level - 1) {
        const int bit = span(level);
        const int quarter = ((at[one] & bit) != 0 ? 2 : 0) + ((at[two] & bit) != 0 ? 1 : 0);
        links->push_back({leaf, from, direction, side, static_cast<std::uint8_t>(quarter), Kind::coarser});
      } else {
        const int half = there == level + 1 ? span(there) : 0;
        for (std::uint8_t quarter = 0; quarter < 4; ++quarter) {
          Three place = beyond;
          place[one] += quarter / 2 * half;
          place[two] += quarter % 2 * half;
          const int finer = find(place);
          if (leaves_[static_cast<std::size_t>(finer)].level != level + 1)
            throw std::logic_error("neighbouring blocks differ by more than one level");
          links->push_back({leaf, finer, direction, side, quarter, Kind::finer});
        }
      }
    }
  }
}

std::vector<int> Tree::apply(const std::vector<std::int8_t>& marks) {
  std::vector<Leaf> next;
  std::vector<int> starts;
  std::uint64_t volume = 0;
  for (int i = 0; i < count(); ++i) {
    const Leaf leaf = leaves_[static_cast<std::size_t>(i)];
    const int mark = marks[static_cast<std::size_t>(i)];
    starts.push_back(static_cast<int>(next.size()));
    if (mark == 0) next.push_back(leaf);
    if (mark > 0) {
      const int half = span(leaf.level + 1);
      for (int octant = 0; octant < 8; ++octant) {
        next.push_back(
            {{leaf.at[0] + octant / 4 * half, leaf.at[1] + octant / 2 % 2 * half, leaf.at[2] + octant % 2 * half},
             leaf.level + 1});
      }
    }
    if (mark < 0) {
      next.push_back({leaf.at, leaf.level - 1});
      starts.insert(starts.end(), 7, static_cast<int>(next.size()));
      i += 7;
    }
  }
  starts.push_back(static_cast<int>(next.size()));
  leaves_ = std::move(next);
  for (const Leaf& leaf : leaves_) volume += std::uint64_t{1} << 3 * (levels_ - leaf.level);
  const auto side = static_cast<std::uint64_t>(roots_) << levels_;
  if (volume != side * side * side) throw std::logic_error("the blocks do not fill the cube");
  return starts;
}

}  // namespace stretto::programs
