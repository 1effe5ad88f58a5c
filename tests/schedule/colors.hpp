// Ways to group ranks, for tests: rows, round robin, and at random, in one level or several.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::schedule {

using Colors = std::vector<std::int32_t>;

inline Colors rows(int ranks, int size) {
  Colors c;
  for (int r = 0; r < ranks; ++r) c.push_back(r / size);
  return c;
}

inline Colors round_robin(int ranks, int groups) {
  Colors c;
  for (int r = 0; r < ranks; ++r) c.push_back(r % groups);
  return c;
}

// Consecutive groups of random sizes, or the same ones with the ranks shuffled.
inline Colors random_colors(int ranks, bool shuffled, unsigned seed, int most = 7) {
  std::minstd_rand random(seed);
  Colors c;
  for (std::int32_t color = 0; static_cast<int>(c.size()) < ranks; ++color) {
    const auto size =
        std::min<std::size_t>(1 + random() % static_cast<unsigned>(most), static_cast<std::size_t>(ranks) - c.size());
    c.insert(c.end(), size, color);
  }
  if (shuffled) std::shuffle(c.begin(), c.end(), random);
  return c;
}

inline std::string text(const Colors& colors) {
  std::string s;
  for (const std::int32_t c : colors) s += std::to_string(c) + " ";
  return s;
}

inline std::vector<Algorithm> of_groups() {
  std::vector<Algorithm> some;
  std::copy_if(algorithms().begin(), algorithms().end(), std::back_inserter(some),
               [](const Algorithm& a) { return a.uses_groups; });
  return some;
}

inline std::string name_of(const Algorithm& a) { return std::string(name(a.collective)) + "_" + std::string(a.name); }

inline std::set<int> roots(const Algorithm& a, int ranks) {
  if (!rooted(a.collective)) return {0};
  std::set<int> some;
  for (int r = 0; r < ranks && ranks <= 17; ++r) some.insert(r);
  some.insert({0, ranks / 3, ranks - 1});
  return some;
}

}  // namespace stretto::schedule
