#include "rtm/survey.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "rtm/wave.hpp"

namespace stretto::stacking::rtm {

Survey plan(const Field& model, int shots) {
  const auto [slow, fast] = std::minmax_element(model.v.begin(), model.v.end());
  Survey s;
  s.shots = shots;
  s.dt = 0.95 * Wave::kCourantLimit * s.dx / *fast;
  // A Ricker wavelet has little above 2.5 times its peak frequency; the stencil is accurate from 4 cells a wavelength.
  s.peak_hz = *slow / (2.5 * 3.6 * s.dx);
  double vertical = 0;  // two-way time along the slowest column, by row means
  for (int z = 0; z < model.nz; ++z) {
    const float* row = model.row(z);
    double mean = 0;
    for (int x = 0; x < model.nx; ++x) mean += 1.0 / row[x];
    vertical += 2.0 * s.dx * mean / model.nx;
  }
  s.steps = static_cast<int>(std::ceil((1.15 * vertical + 2.0 * ricker_delay(s.peak_hz)) / s.dt));
  return s;
}

int shot_column(const Survey& s, int nx, int shot) {
  return std::clamp(static_cast<int>((shot + 0.5) * nx / s.shots), 0, nx - 1);
}

double ricker_delay(double peak_hz) { return 1.2 / peak_hz; }

double ricker(double peak_hz, double t) {
  const double a = std::numbers::pi * peak_hz * (t - ricker_delay(peak_hz));
  return (1.0 - 2.0 * a * a) * std::exp(-a * a);
}

Field record(const Field& velocity, const Survey& s, int shot) {
  const int column = shot_column(s, velocity.nx, shot);
  Wave wave(velocity, s.dx, s.dt);
  Field data(s.steps, velocity.nx);
  for (int t = 0; t < s.steps; ++t) {
    wave.inject(s.row, column, ricker(s.peak_hz, t * s.dt));
    wave.step();
    std::copy_n(wave.row(s.row), velocity.nx, data.row(t));
  }
  return data;
}

}  // namespace stretto::stacking::rtm
