// Sanitises outside text (the environment, files, names from a program) for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stretto {

// `text` with control characters and invalid UTF-8 bytes as \xHH. Printable text is unchanged.
std::string printable(std::string_view text);

// printable() into a buffer of `room` bytes: as many whole characters as fit, not terminated. Returns the length.
// `text` may begin at `out` if it is printable.
std::size_t printable(std::string_view text, char* out, std::size_t room) noexcept;

}  // namespace stretto
