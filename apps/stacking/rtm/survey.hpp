// A marine survey over a model: shots, source wavelet, receivers.
#pragma once

#include <vector>

#include "rtm/field.hpp"

namespace stretto::stacking::rtm {

struct Survey {
  int shots = 16;
  int steps = 0;             // of the recording
  double dx = 10.0;          // m
  double dt = 0.0;           // s
  double peak_hz = 0.0;      // of the Ricker source
  int row = 2;               // depth of sources and receivers, in cells; a receiver at every column
  int imaging_interval = 6;  // steps between samples of the correlation
};

// A survey that fits `model`: a step just below instability, a source that the slowest cells resolve, and a recording
// long enough for the deepest reflection at vertical incidence and moderate offset.
Survey plan(const Field& model, int shots);

// Column of a shot. Shots are spread evenly, half a spacing from the edges.
int shot_column(const Survey& s, int nx, int shot);

// Ricker wavelet of unit peak at time t, delayed so that it begins near zero.
double ricker(double peak_hz, double t);

// The delay in seconds: the time of the wavelet's peak.
double ricker_delay(double peak_hz);

// Pressure recorded by the receivers: data.at(step, column).
Field record(const Field& velocity, const Survey& s, int shot);

}  // namespace stretto::stacking::rtm
