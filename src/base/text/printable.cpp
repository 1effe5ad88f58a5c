#include "base/text/printable.hpp"

#include <algorithm>
#include <cstdint>

namespace stretto {
namespace {

unsigned byte(char c) noexcept { return static_cast<unsigned char>(c); }

// Length of the leading printable character; 0: none.
std::size_t character(std::string_view text) noexcept {
  const unsigned first = byte(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc0 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(text[i]) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(text[i]) & 0x3f);
  }
  constexpr std::uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};  // U+0080 to U+009F are control characters
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return first < 0xf8 && code >= least[length] && code <= 0x10ffff && !surrogate ? length : 0;
}

// Calls take(piece) per character, escaped if needed, until it is false.
template <class Take>
void each(std::string_view text, const Take& take) {
  constexpr char digits[] = "0123456789abcdef";
  while (!text.empty()) {
    const std::size_t length = character(text);
    const char escaped[] = {'\\', 'x', digits[byte(text[0]) >> 4], digits[byte(text[0]) & 15]};
    if (!take(length > 0 ? text.substr(0, length) : std::string_view(escaped, sizeof escaped))) return;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string all;
  each(text, [&all](std::string_view piece) {
    all += piece;
    return true;
  });
  return all;
}

std::size_t printable(std::string_view text, char* out, std::size_t room) noexcept {
  std::size_t used = 0;
  each(text, [&](std::string_view piece) {
    if (piece.size() > room - used) return false;
    std::copy(piece.begin(), piece.end(), out + used);
    used += piece.size();
    return true;
  });
  return used;
}

}  // namespace stretto
