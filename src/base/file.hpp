// Files that a user names, read whole.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.hpp"

namespace stretto {

inline constexpr std::size_t kLongestFile = std::size_t{4} << 20;

// The content of a regular file of at most kLongestFile bytes. Anything else (a FIFO, a device, a directory) is refused without waiting and
// named: invalid_argument.
Status read_file(const std::string& path, std::string* content) noexcept;

}  // namespace stretto
