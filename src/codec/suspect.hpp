// A value that looks like a mark of missing data: a tenth of a sample or more equals it, farther from all others than
// these are from each other, as -9999 is among temperatures.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace stretto::codec {

// Samples at most 256 of the n values load(i). 0: none is found, or n is small. Ignores magnitudes of 1e15 and more.
template <class Load>
double suspect_among(std::size_t n, const Load& load) noexcept {
  constexpr std::size_t least = 16384, each = 512;
  constexpr double ignored = 1e15, infinity = std::numeric_limits<double>::infinity();
  if (n < least) return 0;
  const std::size_t samples = std::clamp<std::size_t>(n / each, 64, 256), stride = n / samples;
  double lowest = infinity, above = infinity, highest = -infinity, below = -infinity;  // of different values
  std::size_t low = 0, high = 0;                                                       // times
  for (std::size_t i = 0; i < samples; ++i) {
    const double x = load(i * stride + i * std::uint64_t{0x9E3779B1} % stride);  // in no column of an array alone
    if (!(std::abs(x) < ignored)) continue;
    if (x < lowest) {
      above = lowest;
      lowest = x;
      low = 0;
    } else if (x > lowest && x < above) {
      above = x;
    }
    if (x > highest) {
      below = highest;
      highest = x;
      high = 0;
    } else if (x < highest && x > below) {
      below = x;
    }
    low += x == lowest;
    high += x == highest;
  }
  const auto marks = [&](std::size_t times, double gap, double spread) {
    return times >= samples / 10 && spread > 0 && gap > spread;
  };
  if (low >= high && marks(low, above - lowest, highest - above)) return lowest;
  if (marks(high, highest - below, below - lowest)) return highest;
  return marks(low, above - lowest, highest - above) ? lowest : 0;
}

}  // namespace stretto::codec
