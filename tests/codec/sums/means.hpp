// Sums whose means are hard to round: few codes, halves between two numbers, widths near the ends of float64.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "../golden/hand_made.hpp"
#include "../support.hpp"

namespace stretto::codec {

inline constexpr std::uint32_t kHardDivisors[] = {2,  3,  5,   6,   7,         9,          10,
                                                  12, 13, 100, 641, 1'000'003, 0x7fffffff, 0xffffffff};

struct HardGroup {
  GroupSpec spec;
  Codes q = {};
};

// Codes of all magnitudes up to 2^bits. Beyond 31 bits the group is wide.
inline HardGroup hard_group(Random& r, int bits) {
  HardGroup g{};
  g.spec.m = kGroup;
  g.spec.wide = bits > 31;
  g.spec.predictor = Predictor::none_signed;
  for (auto& q : g.q) {
    const auto size = static_cast<std::int64_t>(
        r.bits() >> (64 - bits + static_cast<int>(r.below(static_cast<std::uint64_t>(bits)))));
    q = r.below(2) ? size : -size;
  }
  return g;
}

struct HardSum {
  Stream stream;
  double width;
  std::vector<HardGroup> groups;
};

template <class T>
std::vector<HardSum> hard_sums() {
  using L = std::numeric_limits<T>;
  Random r(sizeof(T));
  std::vector<T> widths = {1,
                           T(1) + L::epsilon(),
                           T(2) - L::epsilon(),
                           T(1) / 3,
                           L::min() * T(1.7),
                           3 * L::denorm_min(),
                           L::max() * T(0x1p-34),
                           L::max() / 3};
  for (int i = 0; i < 40; ++i)
    widths.push_back(static_cast<T>(std::ldexp(
        1 + r.uniform(), static_cast<int>(r.below(sizeof(T) == 4 ? 200 : 1900)) + (sizeof(T) == 4 ? -120 : -950))));
  std::vector<HardSum> all;
  for (const T width : widths) {
    HardSum h{{}, width, {hard_group(r, 5), hard_group(r, 12), hard_group(r, 31), hard_group(r, 62)}};
    h.stream = hand_made_stream(type_of<T>(), width, h.groups);
    EXPECT_EQ(validate(h.stream), Status::ok) << message();
    all.push_back(std::move(h));
  }
  return all;
}

}  // namespace stretto::codec
