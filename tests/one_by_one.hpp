// Sums as a reproducible one has them: one rank's contribution after the other, each addition rounded in the type.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

// A rank's contribution, of magnitudes so different that other orders round to other bits.
template <class T>
std::vector<T> rough(int rank, std::size_t count) {
  std::vector<T> v(count);
  std::uint32_t state = 0x9e3779b9u * static_cast<std::uint32_t>(rank + 1);
  for (T& x : v) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<T>(std::ldexp(1.0 + (state >> 8) / 16777216.0, static_cast<int>(state % 23) - 11)) *
        (state & 64 ? T{1} : T{-1});
  }
  return v;
}

// Their sum over the ranks.
template <class T>
std::vector<T> one_by_one(int ranks, std::size_t count) {
  std::vector<T> sum = rough<T>(0, count);
  for (int r = 1; r < ranks; ++r) {
    const std::vector<T> next = rough<T>(r, count);
    for (std::size_t i = 0; i < count; ++i) sum[i] = static_cast<T>(sum[i] + next[i]);
  }
  return sum;
}
