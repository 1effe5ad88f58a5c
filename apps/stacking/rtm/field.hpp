// A 2-D field of float32 on a regular grid: `nz` rows in depth, `nx` columns, x fastest, as in image files.
#pragma once

#include <cstddef>
#include <vector>

namespace stretto::stacking::rtm {

struct Field {
  int nz = 0;
  int nx = 0;
  std::vector<float> v;

  Field() = default;
  Field(int depth, int width, float value = 0.0F)
      : nz(depth), nx(width), v(static_cast<std::size_t>(depth) * static_cast<std::size_t>(width), value) {}

  float* row(int z) { return v.data() + static_cast<std::size_t>(z) * static_cast<std::size_t>(nx); }
  const float* row(int z) const { return v.data() + static_cast<std::size_t>(z) * static_cast<std::size_t>(nx); }
  float& at(int z, int x) { return row(z)[x]; }
  float at(int z, int x) const { return row(z)[x]; }
};

}  // namespace stretto::stacking::rtm
