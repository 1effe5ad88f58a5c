// A picture in memory, drawn on by rectangles and text, written as PNG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace stretto::stacking {

struct Colour {
  std::uint8_t r = 0, g = 0, b = 0;
};

inline constexpr Colour white{255, 255, 255};
inline constexpr Colour ink{32, 36, 44};
inline constexpr Colour faint{128, 134, 146};

class Canvas {
 public:
  Canvas(int width, int height, Colour background = white);

  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }
  Colour at(int x, int y) const;

  // What lies outside the canvas is left out.
  void set(int x, int y, Colour c);
  void fill(int x, int y, int w, int h, Colour c);
  void frame(int x, int y, int w, int h, Colour c);  // one pixel wide, just outside the rectangle

  // Text with its upper left corner at x, y; each dot of the 5 x 7 font is scale x scale pixels. Characters beyond printable ASCII are
  // drawn as '?'.
  void text(int x, int y, std::string_view s, Colour c = ink, int scale = 2);
  static int text_width(std::string_view s, int scale = 2) noexcept;
  static int text_height(int scale = 2) noexcept;

  // The picture as the bytes of a PNG file; throws std::runtime_error with libpng's message.
  std::vector<std::byte> png() const;

 private:
  int width_, height_;
  std::vector<std::uint8_t> rgb_;
};

}  // namespace stretto::stacking
