#include "picture/canvas.hpp"

#include <png.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

#include "picture/font.hpp"

namespace stretto::stacking {

Canvas::Canvas(int width, int height, Colour background)
    : width_(width), height_(height), rgb_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3) {
  fill(0, 0, width, height, background);
}

Colour Canvas::at(int x, int y) const {
  const std::size_t i =
      (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)) * 3;
  return {rgb_[i], rgb_[i + 1], rgb_[i + 2]};
}

void Canvas::set(int x, int y, Colour c) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
  const std::size_t i =
      (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)) * 3;
  rgb_[i] = c.r;
  rgb_[i + 1] = c.g;
  rgb_[i + 2] = c.b;
}

void Canvas::fill(int x, int y, int w, int h, Colour c) {
  for (int j = y; j < y + h; ++j) {
    for (int i = x; i < x + w; ++i) set(i, j, c);
  }
}

void Canvas::frame(int x, int y, int w, int h, Colour c) {
  fill(x - 1, y - 1, w + 2, 1, c);
  fill(x - 1, y + h, w + 2, 1, c);
  fill(x - 1, y, 1, h, c);
  fill(x + w, y, 1, h, c);
}

void Canvas::text(int x, int y, std::string_view s, Colour c, int scale) {
  for (const char letter : s) {
    const Glyph& g = glyph(letter);
    for (int row = 0; row < glyph_height; ++row) {
      for (int column = 0; column < glyph_width; ++column) {
        const bool dot = (g[static_cast<std::size_t>(row)] >> (glyph_width - 1 - column) & 1U) != 0;
        if (dot) fill(x + column * scale, y + (row + descent(letter)) * scale, scale, scale, c);
      }
    }
    x += (glyph_width + 1) * scale;
  }
}

int Canvas::text_width(std::string_view s, int scale) noexcept {
  return s.empty() ? 0 : (static_cast<int>(s.size()) * (glyph_width + 1) - 1) * scale;
}

int Canvas::text_height(int scale) noexcept { return glyph_height * scale; }

std::vector<std::byte> Canvas::png() const {
  // Few colours: a palette makes a file a third the size.
  constexpr std::size_t most = 256;
  std::map<std::uint32_t, std::uint8_t> index;
  std::vector<std::uint8_t> palette;
  std::vector<std::uint8_t> pixels;
  pixels.reserve(rgb_.size() / 3);
  for (std::size_t i = 0; i < rgb_.size() && palette.size() <= 3 * most; i += 3) {
    const std::uint32_t key = std::uint32_t{rgb_[i]} << 16U | std::uint32_t{rgb_[i + 1]} << 8U | rgb_[i + 2];
    const auto [at, is_new] = index.try_emplace(key, static_cast<std::uint8_t>(palette.size() / 3));
    if (is_new) palette.insert(palette.end(), &rgb_[i], &rgb_[i] + 3);
    pixels.push_back(at->second);
  }
  const bool few = palette.size() <= 3 * most;

  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width_);
  image.height = static_cast<png_uint_32>(height_);
  image.format = few ? PNG_FORMAT_RGB_COLORMAP : PNG_FORMAT_RGB;
  image.colormap_entries = few ? static_cast<png_uint_32>(palette.size() / 3) : 0;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> out(bytes);
  const void* from = few ? pixels.data() : rgb_.data();
  if (png_image_write_to_memory(&image, out.data(), &bytes, 0, from, 0, few ? palette.data() : nullptr) == 0) {
    throw std::runtime_error(std::string("cannot make the PNG: ") + image.message);
  }
  out.resize(bytes);
  return out;
}

}  // namespace stretto::stacking
