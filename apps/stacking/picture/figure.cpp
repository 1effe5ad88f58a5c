#include "picture/figure.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/core.h>

namespace stretto::stacking {
namespace {

constexpr int page_width = 1200;  // an image is enlarged up to this, and thinned beyond it
constexpr int left = 124, right = 190, above = 64, below = 62, between_panels = 8;
constexpr int bar_gap = 22, bar_width = 20, tick = 6;
constexpr Colour missing{168, 190, 168};

// Whole factors by which pixels are enlarged, or of pixels that become one.
struct Zoom {
  int enlarge = 1;
  int thin = 1;
};

Zoom zoom_for(int h, int w) {
  Zoom z;
  const int widest = std::max(w, h);
  if (widest > page_width) {
    z.thin = (widest + page_width - 1) / page_width;
  } else {
    z.enlarge = std::clamp(page_width / std::max(widest, 1), 1, 8);
  }
  return z;
}

// The value of largest magnitude in a square of thin x thin pixels, so that no outlier vanishes.
float strongest(const Panel& p, int h, int w, int y, int x, int thin) {
  float best = 0;
  for (int j = y; j < std::min(y + thin, h); ++j) {
    for (int i = x; i < std::min(x + thin, w); ++i) {
      const float v = p.values[static_cast<std::size_t>(j) * static_cast<std::size_t>(w) + static_cast<std::size_t>(i)];
      if (!std::isfinite(v)) return v;
      if (std::abs(v) > std::abs(best)) best = v;
    }
  }
  return best;
}

void draw_image(Canvas& c, const Panel& p, int h, int w, const Zoom& z, int x0, int y0) {
  for (int y = 0; y * z.thin < h; ++y) {
    for (int x = 0; x * z.thin < w; ++x) {
      const float v = strongest(p, h, w, y * z.thin, x * z.thin, z.thin);
      c.fill(x0 + x * z.enlarge, y0 + y * z.enlarge, z.enlarge, z.enlarge,
             std::isfinite(v) ? p.scale(v / p.limit) : missing);
    }
  }
}

void draw_axes(Canvas& c, const Axes& axes, int h, int w, int shown_h, int shown_w, int x0, int y0) {
  const double per_x = shown_w / (w * axes.step);
  const double per_y = shown_h / (h * axes.step);
  const double step_x = tick_step(w * axes.step, std::max(2, shown_w / 120));
  for (int k = 0; k * step_x <= w * axes.step * 1.0001; ++k) {
    const int x = x0 + static_cast<int>(std::lround(k * step_x * per_x));
    c.fill(x, y0 + shown_h + 1, 1, tick, ink);
    const std::string s = fmt::format("{:g}", k * step_x);
    c.text(x - Canvas::text_width(s) / 2, y0 + shown_h + tick + 5, s);
  }
  const double step_y = tick_step(h * axes.step, std::max(2, shown_h / 70));
  for (int k = 0; k * step_y <= h * axes.step * 1.0001; ++k) {
    const int y = y0 + static_cast<int>(std::lround(k * step_y * per_y));
    c.fill(x0 - 1 - tick, y, tick, 1, ink);
    const std::string s = fmt::format("{:g}", k * step_y);
    c.text(x0 - tick - 6 - Canvas::text_width(s), y - Canvas::text_height() / 2, s);
  }
  c.text(4, y0 - Canvas::text_height() - 12, axes.vertical, faint);  // below the title, above its numbers
  c.text(x0 + (shown_w - Canvas::text_width(axes.horizontal)) / 2, y0 + shown_h + tick + 26, axes.horizontal, faint);
}

void draw_bar(Canvas& c, const Panel& p, int shown_h, int x0, int y0) {
  for (int y = 0; y < shown_h; ++y) {
    c.fill(x0, y0 + y, bar_width, 1, p.scale(1.0 - 2.0 * y / std::max(shown_h - 1, 1)));
  }
  c.frame(x0, y0, bar_width, shown_h, ink);
  for (int k = -2; k <= 2; ++k) {
    const int y = y0 + (2 - k) * (shown_h - 1) / 4;
    c.fill(x0 + bar_width + 1, y, tick, 1, ink);
    const std::string s = k == 0 ? std::string("0") : fmt::format("{:+.3g}", p.limit * k / 2);
    const int up = std::clamp(y - Canvas::text_height() / 2, y0, y0 + shown_h - Canvas::text_height());
    c.text(x0 + bar_width + tick + 6, up, s);
  }
  c.text(x0, y0 + shown_h + tick + 26, p.unit,
         faint);  // below the last number of the image's axis, which may reach here
}

}  // namespace

Canvas draw(const std::vector<Panel>& panels, int h, int w, const Axes& axes) {
  const Zoom z = zoom_for(h, w);
  const int shown_w = (w + z.thin - 1) / z.thin * z.enlarge;
  const int shown_h = (h + z.thin - 1) / z.thin * z.enlarge;
  const int each = above + shown_h + below + between_panels;
  Canvas c(left + shown_w + right, each * static_cast<int>(panels.size()));
  int y0 = above;
  for (const Panel& p : panels) {
    c.text(left, y0 - 2 * Canvas::text_height() - 20, p.title);
    draw_image(c, p, h, w, z, left, y0);
    c.frame(left, y0, shown_w, shown_h, ink);
    draw_axes(c, axes, h, w, shown_h, shown_w, left, y0);
    draw_bar(c, p, shown_h, left + shown_w + bar_gap, y0);
    y0 += each;
  }
  return c;
}

double quantile_of_magnitude(const std::vector<float>& values, double part) {
  std::vector<float> m;
  m.reserve(values.size());
  for (const float v : values) {
    if (std::isfinite(v)) m.push_back(std::abs(v));
  }
  if (m.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(m.size() - 1));
  std::nth_element(m.begin(), m.begin() + at, m.end());
  return m[static_cast<std::size_t>(at)];
}

double tick_step(double span, int most) {
  if (!(span > 0) || most < 1) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(span / most)));
  for (const double nice : {1.0, 2.0, 2.5, 5.0}) {
    if (span <= nice * power * most * (1 + 1e-9)) return nice * power;
  }
  return 10 * power;
}

}  // namespace stretto::stacking
