// Timings of growing vectors that other load has probably lengthened, to be measured again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stretto::timing {

// False: the slowest quarter of the samples begins at twice the fastest quarter's end or later. Requires a sample.
inline bool is_steady(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() * 3 / 4] < 2 * samples[samples.size() / 4];
}

struct GrowingPoint {
  double time = 0;
  bool steady = false;
};

// For points of one collective, shorter vectors first: true where samples vary or a longer vector takes less time.
inline std::vector<bool> in_doubt(const std::vector<GrowingPoint>& points) {
  std::vector<bool> doubts(points.size());
  for (std::size_t i = 0; i < points.size(); ++i)
    doubts[i] = !points[i].steady || (i + 1 < points.size() && points[i].time > points[i + 1].time);
  return doubts;
}

}  // namespace stretto::timing
