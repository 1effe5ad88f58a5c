// Files that a user names, read and written whole.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.hpp"

namespace stretto {

inline constexpr std::size_t kLongestFile = std::size_t{4} << 20;

// The content of a regular file of at most kLongestFile bytes. Anything else (a FIFO, a device, a directory) is refused without waiting and
// named: invalid_argument.
Status read_file(const std::string& path, std::string* content) noexcept;

// Writes a new file beside `path` and renames it: after a failure the former content is there. Symbolic links are followed and modes are kept.
// Devices and FIFOs, and files in a directory that may not be written, are written in place. invalid_argument names the file and the system's reason.
Status replace_file(const std::string& path, const std::string& content) noexcept;

}  // namespace stretto
