// The 2-D acoustic wave equation, u_tt + 2 s u_t = v^2 (u_xx + u_zz) + source, of constant density.
//
// Eighth-order central differences in space, leapfrog in time. The damping s is zero in the model, and grows
// quadratically in a sponge added on all four sides. The sponge continues the velocity of the edge. So a wave leaves
// the model and does not come back. Stable for max(v) dt / dx <= Wave::kCourantLimit.
#pragma once

#include <cstddef>
#include <vector>

#include "rtm/field.hpp"

namespace stretto::stacking::rtm {

class Wave {
 public:
  static constexpr double kCourantLimit = 0.55;
  static constexpr int kOrderHalf = 4;  // points of the stencil on each side
  static constexpr int kSponge = 36;    // cells of damping on each side

  // A field at rest over `velocity` (m/s), cells of dx metres, steps of dt seconds.
  Wave(const Field& velocity, double dx, double dt);

  // A source term at one point of the model: adds amplitude * (v dt / dx)^2 to the field there.
  void inject(int z, int x, double amplitude);
  // One amplitude per column of row z.
  void inject_row(int z, const float* amplitude);

  // Advances by dt.
  void step();

  // The field in the model, sponge excluded.
  float at(int z, int x) const { return now_[index(z, x)]; }
  const float* row(int z) const { return now_.data() + index(z, 0); }

  // Sum over the whole grid of (u_t dt)^2 / v^2 + |grad u|^2 dt^2, by first-order differences: a diagnostic.
  double energy() const;

 private:
  std::size_t index(int z, int x) const {
    return static_cast<std::size_t>(z + kEdge) * static_cast<std::size_t>(nx_) + static_cast<std::size_t>(x + kEdge);
  }

  static constexpr int kEdge = kSponge + kOrderHalf;  // the outermost kOrderHalf cells stay zero

  int nz_ = 0;  // of the padded grid
  int nx_ = 0;
  std::vector<float> now_, before_;
  std::vector<float> courant2_;  // (v dt / dx)^2
  std::vector<float> gain_;      // 1 / (1 + s dt)
  std::vector<float> decay_;     // (1 - s dt) / (1 + s dt)
};

}  // namespace stretto::stacking::rtm
