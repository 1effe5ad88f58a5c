#include "rtm/migrate.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "rtm/wave.hpp"

namespace stretto::stacking::rtm {
namespace {

// Calls tick at every tenth of `total` steps of work.
class Ticker {
 public:
  Ticker(const Tick& tick, int total) : tick_(tick), total_(total) {}
  void advance() {
    ++done_;
    const int tenths = static_cast<int>(static_cast<long>(done_) * kTicksPerShot / total_);
    for (; reported_ < tenths; ++reported_) {
      if (tick_) tick_(reported_ + 1);
    }
  }

 private:
  const Tick& tick_;
  int total_;
  int done_ = 0;
  int reported_ = 0;
};

// The source side: the wavefield at every imaging_interval steps, stacked vertically, and the receivers' recordings of
// it.
struct SourceSide {
  Field snapshots;
  Field heard;
};

SourceSide propagate_source(const Field& velocity, const Survey& s, int column, Ticker& ticker) {
  const int samples = (s.steps + s.imaging_interval - 1) / s.imaging_interval;
  SourceSide out{Field(samples * velocity.nz, velocity.nx), Field(s.steps, velocity.nx)};
  Wave wave(velocity, s.dx, s.dt);
  for (int t = 0; t < s.steps; ++t) {
    wave.inject(s.row, column, ricker(s.peak_hz, t * s.dt));
    wave.step();
    std::copy_n(wave.row(s.row), velocity.nx, out.heard.row(t));
    if (t % s.imaging_interval == 0) {
      const int first = t / s.imaging_interval * velocity.nz;
      for (int z = 0; z < velocity.nz; ++z) std::copy_n(wave.row(z), velocity.nx, out.snapshots.row(first + z));
    }
    ticker.advance();
  }
  return out;
}

// The recorded reflections: true data less those of the smooth model.
Field reflections(const Field& truth, const Field& heard_smooth, const Survey& s, int column, Ticker& ticker) {
  Field data(s.steps, truth.nx);
  Wave wave(truth, s.dx, s.dt);
  for (int t = 0; t < s.steps; ++t) {
    wave.inject(s.row, column, ricker(s.peak_hz, t * s.dt));
    wave.step();
    const float* u = wave.row(s.row);
    const float* direct = heard_smooth.row(t);
    float* d = data.row(t);
    for (int x = 0; x < truth.nx; ++x) d[x] = u[x] - direct[x];
    ticker.advance();
  }
  return data;
}

void accumulate(Field& image, Field& illumination, const Field& snapshots, int sample, const Wave& receivers) {
  for (int z = 0; z < image.nz; ++z) {
    const float* a = snapshots.row(sample * image.nz + z);
    const float* b = receivers.row(z);
    float* i = image.row(z);
    float* l = illumination.row(z);
    for (int x = 0; x < image.nx; ++x) {
      i[x] += a[x] * b[x];
      l[x] += a[x] * a[x];
    }
  }
}

// Fraction of the strongest illumination below which a point counts as dark.
constexpr float kDarkness = 2e-4F;

// 1 within `flat`, 0 beyond `end`, a cosine between.
double taper(double x, double flat, double end) {
  if (x <= flat) return 1.0;
  if (x >= end) return 0.0;
  return 0.5 + 0.5 * std::cos(std::numbers::pi * (x - flat) / (end - flat));
}

// Weights of one shot's image. A shot images a cone below it well; outside are wide-angle artifacts. Amplitude grows
// with depth, against the spreading on the way back. The rows around the sources, where everything correlates, are
// removed.
void weigh(Field& image, const Survey& s, int column) {
  const double quiet = 0.06 * image.nz;
  for (int z = 0; z < image.nz; ++z) {
    const double gain = (1.0 - taper(z, quiet, 1.6 * quiet)) * z / image.nz;
    const double cone = 1.2 * z + 2 * s.row;
    for (int x = 0; x < image.nx; ++x) {
      image.at(z, x) *= static_cast<float>(gain * taper(std::abs(x - column), cone, 1.6 * cone));
    }
  }
}

}  // namespace

Field negative_laplacian(const Field& f) {
  Field out(f.nz, f.nx);
  for (int z = 1; z + 1 < f.nz; ++z) {
    for (int x = 1; x + 1 < f.nx; ++x) {
      out.at(z, x) = 4.0F * f.at(z, x) - (f.at(z, x - 1) + f.at(z, x + 1) + f.at(z - 1, x) + f.at(z + 1, x));
    }
  }
  return out;
}

Field migrate_shot(const Field& truth, const Field& smooth, const Survey& s, int shot, const Tick& tick) {
  Ticker ticker(tick, 3 * s.steps);
  const int column = shot_column(s, truth.nx, shot);
  const SourceSide source = propagate_source(smooth, s, column, ticker);
  const Field data = reflections(truth, source.heard, s, column, ticker);

  Field image(truth.nz, truth.nx);
  Field illumination(truth.nz, truth.nx);
  Wave receivers(smooth, s.dx, s.dt);
  for (int t = s.steps - 1; t >= 0; --t) {
    receivers.inject_row(s.row, data.row(t));
    receivers.step();
    if (t % s.imaging_interval == 0)
      accumulate(image, illumination, source.snapshots, t / s.imaging_interval, receivers);
    ticker.advance();
  }
  const float floor = kDarkness * *std::max_element(illumination.v.begin(), illumination.v.end());
  for (std::size_t i = 0; i < image.v.size(); ++i) image.v[i] /= illumination.v[i] + floor;
  Field sharp = negative_laplacian(image);
  weigh(sharp, s, column);
  return sharp;
}

}  // namespace stretto::stacking::rtm
