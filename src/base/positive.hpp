// Numbers in environment variables.
#pragma once

#include <string_view>

namespace stretto {

// Parses all of `text`, "inf" included. False if it is no positive number; *number is then unspecified.
bool read_positive(std::string_view text, double* number) noexcept;

}  // namespace stretto
