#pragma once

#include <cstddef>
#include <string>

#include "base/status.hpp"

namespace stretto {

inline constexpr std::size_t kLongestFile = std::size_t{4} << 20;

// A regular file of at most kLongestFile bytes. invalid_argument, without waiting, for others (FIFOs, devices,
// directories).
Status read_file(const std::string& path, std::string* content) noexcept;

// Renames a new file to `path`: a failure leaves the old content. Follows symbolic links and keeps modes. Devices,
// FIFOs, and files in read-only directories are written in place. invalid_argument names file and reason.
Status replace_file(const std::string& path, const std::string& content) noexcept;

}  // namespace stretto
