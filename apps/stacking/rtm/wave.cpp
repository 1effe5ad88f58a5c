#include "rtm/wave.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stretto::stacking::rtm {
namespace {

// Second derivative, eighth order: c0 u(0) + sum of ck (u(k) + u(-k)).
constexpr float kC0 = -205.0F / 72.0F;
constexpr float kC1 = 8.0F / 5.0F;
constexpr float kC2 = -1.0F / 5.0F;
constexpr float kC3 = 8.0F / 315.0F;
constexpr float kC4 = -1.0F / 560.0F;

// Damping of the outermost sponge cell, s dt. More reflects at the sponge itself, less lets waves return from behind
// it.
constexpr double kStrongest = 0.11;

// One row of the update. u: current field, rows n apart; w: previous field, becomes the next field; the others as in
// Wave. All point to the first updated cell and do not overlap, which allows vectorisation.
void step_row(const float* __restrict u, float* __restrict w, const float* __restrict courant2,
              const float* __restrict gain, const float* __restrict decay, std::ptrdiff_t n, int count) {
  for (int x = 0; x < count; ++x) {
    const float* p = u + x;
    const float ring1 = (p[-1] + p[1]) + (p[-n] + p[n]);
    const float ring2 = (p[-2] + p[2]) + (p[-2 * n] + p[2 * n]);
    const float ring3 = (p[-3] + p[3]) + (p[-3 * n] + p[3 * n]);
    const float ring4 = (p[-4] + p[4]) + (p[-4 * n] + p[4 * n]);
    const float laplacian = 2.0F * kC0 * p[0] + ((kC1 * ring1 + kC2 * ring2) + (kC3 * ring3 + kC4 * ring4));
    w[x] = gain[x] * (2.0F * p[0] + courant2[x] * laplacian) - decay[x] * w[x];
  }
}

}  // namespace

Wave::Wave(const Field& velocity, double dx, double dt) : nz_(velocity.nz + 2 * kEdge), nx_(velocity.nx + 2 * kEdge) {
  const std::size_t cells = static_cast<std::size_t>(nz_) * static_cast<std::size_t>(nx_);
  now_.assign(cells, 0.0F);
  before_.assign(cells, 0.0F);
  courant2_.resize(cells);
  gain_.resize(cells);
  decay_.resize(cells);
  const auto depth_in_sponge = [](int i, int n) { return std::max({0, kEdge - i, i - (n - 1 - kEdge)}); };
  for (int z = 0; z < nz_; ++z) {
    for (int x = 0; x < nx_; ++x) {
      const std::size_t i = static_cast<std::size_t>(z) * static_cast<std::size_t>(nx_) + static_cast<std::size_t>(x);
      const double v =
          velocity.at(std::clamp(z - kEdge, 0, velocity.nz - 1), std::clamp(x - kEdge, 0, velocity.nx - 1));
      const double c = v * dt / dx;
      const double in = std::max(depth_in_sponge(z, nz_), depth_in_sponge(x, nx_)) / static_cast<double>(kSponge);
      const double s = kStrongest * in * in;
      courant2_[i] = static_cast<float>(c * c);
      gain_[i] = static_cast<float>(1.0 / (1.0 + s));
      decay_[i] = static_cast<float>((1.0 - s) / (1.0 + s));
    }
  }
}

void Wave::inject(int z, int x, double amplitude) {
  const std::size_t i = index(z, x);
  now_[i] += static_cast<float>(amplitude) * courant2_[i];
}

void Wave::inject_row(int z, const float* amplitude) {
  const std::size_t first = index(z, 0);
  const std::size_t count = static_cast<std::size_t>(nx_ - 2 * kEdge);
  for (std::size_t x = 0; x < count; ++x) now_[first + x] += amplitude[x] * courant2_[first + x];
}

void Wave::step() {
  const int count = nx_ - 2 * kOrderHalf;
  for (int z = kOrderHalf; z < nz_ - kOrderHalf; ++z) {
    const std::size_t i = static_cast<std::size_t>(z) * static_cast<std::size_t>(nx_) + kOrderHalf;
    step_row(&now_[i], &before_[i], &courant2_[i], &gain_[i], &decay_[i], nx_, count);
  }
  std::swap(now_, before_);
}

double Wave::energy() const {
  double sum = 0;
  for (int z = 1; z < nz_; ++z) {
    for (int x = 1; x < nx_; ++x) {
      const std::size_t i = static_cast<std::size_t>(z) * static_cast<std::size_t>(nx_) + static_cast<std::size_t>(x);
      const double ut = now_[i] - before_[i];
      const double ux = now_[i] - now_[i - 1];
      const double uz = now_[i] - now_[i - static_cast<std::size_t>(nx_)];
      sum += ut * ut / courant2_[i] + ux * ux + uz * uz;
    }
  }
  return sum;
}

}  // namespace stretto::stacking::rtm
