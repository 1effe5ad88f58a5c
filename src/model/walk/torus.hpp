#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stretto::model {

struct Torus {
  std::vector<std::int32_t> sides;  // as Topology::torus()
  double hop = 4e-7;                // seconds of latency per link beyond the first
};

class Routes {
 public:
  explicit Routes(const std::vector<std::int32_t>& sides) : sides_(sides) {}

  // Directed, numbered from 0.
  std::size_t links(int hosts) const noexcept { return 2 * sides_.size() * static_cast<std::size_t>(hosts); }

  // Visits the path's links: dimension by dimension, in the shorter direction. To the opposite side of a ring, even
  // coordinates ascend and odd ones descend.
  template <class Visit>
  void walk(std::int32_t from, std::int32_t to, const Visit& visit) const {
    std::int32_t stride = 1, at = from;
    for (std::size_t d = sides_.size(); d-- > 0;) {
      const std::int32_t side = sides_[d];
      const std::int32_t here = from / stride % side, there = to / stride % side;
      const std::int32_t up = (there - here + side) % side;
      const bool rises = 2 * up < side || (2 * up == side && here % 2 == 0);
      for (std::int32_t left = rises ? up : side - up; left > 0; --left) {
        visit(2 * (static_cast<std::size_t>(at) * sides_.size() + d) + (rises ? 0 : 1));
        const std::int32_t x = at / stride % side, next = (x + (rises ? 1 : side - 1)) % side;
        at += (next - x) * stride;
      }
      stride *= side;
    }
  }

  int hops(std::int32_t from, std::int32_t to) const {
    int n = 0;
    walk(from, to, [&n](std::size_t) { ++n; });
    return n;
  }

 private:
  const std::vector<std::int32_t>& sides_;
};

}  // namespace stretto::model
