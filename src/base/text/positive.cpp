#include "base/text/positive.hpp"

#include <charconv>

namespace stretto {

bool read_positive(std::string_view text, double* number) noexcept {
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, *number);
  return error == std::errc() && end == last && *number > 0;
}

}  // namespace stretto
