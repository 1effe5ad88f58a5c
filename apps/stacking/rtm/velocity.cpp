#include "rtm/velocity.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace stretto::stacking::rtm {
namespace {

constexpr double kWater = 1500.0;

// Thickness as a fraction of the model's depth, and velocity. Neighbours differ enough to reflect, with both signs.
struct Layer {
  double thickness;
  double velocity;
};

constexpr std::array<Layer, 5> kCover{{{0.075, 1750}, {0.060, 1980}, {0.050, 1850}, {0.065, 2150}, {1.0, 2020}}};

constexpr std::array<Layer, 10> kBasement{{{0.100, 2450},
                                           {0.070, 2250},
                                           {0.090, 2650},
                                           {0.075, 2950},
                                           {0.070, 2600},
                                           {0.090, 3100},
                                           {0.075, 2850},
                                           {0.080, 3300},
                                           {0.085, 3050},
                                           {1.0, 3500}}};

template <std::size_t n>
double velocity_at(const std::array<Layer, n>& layers, double depth) {
  for (const Layer& l : layers) {
    if (depth < l.thickness) return l.velocity;
    depth -= l.thickness;
  }
  return layers.back().velocity;
}

// A fault plane meets the datum z = 0 at x = `foot` and dips with dx/dz = `slope`; rock to its right has slipped
// down by `throw_`. Lengths are fractions of the depth, x of the width.
struct Fault {
  double foot;
  double slope;
  double throw_;
};

constexpr std::array<Fault, 2> kFaults{{{0.27, 0.12, 0.060}, {0.76, -0.15, -0.075}}};

// Shape of the folded layers: an anticline between the faults, a gentle regional dip.
double fold(double x) {
  const double crest = (x - 0.52) / 0.17;
  return 0.13 * std::exp(-crest * crest) - 0.10 * (x - 0.5);
}

double unconformity(double x) { return 0.36 + 0.025 * std::sin(5.0 * x + 0.6); }

}  // namespace

int water_rows(int nz) { return std::max(6, nz * 9 / 100); }

Field layered_faulted_model(int nz, int nx) {
  Field model(nz, nx);
  const int top = water_rows(nz);
  for (int iz = 0; iz < nz; ++iz) {
    for (int ix = 0; ix < nx; ++ix) {
      const double z = static_cast<double>(iz) / nz;
      const double x = static_cast<double>(ix) / nx;
      double v = kWater;
      if (iz >= top && z < unconformity(x)) {
        const double seabed = static_cast<double>(top) / nz;
        v = velocity_at(kCover, z - seabed + 0.012 * std::sin(9.0 * x));
      } else if (iz >= top) {
        double depth = z - 0.18 + fold(x);
        for (const Fault& f : kFaults) {
          if (x > f.foot + f.slope * z) depth -= f.throw_;
        }
        v = velocity_at(kBasement, depth);
      }
      model.at(iz, ix) = static_cast<float>(v);
    }
  }
  return model;
}

Field smooth_slowness(const Field& model, int radius, int passes, int keep_rows) {
  const auto clamp = [](int i, int n) { return std::clamp(i, 0, n - 1); };
  Field slow = model;
  for (float& v : slow.v) v = 1.0F / v;
  const double scale = 1.0 / (2 * radius + 1);
  for (int pass = 0; pass < passes; ++pass) {
    Field half(model.nz, model.nx);
    for (int z = 0; z < model.nz; ++z) {
      for (int x = 0; x < model.nx; ++x) {
        double sum = 0;
        for (int k = -radius; k <= radius; ++k) sum += slow.at(z, clamp(x + k, model.nx));
        half.at(z, x) = static_cast<float>(sum * scale);
      }
    }
    for (int z = 0; z < model.nz; ++z) {
      for (int x = 0; x < model.nx; ++x) {
        double sum = 0;
        for (int k = -radius; k <= radius; ++k) sum += half.at(clamp(z + k, model.nz), x);
        slow.at(z, x) = static_cast<float>(sum * scale);
      }
    }
  }
  for (float& v : slow.v) v = 1.0F / v;
  const std::size_t kept =
      static_cast<std::size_t>(std::clamp(keep_rows, 0, model.nz)) * static_cast<std::size_t>(model.nx);
  std::copy_n(model.v.begin(), kept, slow.v.begin());
  return slow;
}

}  // namespace stretto::stacking::rtm
