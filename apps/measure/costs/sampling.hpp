// Sampling: repeats until a time is spent, within limits, and summarises the samples.
#pragma once

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "timing/rows.hpp"

namespace stretto::measure {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds that now() itself adds to what lies between two calls of it.
inline double clock_cost() {
  double least = 1;
  for (int i = 0; i < 1000; ++i) {
    const double start = now();
    least = std::min(least, now() - start);
  }
  return least;
}

struct Budget {
  double seconds = 0.05;
  int least = 5, most = 20000;  // samples

  // Number of samples of `each` seconds that fit.
  int samples(double each) const {
    return static_cast<int>(std::clamp(seconds / std::max(each, 1e-9), double(least), double(most)));
  }
};

struct Timing {
  double median = 0, mean = 0, least = 0;  // seconds
  int samples = 0;
};

inline Timing summary(const std::vector<double>& samples) {
  Timing t;
  if (samples.empty()) return t;
  t.samples = static_cast<int>(samples.size());
  t.median = timing::median(samples);
  t.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / t.samples;
  t.least = *std::min_element(samples.begin(), samples.end());
  return t;
}

// The timing of `work`: runs it once uncounted, and then as often as the budget allows.
template <class Work>
Timing sample(const Budget& budget, const Work& work) {
  work();
  double start = now();
  work();
  const int count = budget.samples(now() - start);
  const double cost = clock_cost();
  std::vector<double> samples;
  samples.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    start = now();
    work();
    samples.push_back(std::max(0.0, now() - start - cost));
  }
  return summary(samples);
}

}  // namespace stretto::measure
