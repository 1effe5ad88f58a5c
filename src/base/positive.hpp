// Numbers that users give in the environment.
#pragma once

#include <string_view>

namespace stretto {

// Of all of `text`, "inf" included. False: that is no positive number, and *number is unspecified.
bool read_positive(std::string_view text, double* number) noexcept;

}  // namespace stretto
