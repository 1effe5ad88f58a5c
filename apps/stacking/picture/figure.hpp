// The figure of a stack: panels one above the other, each an image with axes, a title and a colour bar.
#pragma once

#include <string>
#include <vector>

#include "picture/canvas.hpp"
#include "picture/colour.hpp"

namespace stretto::stacking {

struct Panel {
  std::string title;
  std::string unit;           // written under the colour bar
  std::vector<float> values;  // h x w of them; what is not finite is drawn grey-green
  double limit = 1;           // value at the ends of the scale, > 0
  Scale scale = grey;
};

struct Axes {
  double step = 1;  // axis units a pixel
  std::string horizontal = "column";
  std::string vertical = "row";
};

// All panels are h x w; those are enlarged, or thinned when larger than a page, by one whole factor.
Canvas draw(const std::vector<Panel>& panels, int h, int w, const Axes& axes);

// The magnitude that `part` (0..1) of the finite values do not exceed: a scale that strong outliers do not flatten.
double quantile_of_magnitude(const std::vector<float>& values, double part);

// The smallest of 1, 2, 2.5, 5 times a power of ten that divides `span` into at most `most` steps.
double tick_step(double span, int most);

}  // namespace stretto::stacking
