#pragma once

#include <string_view>

namespace stretto {

// All of `text` is a positive number, or "inf"; else *number is unspecified.
bool read_positive(std::string_view text, double* number) noexcept;

}  // namespace stretto
