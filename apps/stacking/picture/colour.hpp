// Colour scales: a number in [-1, 1] (others are clipped) to a colour.
#pragma once

#include <algorithm>
#include <cmath>

#include "picture/canvas.hpp"

namespace stretto::stacking {

using Scale = Colour (*)(double);

inline Colour between(Colour a, Colour b, double t) {
  const auto mix = [t](std::uint8_t from, std::uint8_t to) {
    return static_cast<std::uint8_t>(std::lround(from + t * (to - from)));
  };
  return {mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)};
}

// Scales have few enough steps for all colours of a figure to fit a palette.

// Black, grey, white: how seismic sections are read.
inline Colour grey(double v) {
  v = std::round(64 * std::clamp(v, -1.0, 1.0)) / 64;
  return between({0, 0, 0}, {255, 255, 255}, 0.5 + 0.5 * v);
}

// Blue below zero, white at it, red above.
inline Colour blue_red(double v) {
  v = std::round(16 * std::clamp(v, -1.0, 1.0)) / 16;
  return v < 0 ? between(white, {33, 80, 170}, -v) : between(white, {178, 24, 43}, v);
}

}  // namespace stretto::stacking
