#include "node/arena/setting.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/text/printable.hpp"

namespace stretto::node::arena {

bool parse_bytes(const char* text, std::uint64_t* bytes) noexcept {
  std::uint64_t number = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9'; ++at) {
    if (__builtin_mul_overflow(number, std::uint64_t{10}, &number) ||
        __builtin_add_overflow(number, static_cast<std::uint64_t>(*at - '0'), &number))
      return false;
  }
  if (at == text) return false;
  if (*at != '\0') {
    const char* const suffixes = "KkMmGgTt";
    const char* const suffix = std::strchr(suffixes, *at);
    if (suffix == nullptr || at[1] != '\0') return false;
    const auto shift = 10 * ((suffix - suffixes) / 2 + 1);
    if (number > ~std::uint64_t{0} >> shift) return false;
    number <<= shift;
  }
  *bytes = number;
  return true;
}

std::uint64_t bytes_from(const char* variable, std::uint64_t otherwise, SettingError* setting_error) noexcept {
  const char* const text = secure_getenv(variable);
  std::uint64_t bytes = otherwise;
  if (text == nullptr || *text == '\0' || parse_bytes(text, &bytes)) return bytes;
  char shown[60];
  const auto length = static_cast<int>(printable(text, shown, sizeof shown));
  std::snprintf(setting_error->text, sizeof setting_error->text,
                "%s: '%.*s' is no number of bytes, such as 65536, 64K, 512M or 2G; it is as if it was not set",
                variable, length, shown);
  return otherwise;
}

}  // namespace stretto::node::arena
