// Text from outside (the environment, files, names that a program gives) on its way to a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stretto {

// `text` with control characters, and bytes that are no UTF-8, as \xHH. Printable text stays as it is.
std::string printable(std::string_view text);

// As above, into `room` bytes: as many whole characters as fit, not terminated. Returns their length. `text` may begin at `out` if printable.
std::size_t printable(std::string_view text, char* out, std::size_t room) noexcept;

}  // namespace stretto
