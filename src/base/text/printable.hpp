#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stretto {

// Control characters and invalid UTF-8 bytes become \xHH.
std::string printable(std::string_view text);

// Writes as many whole characters as fit `room` bytes, not terminated; returns the length. `text` may begin at `out`.
std::size_t printable(std::string_view text, char* out, std::size_t room) noexcept;

}  // namespace stretto
